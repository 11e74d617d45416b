"""Importing results of inference: the tools' files, and what these do not contain."""

import streamlit as st

from aisbench_core.exchange.readers.inference import list_read
from aisbench_core.interfaces.web.uploads import MOST_FILE_BYTES
from pages._ui.shell import uploads
from pages._ui.shell.core import actor, core, right_to
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.words import t

KINDS = ("json", "csv", "zip", "tar", "gz", "tgz")


def show_inference_import() -> None:
    """The field for files, folded; nothing for viewers."""
    right = right_to("ResultImport.save_inference")
    if not right.is_given:
        return
    with st.expander(t("inference.import"), icon=":material/upload_file:"):
        files = st.file_uploader(
            t("inference.files"), type=KINDS, accept_multiple_files=True, key="inference-files",
            max_upload_size=MOST_FILE_BYTES // 1024**2, help=t("inference.files_help"),
        )  # fmt: skip
        uploads.show_refused(files)
        columns = st.columns(4)
        texts = [
            column.text_input(t(f"inference.{name}"), key=f"inference-{name}", help=t("inference.stated_help")).strip()
            for column, name in zip(columns, ("model", "precision", "accelerator"), strict=False)
        ]
        cards = columns[3].number_input(t("inference.cards"), 1, value=None, step=1, key="inference-cards")
        if st.button(t("inference.save"), key="inference-save", type="primary", disabled=not files):
            with errors_shown(), uploads.open_uploads(files) as opened:
                results, unread = list_read(core().imports.read_inference_uploads(opened))
                for one in unread:
                    st.warning(f"{escape_markdown(one.source)}: {t.message(one.reason)}", icon=":material/warning:")
                stated = [result.state_missing(texts[0], texts[1], texts[2], cards) for result in results]
                if stated:
                    new = core().imports.save_inference(stated, actor())
                    st.success(t("inference.saved", count=f"{len(stated):,}", new=f"{new:,}"))

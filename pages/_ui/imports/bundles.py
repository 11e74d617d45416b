"""Importing a bundle of evidence: who signed it, what is new in it, and storing that."""

import streamlit as st

from aisbench_core.interfaces.web.uploads import MOST_FILE_BYTES
from pages._ui.shell import uploads
from pages._ui.shell.core import actor, core, is_allowed
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.words import t


def show_bundle_import() -> None:
    """A field for a bundle, folded; what is known of one that was uploaded, and the button that imports it."""
    if not is_allowed("BundleImports.save"):
        return
    with st.expander(t("evidence.import"), icon=":material/verified:"):
        file = st.file_uploader(
            t("evidence.file"),
            type=["zip"],
            key="bundle-file",
            max_upload_size=MOST_FILE_BYTES // 1024**2,
        )
        if file is None:
            return
        uploads.show_refused([file])
        with errors_shown(), uploads.open_uploads([file]) as [(name, content)]:
            seen = core().bundle_imports.preview(content, name, actor())
            if seen.verified_by:
                st.success(t("evidence.verified", name=escape_markdown(seen.verified_by)), icon=":material/verified:")
            else:
                st.warning(t("evidence.claimed", fingerprint=seen.fingerprint), icon=":material/help:")
            st.caption(t("evidence.counts", new=len(seen.new), known=seen.existing, left_out=seen.excluded))
            if st.button(t("evidence.save"), key="bundle-save", type="primary", disabled=not seen.new):
                saved = core().bundle_imports.save(content, name, actor())
                st.success(t("evidence.saved", count=len(saved.new)))

"""The draft as a modelarts_config.py, for the tool that it came from."""

from functools import partial

import streamlit as st

from aisbench_core.errors import AisbenchError
from aisbench_core.model import RunSpec
from pages._ui.configure.drafts import comments_now, draft_key, now
from pages._ui.shell.core import core
from pages._ui.shell.errors import plain
from pages._ui.shell.findings import finding_text
from pages._ui.shell.words import words

FILE = "modelarts_config.py"
SCRIPT = "ma-pre-start.sh"


def show_upstream_export(spec: RunSpec, profile: str) -> None:
    """A download, with what of the spec has no place in the file; or why there is none."""
    t = words()
    with st.expander(t("export.title")):
        try:
            exported = core().configs.write(spec, profile, comments_now(draft_key()))
        except AisbenchError as error:
            st.markdown(t("export.refused", reason=plain(t.said(error.message))))
            return
        st.caption(t("export.what", file=FILE))
        for finding in exported.findings:
            st.markdown(f"**{plain(words().field(finding.field))}** {finding_text(finding)}")
        st.download_button(
            t("export.download", file=FILE),
            data=partial(_file, FILE, draft_key(), spec, profile),
            file_name=FILE,
            mime="text/x-python",
            key="export",
            on_click="ignore",
            icon=":material/download:",
        )
        if exported.script:
            st.download_button(
                t("export.download", file=SCRIPT),
                data=partial(_file, SCRIPT, draft_key(), spec, profile),
                file_name=SCRIPT,
                mime="text/x-shellscript",
                key="export-script",
                on_click="ignore",
                icon=":material/download:",
            )


def _file(name: str, key: str, shown: RunSpec, profile: str) -> str:
    """A file of the draft as it is when the button is pressed, which right after a change is the one of before."""
    exported = core().configs.write(now(key, shown), profile, comments_now(key))
    return exported.script if name == SCRIPT else exported.text

"""Where the files of a run are: its directories in OBS, which the page Region lists, and its folder here."""

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import Message
from aisbench_core.model import Run
from pages._ui.shell import navigation
from pages._ui.shell.core import core
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.words import t


def show_problem(reason: Message | None) -> None:
    """Why the files of the run that are shown may be old, where they come from OBS."""
    if reason:
        st.warning(t("run.files_old", reason=escape_markdown(t.message(reason))), icon=":material/cloud_off:")


def show_directories(run: Run) -> None:
    """A link for each directory; the folder has the log, metrics and the record as files."""
    with st.expander(t("run.files"), icon=":material/folder_open:"):
        try:
            directories = core().files.directories(run, core().regions.profile(run.profile))
        except AisbenchError:  # a profile that was removed says nothing about its buckets
            directories = {}
        for name, path in directories.items():
            selection = {"profile": run.profile, "show": "files", "path": path}
            navigation.link_page(navigation.REGION, f"{escape_markdown(name)}: {escape_markdown(path)}", selection)
        st.caption(t("run.folder", path=f"`runs/{run.run_id}/`"))

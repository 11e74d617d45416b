"""The script of every visit: the language, the menu, the follower's state, and then the page."""

from pathlib import Path

import streamlit as st

from aisbench_core.private_files import is_read_only, require_writable
from pages._ui.shell.core import core
from pages._ui.shell.errors import errors_shown
from pages._ui.shell.navigation import CONFIGURE, ICONS, LEADERBOARD, STORING, go
from pages._ui.shell.preloading import loaded
from pages._ui.shell.status import show_follower, show_read_only
from pages._ui.shell.words import choose_language, show_languages, t


def menu() -> list[st.Page]:
    """The pages, in the order of the work.

    The page at `/` has no address of its own in Streamlit, so `/` only leads on to Configure, which then has one."""
    pages = [
        st.Page(page, title=t(f"menu.{page.stem}"), help=t(f"menu.{page.stem}_help"), icon=icon)
        for page, icon in ICONS.items()
    ]
    return [st.Page(start, title=t("menu.configure"), default=True, visibility="hidden"), *pages]


def start() -> None:
    """Lead on to the first page: where nothing can be launched, to the results."""
    go(LEADERBOARD if is_read_only(core().settings.data_dir) else CONFIGURE, {})


# An emoji, because Streamlit would fetch the Material icon of a page from another host for the browser's tab.
st.set_page_config(page_icon="📊", layout="wide")
st.logo(Path(__file__).with_name("logo.svg"), size="large")
with errors_shown():
    choose_language(core().settings.language)
page = st.navigation(menu())
with st.sidebar:
    show_languages()
    with errors_shown():
        show_follower()
with loaded(page.url_path), errors_shown():
    # Before the page runs: the first thing that it stores would fail with an error that explains nothing.
    if page.url_path in STORING:
        require_writable(core().settings.data_dir)
    show_read_only()
    page.run()

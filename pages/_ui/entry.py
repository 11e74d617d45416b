"""Where every visit begins: the language, the menu, who follows, and then the page."""

from pathlib import Path

import streamlit as st

from aisbench_core.read_only import is_read_only, require_writable
from pages._ui.shell.core import core
from pages._ui.shell.errors import errors_shown
from pages._ui.shell.navigation import CONFIGURE, ICONS, LEADERBOARD, STORING, go
from pages._ui.shell.preloading import loaded
from pages._ui.shell.status import show_follower, show_read_only
from pages._ui.shell.words import Words, choose_language, show_languages, words


def menu(t: Words) -> list[st.Page]:
    """The pages, in the order of the work.

    The page at `/` has no address of its own in Streamlit, so `/` only leads on to Configure, which then has one."""
    pages = [
        st.Page(place, title=t(f"menu.{place.stem}"), help=t(f"menu.{place.stem}_help"), icon=icon)
        for place, icon in ICONS.items()
    ]
    return [st.Page(start, title=t("menu.configure"), default=True, visibility="hidden"), *pages]


def start() -> None:
    """Lead on to the first page: where nothing can be launched, to the results."""
    go(LEADERBOARD if is_read_only(core().settings.data_dir) else CONFIGURE, {})


st.set_page_config(page_icon="📊", layout="wide")
st.logo(Path(__file__).with_name("logo.svg"), size="large")
with errors_shown():
    choose_language(core().settings.language)
t = words()
page = st.navigation(menu(t))
with st.sidebar:
    show_languages()
    with errors_shown():
        show_follower()
with loaded(page.url_path), errors_shown():
    if page.url_path in STORING:
        require_writable(core().settings.data_dir)
    show_read_only()
    page.run()

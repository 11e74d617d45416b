"""The script of every visit: the language, the menu, the follower's state, and then the page."""

from contextlib import suppress
from pathlib import Path

import streamlit as st

from aisbench_core.base.private_files import require_writable
from pages._ui.layout import SIDEBAR, create_script_container
from pages._ui.search import show_search, show_search_button
from pages._ui.session.ended import install_way_back, show_end
from pages._ui.session.open_sessions import show_sessions, show_sessions_button
from pages._ui.shell.chart_files import install_svg_buttons
from pages._ui.shell.core import core, default_language, ended_session
from pages._ui.shell.errors import PageEnd, errors_shown
from pages._ui.shell.navigation import (
    HOME,
    ICONS,
    SECTIONS,
    STORING,
    install_one_step,
    keep_columns,
    link_page,
    open_page,
)
from pages._ui.shell.numbers import install_descriptions
from pages._ui.shell.preloading import freeze_after_run
from pages._ui.shell.status import show_processes, show_read_only, show_sign_out_button, title_tab
from pages._ui.shell.tables import install_table_keys
from pages._ui.shell.uploads import install_named_zones
from pages._ui.shell.words import choose_language, show_languages, t


def every_page() -> list[st.Page]:
    """All pages, for their addresses.

    The page at `/` has no address of its own in Streamlit, so `/` only leads on to Home, which then has one."""
    pages = [st.Page(page, title=t(f"menu.{page.stem}")) for page in ICONS]
    return [st.Page(start, title=t("menu.home"), default=True), *pages]


def show_menu() -> None:
    """The menu by section. Streamlit's own breaks the rules for lists that screen readers rely on once it has any."""
    for section, pages in SECTIONS.items():
        if section:
            st.markdown(f"**{t(f'menu.{section}')}**")
        with st.container(gap="xxsmall", key=f"menu-{section or 'home'}"):
            for page in pages:
                link_page(page, t(f"menu.{page.stem}"), {}, help_text=t(f"menu.{page.stem}_help"))


def start() -> None:
    """Lead on to Home."""
    open_page(HOME, {})


def has_ended() -> bool:
    """Whether the session has ended, which is shown then."""
    with errors_shown():
        choose_language(default_language())
        if error := ended_session():
            show_end(error)
            return True
    return False


def show_page() -> None:
    """The menu, and the page of the address."""
    page = st.navigation(every_page(), position="hidden")
    title_tab(page.title)
    keep_columns(page.url_path)
    with st.sidebar:
        show_search_button(page.url_path)
        show_menu()
        with errors_shown():
            show_processes()
        with st.popover(t("menu.options"), icon=":material/settings:", key="options", width="stretch"):
            show_languages()
            show_sessions_button()
            show_sign_out_button()
    with create_script_container():
        install_table_keys()
        install_svg_buttons()
        install_named_zones()
        install_one_step()
        install_descriptions()
        install_way_back()
    with freeze_after_run(page.url_path), errors_shown(), suppress(PageEnd):
        # Before the page runs: the first thing that it stores would fail with an error that explains nothing.
        if page.url_path in STORING:
            require_writable(core().settings.data_dir)
        show_read_only()
        page.run()
    with errors_shown():
        show_search(page.url_path)
        show_sessions()


# An emoji, because Streamlit would fetch the Material icon of a page from another host for the browser's tab.
st.set_page_config(page_icon="📊", layout="wide", initial_sidebar_state=SIDEBAR)
st.logo(Path(__file__).with_name("logo.svg"), size="large")
# Not by `st.stop()`: only a script that ends makes Streamlit forget the fragments of the page, and what a late timer of
# theirs drew would have no place any more, which leaves the browser blank.
if not has_ended():
    show_page()

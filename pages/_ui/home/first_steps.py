"""What a console without results shows: a picture of what will stand here, and the way to the first run."""

import streamlit as st

from pages._ui.home.demo import show_demo_offer
from pages._ui.pictures import Picture, show_picture
from pages._ui.shell import navigation
from pages._ui.shell.core import is_allowed
from pages._ui.shell.words import t


def show_first_steps() -> None:
    """The picture, and below it what can be done first."""
    show_picture(Picture.HOME)
    with st.container(horizontal=True, vertical_alignment="center"):
        if is_allowed("Runs.launch"):
            navigation.link_main_page(navigation.CONFIGURE, t("menu.configure"), {})
        show_demo_offer(t("home.demo_add"), "secondary")
        if is_allowed("ResultImport.save"):
            navigation.link_page(navigation.IMPORT, t("home.first_import"), {})

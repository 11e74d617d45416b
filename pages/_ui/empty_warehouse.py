"""The regions with results, and what pages show while there are none."""

from collections.abc import Sequence
from typing import NoReturn

import streamlit as st

from aisbench_core.base.errors import DamagedLedger
from aisbench_core.model import TERMINAL
from aisbench_core.warehouse.values.runs import RegionFacts
from pages._ui.pictures import Picture, show_picture
from pages._ui.shell.core import core, is_allowed, run_cached
from pages._ui.shell.errors import end_page
from pages._ui.shell.navigation import CONFIGURE, IMPORT, link_main_page, link_page
from pages._ui.shell.words import t


def recorded_regions(picture: Picture) -> Sequence[RegionFacts]:
    """The regions with results. Without any, the page ends: with the picture of what it will show and the way there,
    or with a hint at restoring them."""
    regions = run_cached(core().warehouse.facets.list_regions)
    if not regions:
        _show_empty(picture)
    return regions


def _show_empty(picture: Picture) -> NoReturn:
    try:
        ended = core().ledger.count(TERMINAL)
    except DamagedLedger:  # the menu already says so
        ended = 0
    if ended:
        st.warning(t("board.lost", count=ended), icon=":material/settings_backup_restore:")
        st.code("aisbench warehouse rebuild", language=None)
    else:
        show_picture(picture)
    with st.container(horizontal=True, vertical_alignment="center"):
        if is_allowed("Runs.launch"):
            link_main_page(CONFIGURE, t("menu.configure"), {})
        if is_allowed("ResultImport.save"):
            link_page(IMPORT, t("home.first_import"), {})
    end_page()

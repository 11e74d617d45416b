"""The regions with results, and what pages show while there are none."""

from collections.abc import Sequence
from typing import NoReturn

import streamlit as st

from aisbench_core.base.errors import DamagedLedger
from aisbench_core.model import TERMINAL
from aisbench_core.warehouse.values.runs import RegionFacts
from pages._ui.shell.core import core, is_allowed, run_cached
from pages._ui.shell.errors import end_page
from pages._ui.shell.navigation import CONFIGURE, IMPORT, link_main_page, link_page
from pages._ui.shell.words import t


def recorded_regions() -> Sequence[RegionFacts]:
    """The regions with results. Without any, the page ends with a hint at importing or restoring them."""
    regions = run_cached(core().warehouse.facets.list_regions)
    if not regions:
        _show_empty()
    return regions


def _show_empty() -> NoReturn:
    try:
        ended = core().ledger.count(TERMINAL)
    except DamagedLedger:  # the menu already says so
        ended = 0
    if ended:
        st.warning(t("board.lost", count=ended), icon=":material/settings_backup_restore:")
        st.code("aisbench warehouse rebuild", language=None)
    else:
        st.info(t("board.empty"), icon=":material/info:")
    with st.container(horizontal=True, vertical_alignment="center"):
        if is_allowed("Runs.launch"):
            link_main_page(CONFIGURE, t("menu.configure"), {})
        if is_allowed("ResultImport.save"):
            link_page(IMPORT, t("home.first_import"), {})
    end_page()

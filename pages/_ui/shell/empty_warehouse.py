"""What pages of results show while the warehouse holds none."""

from typing import NoReturn

import streamlit as st

from aisbench_core.errors import DamagedLedger
from aisbench_core.model import TERMINAL
from pages._ui.shell.core import core
from pages._ui.shell.navigation import CONFIGURE, IMPORT, link
from pages._ui.shell.words import words


def show_unrecorded() -> NoReturn:
    """Where results come from; after their file was lost, how they come back."""
    t = words()
    ended = _ended()
    if ended:
        st.warning(t("board.lost", count=ended), icon=":material/settings_backup_restore:")
        st.code("aisbench warehouse rebuild", language=None)
    else:
        st.info(t("board.empty"), icon=":material/info:")
    link(CONFIGURE, t("live.go_configure"), {})
    link(IMPORT, t("import_results.open"), {})
    st.stop()


def _ended() -> int:
    """How many runs have ended; of a damaged ledger the menu tells."""
    try:
        return core().ledger.count(TERMINAL)
    except DamagedLedger:
        return 0

"""What can be done with the rows that are ticked, at the bottom of the window wherever the page is scrolled to."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages._ui.grid.table import clear_ticks
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.words import t


def create_action_bar(key: str | Sequence[str], count: int) -> DeltaGenerator:
    """A container for the buttons and links of a page, once a page and only while rows of its tables are ticked.

    `key` is that of the table, or those of several. The order of buttons is the same on all pages: Compare, Run again,
    Export, Tag, Stop."""
    with st.container(key="action-bar", horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{t('grid.selected', count=f'{count:,}')}**", width="content")
        actions = st.container(horizontal=True, vertical_alignment="center", key="actions", width="content")
        keys = [key] if isinstance(key, str) else key
        st.button(t("grid.clear"), key="clear-ticks", type="tertiary", on_click=_clear_ticks, args=(keys,))
    return actions


@repeat_if_aborted
def _clear_ticks(keys: Sequence[str]) -> None:
    for key in keys:
        clear_ticks(key)

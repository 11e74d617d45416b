"""The choice of a table's columns, behind a button; the URL has those that are not the usual ones."""

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from pages._ui.grid.values import GridColumn
from pages._ui.shell import url
from pages._ui.shell.navigation import COLUMNS
from pages._ui.shell.words import t

ICON = ":material/view_column:"


def choose_columns(
    offered: Sequence[str], usual: Sequence[str], title: Callable[[str], str], parameter: str = COLUMNS
) -> list[str]:
    """The chosen ones in their order; with none chosen, the usual ones are back."""
    label = t("run_rows.columns")
    with st.popover(label, icon=ICON):
        return url.choose_options(parameter, label, offered, title, default=usual, help=t("run_rows.columns_help"))


def choose_hidden(label: str, titles: Mapping[str, str], parameter: str) -> frozenset[str]:
    """The columns of one of a page's tables that are not chosen; its first one always is."""
    rest = [*titles][1:]
    chosen = url.choose_options(
        parameter, label, rest, titles.__getitem__, default=rest, help=t("run_rows.columns_help")
    )
    return frozenset(rest).difference(chosen)


def narrow_columns(columns: Sequence[GridColumn], parameter: str = COLUMNS) -> list[GridColumn]:
    """The first of these columns, and those of the others that are chosen: all of them, unless the URL names some."""
    first, *rest = columns
    titles = {column.key: column.label for column in rest}
    chosen = choose_columns([*titles], [*titles], titles.__getitem__, parameter)
    return [first, *(column for column in rest if column.key in chosen)]

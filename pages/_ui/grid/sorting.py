"""By what a table is sorted, as the URL says; the heads of columns write it there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import streamlit as st

from pages._ui.shell import url

BY, ORDER = "sort", "order"  # parameters of the URL
UP, DOWN = "up", "down"

Sort = TypeVar("Sort", bound=str)


@dataclass(frozen=True, slots=True)
class Sorting(Generic[Sort]):
    """`texts`: sorts that begin with the first letter; all others begin with the largest."""

    by: Sort
    is_descending: bool
    sorts: tuple[Sort, ...]
    default: Sort
    texts: tuple[Sort, ...] = ()
    resets: tuple[str, ...] = ("page",)

    def order_of(self, by: str) -> str:
        """The order that a sort has at first."""
        return UP if by in self.texts else DOWN


def read_sorting(
    sorts: Sequence[Sort], default: Sort, *, texts: Sequence[Sort] = (), resets: Sequence[str] = ("page",)
) -> Sorting[Sort]:
    """What the URL says; `resets` are the parameters that no longer fit when the order changes."""
    by_name = {str(sort): sort for sort in sorts}
    named = st.query_params.get(BY)
    url.note_missing(BY, by_name, [named] if named is not None else [])
    by = by_name.get(named or "", default)
    sorting = Sorting(by, True, tuple(sorts), default, tuple(texts), tuple(resets))
    order = st.query_params.get(ORDER, sorting.order_of(by))
    return Sorting(by, order != UP, sorting.sorts, default, sorting.texts, sorting.resets)


def store_sort(sorting: Sorting[Sort], by: str) -> None:
    """Sort by this; the other way round if the table is sorted by it already. What is the default, is left out."""
    if by not in sorting.sorts:
        return
    order = (UP if sorting.is_descending else DOWN) if by == sorting.by else sorting.order_of(by)
    for name in (BY, ORDER, *sorting.resets):
        st.query_params.pop(name, None)
    if by != sorting.default:
        st.query_params[BY] = str(by)
    if order != sorting.order_of(by):
        st.query_params[ORDER] = order

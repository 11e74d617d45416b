"""What a region answers: kept for a minute for all viewers, and asked anew at a click."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.core import core
from pages._ui.shell.errors import show_sentence
from pages._ui.shell.formats import format_time
from pages._ui.shell.words import t

T = TypeVar("T")

CACHE_SECONDS = 60
MAX_ANSWERS = 256  # of all viewers together; an answer is at most a page of files


@dataclass(frozen=True, slots=True)
class RegionAnswer:
    """The value, or the error instead of it, and when it was given."""

    value: Any
    error: AisbenchError | None
    at: datetime


def show_answer(query: Callable[..., T], *args: str) -> T | None:
    """The region's answer, below its time and *Refresh*; None, with the reason on the page, if there is none."""
    answer = query_region(query, *args)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(t("region.asked", at=format_time(answer.at, "%H:%M:%S")))
        key, icon = f"refresh-{query.__name__}", ":material/refresh:"
        st.button(t("region.refresh"), key=key, icon=icon, on_click=forget_answer, args=(query, *args))
    if answer.error:
        show_sentence(answer.error)
        return None
    value: T = answer.value
    return value


def query_region(query: Callable[..., Any], *args: str) -> RegionAnswer:
    """The answer of the last minute, or a new one, with a spinner while the region works on it."""
    with st.spinner(t("region.asking")):
        return _fetch_answer(query, query.__qualname__, *args)


@repeat_if_aborted
def forget_answer(query: Callable[..., Any], *args: str) -> None:
    """Ask again the next time: at a click on *Refresh*, or because something has changed."""
    _fetch_answer.clear(query, query.__qualname__, *args)


# A resource, not data: answers are frozen values, so that copies would only cost time.
@st.cache_resource(ttl=CACHE_SECONDS, max_entries=MAX_ANSWERS, show_spinner=False)
def _fetch_answer(_query: Callable[..., Any], name: str, *args: str) -> RegionAnswer:  # noqa: ARG001  # tells queries apart
    try:
        value, error = _query(*args), None
    except AisbenchError as why:  # kept like an answer: else every click would wait for the region again
        value, error = None, why
    return RegionAnswer(value, error, core().clock())

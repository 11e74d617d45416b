"""One drawing of a running job's page for everybody who looks at it: Streamlit keeps its messages and repeats them.

To make these messages anew for each viewer takes most of what a redraw takes."""

from collections.abc import Hashable
from functools import lru_cache
from itertools import count

import streamlit as st

from aisbench_core.running.progress.snapshots import RunSnapshot
from pages._ui.cards.job_details import watch_of
from pages._ui.run import answers
from pages._ui.shell.words import t

MAX_DRAWINGS = 64  # each of some 50 kB

_NUMBERS = count()


def show_drawing(now: RunSnapshot) -> None:
    """The answers about a run that is under way. Draws no widget."""
    context = st.context
    seen = (watch_of(now.run), t.language, context.theme.type, context.timezone)
    _draw_snapshot(now, _assign_number(now, seen))


@lru_cache(maxsize=MAX_DRAWINGS)
def _assign_number(_now: RunSnapshot, _seen: Hashable) -> int:
    """A number of its own for each drawing: Streamlit would hash a snapshot with all its samples."""
    return next(_NUMBERS)


@st.cache_resource(max_entries=MAX_DRAWINGS, show_spinner=False)
def _draw_snapshot(_now: RunSnapshot, number: int) -> None:  # noqa: ARG001  # the number is what Streamlit knows a drawing by
    answers.show_answers(_now)

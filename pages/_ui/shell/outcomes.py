"""What came of a click: a sentence or an error, shown once."""

from collections.abc import Callable
from functools import wraps
from time import monotonic
from typing import ParamSpec

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.errors import show_error

P = ParamSpec("P")


def report_outcome(slot: str) -> Callable[[Callable[P, str | None]], Callable[P, None]]:
    """For callbacks: the sentence that one returns, or the error that it raises, is kept for `show_outcome(slot)`.

    A callback runs before the page, so what it drew would stand above everything else."""

    def decorate(callback: Callable[P, str | None]) -> Callable[P, None]:
        @repeat_if_aborted
        @wraps(callback)
        def report(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                outcome: str | AisbenchError | None = callback(*args, **kwargs)
            except AisbenchError as error:
                outcome = error
            keep_outcome(slot, outcome)

        return report

    return decorate


def keep_outcome(slot: str, outcome: str | AisbenchError | None) -> None:
    """Keep it for `show_outcome(slot)`."""
    st.session_state[slot] = (outcome, monotonic())


def show_outcome(slot: str, lasts_s: float = 0.0) -> None:
    """What came of the last click, once; on a page that draws itself anew meanwhile, for so many seconds."""
    outcome: str | AisbenchError | None
    outcome, at = st.session_state.get(slot, (None, 0.0))
    if monotonic() - at >= lasts_s:
        st.session_state.pop(slot, None)
    if isinstance(outcome, AisbenchError):
        show_error(outcome)
    elif outcome:
        st.success(outcome, icon=":material/check:")

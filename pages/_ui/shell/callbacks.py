"""Callbacks that run to their end, however fast a person's next change arrives."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from streamlit.runtime.scriptrunner import RerunException

P = ParamSpec("P")


def repeat_if_aborted(callback: Callable[P, None]) -> Callable[P, None]:
    """For on_change and on_click: a callback that Streamlit aborts is run once more before it is left.

    Whenever a callback reads or writes Streamlit's state, Streamlit aborts it if the person has changed something else
    by then, and never calls it again: what was typed first would be lost. The callback has to be repeatable.
    """

    @wraps(callback)
    def repeat(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            callback(*args, **kwargs)
        except RerunException:
            repeat(*args, **kwargs)
            raise

    return repeat

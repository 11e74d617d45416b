"""Callbacks that are carried out whole, however fast a person's next change arrives."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from streamlit.runtime.scriptrunner import RerunException

Taken = ParamSpec("Taken")


def whole(callback: Callable[Taken, None]) -> Callable[Taken, None]:
    """For on_change and on_click: a callback that Streamlit leaves halfway begins again before it is left.

    Whenever a callback looks into Streamlit's state, Streamlit leaves it if the person has changed something else by
    then, and never calls it again: what was typed first would be lost. The callback must give the same when repeated.
    """

    @wraps(callback)
    def repeated(*args: Taken.args, **kwargs: Taken.kwargs) -> None:
        try:
            callback(*args, **kwargs)
        except RerunException:
            repeated(*args, **kwargs)
            raise

    return repeated

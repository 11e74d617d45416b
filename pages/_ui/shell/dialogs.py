"""Dialogs that stay open until they are answered."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, NoReturn, ParamSpec

import streamlit as st

from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.errors import errors_shown

P = ParamSpec("P")


_DIALOGS: list["Dialog"] = []


class Dialog:
    """A dialog about a subject, such as the id of the run to stop.

    Streamlit closes a dialog with the next run of the script unless that draws it again. So the session keeps what is
    open, and the page calls `show` on every run, once and outside fragments."""

    def __init__(
        self,
        key: str,
        width: Literal["small", "medium", "large"] = "small",
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        self._key, self._width, self._on_close = key, width, on_close
        _DIALOGS.append(self)

    @property
    def subject(self) -> Any:
        """What `open` was called with; None while the dialog is closed."""
        return st.session_state.get(self._key)

    @repeat_if_aborted
    def open(self, subject: Any = True) -> None:
        """Open it, and close every other one: a page shows one dialog at a time."""
        for other in _DIALOGS:
            if other is not self and other.subject is not None:
                other.close()
        st.session_state[self._key] = subject

    @repeat_if_aborted
    def close(self) -> None:
        self._on_close()
        st.session_state.pop(self._key, None)

    def leave(self) -> NoReturn:
        """Close the dialog from its body, and draw the page without it."""
        self.close()
        st.rerun()

    def show(self, title: str, body: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Draw the dialog if it is open, with what `body` draws."""

        @wraps(body)  # Streamlit tells dialogs apart by the names of their functions
        def draw() -> None:
            with errors_shown():
                body(*args, **kwargs)

        if self.subject is not None:
            st.dialog(title, width=self._width, on_dismiss=self.close)(draw)()

"""Filters and choices that live in the URL, so that a link shows what its sender saw.

The URL is the truth: before a widget is drawn it is set to what the URL says, and when a person changes it the URL
follows. Streamlit's own binding is not used, because it writes the option's label, which depends on the language.
"""

import math
import re
from collections.abc import Collection, Sequence
from typing import Any

import streamlit as st

from pages._ui.whole import whole

PAGE_NUMBER = re.compile(r"[0-9]{1,9}")
"""What counts as the number of a page: Python refuses to read numbers of thousands of digits."""

LANGUAGE, VIEW = "lang", "view"
"""Parameters that say nothing of what a page shows: its language, and the name of a saved view."""

MISSING = "address-missing"


def option(key: str, options: Sequence[Any], default: Any) -> str:
    """The key of a widget with one choice, set to the URL's; anything that is not an option counts as the default."""
    by_text = {str(each): each for each in options}
    note_missing(key, by_text, st.query_params.get_all(key)[-1:])
    return _primed(key, by_text.get(st.query_params.get(key, ""), default))


def several(key: str, options: Sequence[Any]) -> str:
    """The key of a widget with any number of choices, set to the URL's."""
    asked = st.query_params.get_all(key)
    note_missing(key, {str(each): each for each in options}, asked)
    return _primed(key, [each for each in options if str(each) in asked])


def missing() -> dict[str, list[str]]:
    """What the URL asks for and the page no longer offers, by parameter."""
    found: dict[str, list[str]] = st.session_state.get(MISSING, {})
    return found


def look_again() -> None:
    """Forget what was missing: the page is about to be drawn anew."""
    st.session_state[MISSING] = {}


def current() -> dict[str, tuple[str, ...]]:
    """The page's own parameters: all but the language, and the name of a saved view."""
    return {key: tuple(st.query_params.get_all(key)) for key in st.query_params if key not in (LANGUAGE, VIEW)}


def text(key: str) -> str:
    """The key of a text field, set to the URL's text."""
    return _primed(key, st.query_params.get(key, ""))


def flag(key: str) -> str:
    """The key of a toggle, on when the URL says `1`."""
    return _primed(key, st.query_params.get(key) == "1")


def number(key: str, default: float, most: float, least: float = 0.0) -> str:
    """The key of a number field, set to the URL's number, which is kept between `least` and `most`."""
    try:
        asked = float(st.query_params.get(key, default))
    except ValueError:
        asked = default
    return _primed(key, min(max(least, asked), most) if math.isfinite(asked) else default)


def optional_number(key: str, most: float) -> str:
    """The key of a number field that may be empty, set to the URL's number, which is kept between 0 and `most`."""
    try:
        asked = float(st.query_params[key])
    except (KeyError, ValueError):
        return _primed(key, None)
    return _primed(key, min(max(0.0, asked), most) if math.isfinite(asked) else None)


def page(key: str, pages: int) -> int:
    """The page that the URL asks for, 1 if it asks for none, at most the last one."""
    asked = st.query_params.get(key, "1")
    here = min(max(1, int(asked)), max(1, pages)) if PAGE_NUMBER.fullmatch(asked) else 1
    _primed(key, here)
    return here


@whole
def keep(key: str, default: Any = None, *resets: str) -> None:
    """For on_change: write the widget's value into the URL, and forget what no longer fits, such as a page number."""
    value = st.session_state[key]
    for each in resets:
        st.query_params.pop(each, None)
    if value in (None, "", [], False, default):
        st.query_params.pop(key, None)
    elif isinstance(value, list):
        st.query_params[key] = [str(each) for each in value]
    else:
        st.query_params[key] = "1" if value is True else f"{value:g}" if isinstance(value, float) else str(value)


def note_missing(key: str, options: Collection[str], asked: Sequence[str]) -> None:
    """Remember what the URL asks for and the page does not offer."""
    gone = [each for each in asked if each not in options]
    if gone:
        st.session_state[MISSING] = {**missing(), key: gone}


def _primed(key: str, value: Any) -> str:
    shown = st.session_state.get(key)
    same = shown.strip() == value.strip() if isinstance(shown, str) and isinstance(value, str) else shown == value
    if key not in st.session_state or not same:
        st.session_state[key] = value
    return key

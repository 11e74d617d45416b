"""Filters and choices that live in the URL, so that a link shows what its sender saw.

The URL is the truth: a widget is drawn with what the URL says (see widgets.py), and when a person changes it the URL
follows. Streamlit's own binding is not used, because it writes the option's label, which depends on the language.

Each function here gives arguments for a widget. `forgets` names parameters that no longer fit once it is changed,
such as a page number.
"""

import math
import re
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import streamlit as st

from pages._ui.shell import widgets

PAGE_NUMBER = re.compile(r"[0-9]{1,9}")
"""What counts as the number of a page: Python refuses to read numbers of thousands of digits."""

LANGUAGE, VIEW = "lang", "view"
"""Parameters that say nothing of what a page shows: its language, and the name of a saved view."""

MISSING = "address-missing"


def option(
    key: str,
    options: Sequence[Any],
    default: Any,
    titles: Callable[[Any], str] = str,
    *,
    always: bool = False,
    forgets: Sequence[str] = (),
) -> dict[str, Any]:
    """One choice, the URL's; anything that is not an option counts as the default.

    `always`: the default is written into the URL, too."""
    by_text = {str(each): each for each in options}
    note_missing(key, by_text, st.query_params.get_all(key)[-1:])
    value = by_text.get(st.query_params.get(key, ""), default)
    store = partial(_write, key, None if always else default, forgets)
    return widgets.single_choice(key, options, value, store, titles)


def several(
    key: str,
    options: Sequence[Any],
    titles: Callable[[Any], str] = str,
    *,
    usual: Sequence[Any] = (),
    most: int | None = None,
    forgets: Sequence[str] = (),
) -> dict[str, Any]:
    """Any number of choices, the URL's; the usual ones where it names none, and at most so many."""
    asked = st.query_params.get_all(key)
    note_missing(key, {str(each): each for each in options}, asked)
    chosen = [each for each in options if str(each) in asked] or list(usual)
    return widgets.choices(key, options, chosen[:most], partial(_write, key, None, forgets), titles)


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


def text_in_url(key: str, *, forgets: Sequence[str] = ()) -> dict[str, Any]:
    """A text field with the URL's text."""
    return widgets.field(key, st.query_params.get(key, ""), partial(_write, key, "", forgets))


def flag(key: str, *, forgets: Sequence[str] = ()) -> dict[str, Any]:
    """A toggle that is on when the URL says `1`."""
    return widgets.field(key, st.query_params.get(key) == "1", partial(_write, key, False, forgets))


def number_input(key: str, default: float, most: float, least: float = 0.0) -> dict[str, Any]:
    """A number field with the URL's number, which is kept between `least` and `most`."""
    return widgets.field(key, number_in_url(key, default, most, least), partial(_write, key, default, ()))


def number_in_url(key: str, default: float, most: float, least: float = 0.0) -> float:
    """The URL's number, kept between `least` and `most`."""
    try:
        asked = float(st.query_params.get(key, default))
    except ValueError:
        asked = default
    return min(max(least, asked), most) if math.isfinite(asked) else default


def optional_number(key: str, most: float) -> dict[str, Any]:
    """A number field that may be empty, with the URL's number, which is kept between 0 and `most`."""
    asked = number_in_url(key, math.nan, most)
    return widgets.field(key, None if math.isnan(asked) else asked, partial(_write, key, None, ()))


def page_number(key: str, pages: int) -> int:
    """The page that the URL asks for, 1 if it asks for none, at most the last one."""
    asked = st.query_params.get(key, "1")
    return min(max(1, int(asked)), max(1, pages)) if PAGE_NUMBER.fullmatch(asked) else 1


def pagination(key: str, pages: int) -> dict[str, Any]:
    """The way to the other pages, at the one that the URL asks for."""
    return widgets.page_control(key, page_number(key, pages), pages, partial(_write, key, 1, ()))


def note_missing(key: str, options: Collection[str], asked: Sequence[str]) -> None:
    """Remember what the URL asks for and the page does not offer."""
    gone = [each for each in asked if each not in options]
    if gone:
        st.session_state[MISSING] = {**missing(), key: gone}


def _write(key: str, default: Any, forgets: Sequence[str], value: Any) -> None:
    """Write what a person entered into the URL, and forget what no longer fits."""
    for forget in forgets:
        st.query_params.pop(forget, None)
    if value in (None, "", [], False, default):
        st.query_params.pop(key, None)
    elif isinstance(value, list):
        st.query_params[key] = [str(each) for each in value]
    else:
        st.query_params[key] = "1" if value is True else f"{value:g}" if isinstance(value, float) else str(value)

"""Widgets whose value lives in the URL, so that a link shows what its sender saw.

The URL is the truth: a widget is drawn with the URL's value and that value is returned; what a person enters is written
into the URL before the page is drawn again. Streamlit's own binding (`bind="query-params"`) is not used: it writes the
option's label, which depends on the language.

Common arguments: `key` names the URL parameter and the widget, `resets` names parameters that no longer fit once the
value changes, such as a page number, and `layout` goes to Streamlit as it is (`help`, `width`, `horizontal`).
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import streamlit as st

from aisbench_core.domain.authoring.number_ranges import NumberRange
from pages._ui.shell import numbers, widgets

T = TypeVar("T")
Default = TypeVar("Default", bound=float | None)

# What counts as the number of a page: Python refuses to read numbers of thousands of digits.
PAGE_NUMBER = re.compile(r"[0-9]{1,9}")

# Parameters that say nothing of what a page shows: its language, and the name of a saved view.
LANGUAGE, VIEW = "lang", "view"

MISSING = "address-missing"


def choose_option(
    widget: Callable[..., Any],
    key: str,
    label: str,
    options: Iterable[T],
    title: Callable[[T], str] = str,
    *,
    default: T | None = None,
    always: bool = False,
    resets: Collection[str] = (),
    **layout: Any,
) -> T:
    """One of at least one option, drawn by `widget`: `st.selectbox` or `st.radio`, of the page or of a column.

    The default is the first option unless given; `always` writes it into the URL, too."""
    offered = list(options)
    default = offered[0] if default is None else default
    by_text = {str(option): option for option in offered}
    note_missing(key, by_text, st.query_params.get_all(key)[-1:])  # of several values, `get` reads the last one
    value = by_text.get(st.query_params.get(key, ""), default)
    store = partial(_write_parameter, key, None if always else default, resets)
    widget(label, **layout, **widgets.single_choice(key, offered, value, store, title))
    return value


def choose_options(
    key: str,
    label: str,
    options: Sequence[T],
    title: Callable[[T], str] = str,
    *,
    default: Sequence[T] = (),
    most: int | None = None,
    resets: Collection[str] = (),
    **layout: Any,
) -> list[T]:
    """Any number of the options, or up to `most`; where the URL names none the default ones, which it never names."""
    named = st.query_params.get_all(key)
    by_text = {str(option): option for option in options}
    note_missing(key, by_text, named)
    # Drawn in the order in which a person chose them: in any other one, each choice would draw a new widget.
    drawn = ([by_text[name] for name in dict.fromkeys(named) if name in by_text] or list(default))[:most]
    bound = widgets.multiple_choice(key, options, drawn, partial(_write_choices, key, default, resets), title)
    st.multiselect(label, max_selections=most, **layout, **bound)
    return [option for option in options if option in drawn]


def enter_options(key: str, label: str, options: Sequence[str], *, resets: Collection[str] = (), **layout: Any) -> None:
    """Texts of any number, some of which are suggested; the URL has those that are chosen, as they are typed."""
    drawn = list(dict.fromkeys(st.query_params.get_all(key)))
    bound = widgets.multiple_choice(key, options, drawn, partial(_write_choices, key, (), resets), any_value=True)
    st.multiselect(label, accept_new_options=True, **layout, **bound)


def input_text(key: str, label: str, *, resets: Collection[str] = (), **layout: Any) -> str:
    """A text, empty unless the URL has one."""
    value = st.query_params.get(key, "")
    st.text_input(label, **layout, **widgets.bind_field(key, value, partial(_write_parameter, key, "", resets)))
    return value


def input_switch(key: str, label: str, *, resets: Collection[str] = (), **layout: Any) -> bool:
    """On where the URL says `1`."""
    value = st.query_params.get(key) == "1"
    st.toggle(label, **layout, **widgets.bind_field(key, value, partial(_write_parameter, key, False, resets)))
    return value


def input_number(
    key: str,
    label: str,
    default: Default,
    allowed: NumberRange,
    *,
    help_text: str = "",
    resets: Collection[str] = (),
    **layout: Any,
) -> numbers.NumberEntry[Default]:
    """A number, with what is wrong with it below its field; with None as the default the field may be empty."""
    entry = read_number(key, default, allowed)
    bound = widgets.bind_field(key, entry.text, partial(_write_number, key, default, resets))
    numbers.show_number_field(label, allowed, help_text=help_text, **layout, **bound)
    numbers.show_refusal(entry.problem)
    return entry


def read_number(key: str, default: Default, allowed: NumberRange) -> numbers.NumberEntry[Default]:
    """The URL's number; without a widget."""
    return numbers.read_entry(st.query_params.get(key, ""), default, allowed)


@dataclass(frozen=True, slots=True)
class Pages:
    """A list of `total` rows that is shown `size` at a time; the URL has the page's number."""

    key: str
    total: int
    size: int

    @property
    def count(self) -> int:
        return -(-self.total // self.size)

    @property
    def number(self) -> int:
        """From 1 to the last page."""
        return min(page_number(self.key), max(1, self.count))

    @property
    def offset(self) -> int:
        """How many rows come before this page's."""
        return self.size * (self.number - 1)

    def show(self) -> None:
        """The way to the other pages, where there are any."""
        if self.count > 1:
            store = partial(_write_parameter, self.key, 1, ())
            st.pagination(**widgets.page_control(self.key, self.number, self.count, store))


def page_number(key: str) -> int:
    """The page that the URL names, however many there are; 1 if it names none."""
    number = st.query_params.get(key, "")
    return max(1, int(number)) if PAGE_NUMBER.fullmatch(number) else 1


def read_missing() -> dict[str, list[str]]:
    """What the URL names and the page no longer offers, by parameter."""
    values: dict[str, list[str]] = st.session_state.get(MISSING, {})
    return values


def note_missing(key: str, options: Collection[str], named: Sequence[str]) -> None:
    """Remember what the URL names and the page does not offer."""
    values = [value for value in named if value not in options]
    if values:
        st.session_state[MISSING] = {**read_missing(), key: values}


def clear_missing() -> None:
    """Forget what was missing: the page is about to be drawn anew."""
    st.session_state[MISSING] = {}


def read_parameters() -> dict[str, tuple[str, ...]]:
    """The page's own parameters: all but the language and the name of a saved view."""
    return {key: tuple(st.query_params.get_all(key)) for key in st.query_params if key not in (LANGUAGE, VIEW)}


def _write_number(key: str, default: float | None, resets: Collection[str], text: str) -> None:
    """What is typed is written as it is, so that it is shown again."""
    _write_parameter(key, numbers.text_of(default), resets, text.strip())


def _write_choices(key: str, default: Sequence[Any], resets: Collection[str], values: Sequence[Any]) -> None:
    """The order of choices says nothing, so it does not make them differ from the default."""
    _write_parameter(key, None, resets, [] if set(values) == set(default) else list(values))


def _write_parameter(key: str, default: Any, resets: Collection[str], value: Any) -> None:
    for reset in resets:
        st.query_params.pop(reset, None)
    # The default is left out, so that links stay short. False is tested by identity: 0 is a number that people enter.
    if value is None or value is False or value in ("", [], default):
        st.query_params.pop(key, None)
    elif isinstance(value, list):
        st.query_params[key] = [str(option) for option in value]
    else:
        st.query_params[key] = "1" if value is True else str(value)

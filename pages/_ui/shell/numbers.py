"""Fields for numbers: what is typed stays and is what is checked; why it is refused stands below the field.

Streamlit's own field for numbers is not used: in the browser it marks what is out of range without a word, goes on
showing it, and leaves the page with the value of before.
"""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit as st

from aisbench_core.base.messages import Hint
from aisbench_core.domain.authoring.number_ranges import InvalidNumber, NumberRange
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.words import t

Default = TypeVar("Default", bound=float | None)


@dataclass(frozen=True, slots=True)
class NumberEntry(Generic[Default]):
    """What is typed for a number, and its value; while it is refused, the reason, and the default as its value."""

    text: str
    value: float | Default
    problem: Hint = ""


def read_entry(text: str, default: Default, allowed: NumberRange) -> NumberEntry[Default]:
    """A text as a number; the default where nothing is typed."""
    text = text.strip()
    if not text:
        return NumberEntry(text_of(default), default)
    try:
        return NumberEntry(text, allowed.read(text))
    except InvalidNumber as error:
        return NumberEntry(text, default, error.message)


def show_number_field(label: str, allowed: NumberRange, *, help_text: str = "", **arguments: Any) -> str:
    """The text in a field whose help says what is allowed. `arguments` go to Streamlit as they are."""
    text: str = st.text_input(label, help=f"{help_text} {allowed_text(allowed)}".strip(), **arguments)
    return text


def allowed_text(allowed: NumberRange) -> str:
    """What is allowed, for the help of a field."""
    return t("number.allowed", allowed=escape_markdown(t.message(allowed.allowed)))


def show_refusal(problem: str) -> None:
    """Why what was typed is refused, and what is allowed, below the field."""
    if problem:
        st.markdown(f":material/error: :red[{escape_markdown(t.message(problem))}]")


def text_of(value: object) -> str:
    """A value as its field shows it; empty for none."""
    return "" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)

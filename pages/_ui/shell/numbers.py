"""Fields with their limits and help, and those for numbers: what is typed stays, and why it is refused stands below.

Streamlit's own field for numbers is not used: in the browser it marks what is out of range without a word, goes on
showing it, and leaves the page with the value of before.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any, Generic, TypeVar

import streamlit as st
from streamlit.elements.lib.layout_utils import Width

from aisbench_core.base.messages import Hint
from aisbench_core.domain.authoring.number_ranges import InvalidNumber, NumberRange
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.words import t

# A field's help is in its description for screen readers as soon as the field has the cursor.
DESCRIPTIONS = """<style>
    [class*="st-key-about-"] [data-testid="stHtml"] { position: static; }
    [class*="st-key-about-"]:has(.about-limits:not(:empty)) [data-testid="stWidgetLabel"] { padding-right: 5.5rem; }
    .about-limits { position: absolute; top: .2rem; right: 2px; font-size: .8rem; line-height: 1.2rem; opacity: .75; }
    .about-field {
        position: absolute; bottom: calc(100% + 3px); left: 0; z-index: 1000; box-sizing: border-box;
        width: max-content; max-width: max(100%, 15rem); padding: .45rem .7rem; border-radius: 6px; font-size: .85rem;
        line-height: 1.35; visibility: hidden; box-shadow: 0 2px 10px #0003;
        background: light-dark(#fff, #1a2130); border: 1px solid light-dark(#c9d1dc, #3a4457);
    }
    [class*="st-key-about-"]:focus-within > * .about-field,
    [class*="st-key-about-"]:has([data-testid="stWidgetLabel"]:hover) .about-field { visibility: visible; }
    @media (max-width: 640px) { .about-field { position: static; display: none; width: auto; }
        [class*="st-key-about-"]:focus-within .about-field { display: block; } }
</style><script>
(() => {
  if (window.fieldsDescribed) return;
  window.fieldsDescribed = true;
  document.addEventListener("focusin", ({target}) => {
    const about = target.closest('[class*="st-key-about-"]')?.querySelector(".about-field");
    if (about && !target.getAttribute("aria-describedby")) target.setAttribute("aria-describedby", about.id);
  });
})();
</script>"""

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
    """The text in a field, with its limits beside the label. `arguments` go to Streamlit as they are."""
    with describe_field(str(arguments["key"]), help_text, allowed, width=arguments.get("width", "stretch")):
        text: str = st.text_input(label, **arguments)
    return text


@contextmanager
def describe_field(
    key: str, help_text: str, allowed: NumberRange | None = None, *, width: Width = "stretch"
) -> Iterator[None]:
    """A field with what is allowed beside its label, and its help below it while the cursor is in it.

    Streamlit's own help is a button beside each field, which is one more stop of the Tab key."""
    limits = allowed.symbols if allowed else ""
    about = " ".join(filter(None, (help_text, allowed_text(allowed) if allowed else "")))
    with st.container(key=f"about.{key}", gap=None, width=width):
        yield
        if about:
            st.html(
                f'<span class="about-limits" aria-hidden="true">{escape(limits)}</span>'
                f'<div class="about-field" id="about-{escape(key)}">{escape(about)}</div>'
            )


def install_descriptions() -> None:
    """Once in the browser: it serves the fields of all pages."""
    st.html(DESCRIPTIONS, unsafe_allow_javascript=True)


def allowed_text(allowed: NumberRange) -> str:
    """What is allowed, as a sentence."""
    return t("number.allowed", allowed=t.message(allowed.allowed))


def show_refusal(problem: str) -> None:
    """Why what was typed is refused, and what is allowed, below the field."""
    if problem:
        st.markdown(f":material/error: :red[{escape_markdown(t.message(problem))}]")


def text_of(value: object) -> str:
    """A value as its field shows it; empty for none."""
    return "" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)

"""What a person sees when something goes wrong: a sentence and a hint, never a traceback."""

import logging
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import streamlit as st

from aisbench_core.base.errors import AisbenchError, disk_error
from aisbench_core.base.formats import clip_text
from aisbench_core.base.messages.file_names import readable_name
from pages._ui.shell.words import t

log = logging.getLogger("aisbench_core.console")

# What is shown as code: text in backticks, addresses and e-mail addresses, which would become links even when escaped.
# Possessive (`++`), because backtracking over a long text without an @ takes quadratic time.
_CODE = re.compile(
    r"(`[^`\n]+`|(?:https?://|www\.)[^\s`]*[^\s`.,;:!?)\]'\"]|(?<![^\s`@])[^\s`@]++@[^\s`@]+\.[^\s`@.]+)"
)
MAX_LETTERS = 2000  # nobody reads more, and it would push everything else off the page
_ESCAPED = frozenset("\\`*_{}[]<>#$:|~!&")
# Where a line would begin a list, or underline a heading.
_BLOCK = re.compile(r"^([ \t]*)(\d+(?=[.)](?:\s|$))|(?=[-+](?:\s|$)))|(?<=\n)[ \t]*(?=[-=]+[ \t]*$)", re.MULTILINE)


class PageEnd(BaseException):
    """The page has nothing more to show. No error, so whatever shows errors lets it through."""


def end_page() -> NoReturn:
    """End the page's script only: after `st.stop()` the entry could no longer draw the search dialog."""
    raise PageEnd


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show what goes wrong inside: ours as it reads, anything else as an incident whose traceback is only logged."""
    try:
        yield
    except Exception as error:  # noqa: BLE001, RUF100  # one of the three places where errors end
        show_error(error)


def show_error(error: Exception) -> None:
    """Put one error on the page."""
    ours = disk_error(error) if isinstance(error, OSError) else error  # a full disk is no bug
    if isinstance(ours, AisbenchError):
        show_sentence(ours)
        return
    incident = secrets.token_hex(4)
    log.error("incident %s", incident, exc_info=error)
    st.error(t("errors.incident", incident=incident), icon=":material/report:")


def show_sentence(error: AisbenchError) -> None:
    """What happened, and below it what to do."""
    st.error(escape_markdown(t.message(error.message)), icon=":material/warning:")
    if error.hint:
        st.info(escape_markdown(t.message(error.hint)), icon=":material/lightbulb:")


def show_script_error(error: Exception) -> bool:
    """For errors outside a page's body (callbacks of widgets): shown like all others; Streamlit shows nothing then."""
    show_error(error)
    return True


def escape_markdown(text: str) -> str:
    """Text of unknown origin as Markdown that shows it as it is: no links, pictures, formulas, colours or lists.

    Addresses and what stands in backticks are shown as code; what is longer than MAX_LETTERS ends with an ellipsis."""
    shown = "".join(
        f"`{part.strip('`')}`" if _CODE.fullmatch(part) else _escape_letters(part)
        for part in _CODE.split(clip_text(readable_name(text), MAX_LETTERS))
        if part
    )
    return _BLOCK.sub(r"\g<0>\\", shown)


def _escape_letters(text: str) -> str:
    return "".join(f"\\{letter}" if letter in _ESCAPED else letter for letter in text)

"""Lines of logs as HTML in which nothing of a line is markup: text is escaped, and links lead to this page only."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

from aisbench_core.domain.logs.lines import Line, LogLevel
from aisbench_core.domain.logs.patterns import BEGIN, END, LogPattern

# Of one line, and of all lines together: a rerun sends all of them.
MOST_LETTERS = 2_000
MOST_BYTES = 100_000
LINE_PX, FRAME_PX = 20, 34

COLOURS = {LogLevel.ERROR: "redTextColor", LogLevel.WARNING: "orangeTextColor", LogLevel.DEBUG: "grayTextColor"}


@dataclass(frozen=True, slots=True)
class Prefix:
    """What stands before a line, and where it leads to."""

    text: str
    href: str = ""


def lines_html(
    lines: Sequence[Line],
    label: str,
    *,
    with_nodes: bool = False,
    focus: int | None = None,
    prefix: Callable[[Line], Prefix] | None = None,
    pattern: LogPattern | None = None,
) -> str:
    """Lines in a box that keys can scroll. `focus`: the byte whose line stands out. `pattern`: what is marked."""
    limit = _compute_limit(lines)
    numbers = prefix or ((lambda line: Prefix(str(line.node))) if with_nodes else None)
    focused = _line_at(lines, focus)
    rows = "".join(
        f'<div class="{_list_classes(line, is_focused=line is focused)}">{_render_prefix(numbers, line)}'
        f"{_render_text(line.text, limit, pattern)}</div>"
        for line in lines
    )
    # Not read out by itself: a log that grows would never let a screen reader speak of anything else.
    attributes = f'role="log" aria-live="off" aria-label="{escape(label)}" tabindex="0"'
    return f'{_build_style()}<div class="log-lines" {attributes}>{rows}</div>'


def lines_height(lines: Sequence[Line], most: int) -> int:
    """Pixels of a box that shows short lines whole, up to `most`."""
    return min(most, FRAME_PX + LINE_PX * len(lines))


def _compute_limit(lines: Sequence[Line]) -> int:
    size = sum(len(line.text[:MOST_LETTERS].encode()) for line in lines)
    return MOST_LETTERS if size <= MOST_BYTES else max(40, MOST_BYTES // (3 * len(lines)))


def _line_at(lines: Sequence[Line], offset: int | None) -> Line | None:
    before = [line for line in lines if offset is not None and line.offset <= offset]
    return before[-1] if before else None


def _list_classes(line: Line, *, is_focused: bool) -> str:
    return f"log-{line.level}{' log-system' if line.is_system else ''}{' log-focus' if is_focused else ''}"


def _render_prefix(prefix: Callable[[Line], Prefix] | None, line: Line) -> str:
    if prefix is None:
        return ""
    shown = prefix(line)
    text = escape(shown.text)
    link = f'<a href="{escape(shown.href)}" target="_self">{text}</a>' if shown.href else text
    return f'<span class="log-node">{link}</span> '


def _render_text(text: str, limit: int, pattern: LogPattern | None) -> str:
    shown = pattern.mark_matches(text) if pattern else text
    cut = shown if len(shown) <= limit else _around_first_match(shown, limit)
    marked = escape(cut, quote=False).replace(BEGIN, "<mark>").replace(END, "</mark>")
    missing = len(text) - len(cut.replace(BEGIN, "").replace(END, ""))
    return f"{marked or '&nbsp;'}{f' <i>… +{missing:,}</i>' if missing > 0 else ''}"


def _around_first_match(shown: str, limit: int) -> str:
    """A part of a long line; one that ends within a match ends it."""
    start = max(0, shown.find(BEGIN) - limit // 2)
    cut = shown[start : start + limit]
    return cut + END if cut.count(BEGIN) > cut.count(END) else cut


def _build_style() -> str:
    theme = f"theme.{st.context.theme.type or 'light'}"
    colours: Mapping[LogLevel, str] = {level: st.get_option(f"{theme}.{name}") for level, name in COLOURS.items()}
    levels = "".join(
        f".log-lines .log-{level} {{ color: {colour}; border-color: {colour} }}" for level, colour in colours.items()
    )
    return f"""<style>
    .log-lines {{ font: 0.8125rem/1.5 "Source Code Pro", monospace; white-space: pre-wrap; overflow-wrap: anywhere }}
    .log-lines > div {{ padding-left: 0.5rem; border-left: 3px solid transparent }}
    {levels}
    .log-lines .log-system {{ font-style: italic }}
    .log-lines .log-focus {{ outline: 2px solid {st.get_option("theme.light.primaryColor")} }}
    .log-lines .log-node {{ display: inline-block; min-width: 2.5em; opacity: 0.75; user-select: none }}
    .log-lines a {{ color: inherit }}
    .log-lines mark {{ background: #ffe08a; color: #000 }}
    </style>"""

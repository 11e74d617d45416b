"""The log workbench: lines of one node or all, as they are written or around a time, and what they are filtered by."""

from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache

import streamlit as st

from aisbench_core.domain.logs.lines import LineFilter, LogLevel
from aisbench_core.domain.logs.views import LogView
from aisbench_core.model import Run, RunState
from pages._ui.cards.log_lines import lines_html
from pages._ui.run.files import show_problem
from pages._ui.run.log_hits import show_first_errors, show_hits
from pages._ui.shell import url
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.core import core
from pages._ui.shell.errors import errors_shown
from pages._ui.shell.words import t

SECONDS = 4.5  # not when the answers are: what is redrawn at one moment waits for each other
LINES = 300
HEIGHT = 420
MAX_DRAWN = 32  # ends of logs, of up to some 100 kB each

ALL = "all"
LEVELS = (LogLevel.NONE, LogLevel.WARNING, LogLevel.ERROR)
# Where the lines are that are shown: a time, or a byte of one node's log. The end of the log without either.
AT, OFFSET = "at", "offset"

ANCHOR = "log"  # as links to it are written, in any language


def show_log(run: Run) -> None:
    """The logs of a run's nodes; their end follows them while the run is under way."""
    if run.state is RunState.HELD:  # nothing was sent yet that could print
        return
    st.header(t("live.log"), anchor=ANCHOR)
    with st.container(horizontal=True, key="log-fields"):
        nodes = _choose_node(run)
        url.input_text("find", t("log.find"), icon=":material/search:", width=260)
        level = url.choose_option(st.selectbox, "log_level", t("log.level"), LEVELS, _level_title, width=190)
        url.input_text(AT, t("log.at"), placeholder="03:04:05", help=t("log.at_help"), resets=(OFFSET,), width=180)
    with st.container(horizontal=True, vertical_alignment="center", key="log-switches"):
        url.input_switch("regex", t("log.regex"), help=t("log.regex_help"))
        without_system = url.input_switch("no_system", t("log.no_system"))
        url.input_switch("first_errors", t("log.first_errors"))
        name = ALL if nodes is None else str(nodes[0])
        st.link_button(t("log.download"), f"run-logs/{run.run_id}/{name}", icon=":material/download:")
    wanted = LineFilter(level, system=not without_system)
    with errors_shown():
        show_hits(run.run_id, nodes, wanted)
        show_first_errors(run.run_id)
    follows = not (run.state.is_terminal or AT in st.query_params or OFFSET in st.query_params)
    st.fragment(_show_lines, run_every=SECONDS if follows else None)(run.run_id, nodes, wanted, follows)


def _choose_node(run: Run) -> Sequence[int] | None:
    if run.spec.node_count == 1:
        return (0,)
    options = [ALL, *map(str, range(run.spec.node_count))]
    node = url.choose_option(st.selectbox, "node", t("live.node"), options, _node_title, resets=(OFFSET,), width=140)
    return None if node == ALL else (int(node),)


def _node_title(node: str) -> str:
    return t("log.all_nodes") if node == ALL else node


def _level_title(level: LogLevel) -> str:
    return t(f"log_level.{level}")


def _show_lines(run_id: str, nodes: Sequence[int] | None, wanted: LineFilter, follows: bool) -> None:
    with errors_shown():
        view, html = _draw_lines(run_id, nodes, wanted)
        show_problem(core().files.log_problem(run_id))
        if view is None or not view.lines:
            st.caption(_why_empty(run_id, nodes, view))
        else:
            with st.container(height=HEIGHT, autoscroll=follows or not _is_placed()):
                st.html(html)
            st.caption(_format_caption(view, nodes))
        if view:
            _show_ways(view, nodes)


def _is_placed() -> bool:
    return bool({AT, OFFSET} & set(st.query_params))


def _read_focus() -> int | None:
    offset = st.query_params.get(OFFSET, "")
    return int(offset) if url.PAGE_NUMBER.fullmatch(offset) or (len(offset) < 16 and offset.isdecimal()) else None


def _draw_lines(run_id: str, nodes: Sequence[int] | None, wanted: LineFilter) -> tuple[LogView | None, str]:
    """The lines, and how they are drawn; those at the end of a log once for everybody who follows it."""
    if _is_placed():
        return _drawn_view(_read_view(run_id, nodes, wanted), nodes)
    chosen = None if nodes is None else tuple(nodes)
    return _draw_newest(
        core().logs.revision(run_id, nodes), run_id, chosen, wanted, (t.language, st.context.theme.type)
    )


@lru_cache(maxsize=MAX_DRAWN)
def _draw_newest(
    _revision: Hashable, run_id: str, nodes: tuple[int, ...] | None, wanted: LineFilter, _words: Hashable
) -> tuple[LogView | None, str]:
    return _drawn_view(core().logs.last(run_id, LINES, nodes, wanted), nodes)


def _drawn_view(view: LogView | None, nodes: Sequence[int] | None) -> tuple[LogView | None, str]:
    lines = view.lines if view else ()
    return view, lines_html(lines, t("live.log"), with_nodes=nodes is None, focus=_read_focus())


def _read_view(run_id: str, nodes: Sequence[int] | None, wanted: LineFilter) -> LogView | None:
    offset, at = _read_focus(), st.query_params.get(AT, "")
    if offset is not None and nodes:
        return core().logs.around(run_id, nodes[0], offset, LINES, wanted)
    if at:
        return core().logs.at(run_id, core().logs.moment(run_id, at, nodes), LINES, nodes, wanted)
    return core().logs.last(run_id, LINES, nodes, wanted)


def _why_empty(run_id: str, nodes: Sequence[int] | None, view: LogView | None) -> str:
    if not any(core().logs.sizes(run_id, nodes).values()):
        return t("log.none_yet") if nodes is None else t("live.no_log", node=nodes[0])
    return t("log.no_lines") if view is None or view.is_complete else t("log.no_lines_in_reach")


def _format_caption(view: LogView, nodes: Sequence[int] | None) -> str:
    lines = f"{len(view.lines):,}"
    if len(view.lines) == 1:
        shown = t("log.lines_all_one") if nodes is None else t("log.lines_one", node=nodes[0])
    elif nodes is None:
        shown = t("log.lines_by_time" if view.by_time else "log.lines_by_node", lines=lines)
    else:
        shown = t("log.lines", lines=lines, node=nodes[0])
    return shown if view.is_complete else f"{shown} {t('log.partly')}"


def _show_ways(view: LogView, nodes: Sequence[int] | None) -> None:
    """Older and newer lines, and the way back to the end."""
    with st.container(horizontal=True):
        for name, line, more in (("older", 0, view.older), ("newer", -1, view.newer)):
            target = _find_target(view, line, nodes) if more else None
            if target:
                st.button(t(f"log_move.{name}"), key=f"log-{name}", on_click=_open_target, args=(target,))
        if _is_placed():
            st.button(
                t("log.latest"),
                key="log-latest",
                on_click=_open_target,
                args=({},),
                icon=":material/vertical_align_bottom:",
            )


def _find_target(view: LogView, index: int, nodes: Sequence[int] | None) -> Mapping[str, str] | None:
    if nodes:
        return {OFFSET: str(view.lines[index].offset)} if view.lines else None
    times = [line.at for line in view.lines if line.at]
    return {AT: times[index].isoformat(" ")} if times and view.by_time else None


@repeat_if_aborted
def _open_target(target: Mapping[str, str]) -> None:
    for name in (AT, OFFSET):
        st.query_params.pop(name, None)
    st.query_params.update(target)

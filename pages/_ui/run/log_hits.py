"""What a search finds in the logs of all nodes, and the first error of each rank; each leads to its lines."""

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace

import streamlit as st

from aisbench_core.config.console_address import query_string
from aisbench_core.domain.logs.first_errors import RankError, in_order
from aisbench_core.domain.logs.lines import Line, LineFilter
from aisbench_core.domain.logs.patterns import LogPattern
from aisbench_core.domain.logs.searching import NodeHits
from pages._ui.cards.log_lines import Prefix, lines_height, lines_html
from pages._ui.shell.core import core
from pages._ui.shell.words import t

SEARCH_SECONDS = 10.0
ERROR_SECONDS = 5.0
DRAW_SECONDS = 0.5
HEIGHT = 260
MOST_LINES = 100  # of hits that are shown

# What the session's last search found; a page runs anew at every click.
FOUND = "log-found"

Found = Mapping[int, NodeHits]


def show_hits(run_id: str, nodes: Sequence[int] | None, wanted: LineFilter) -> None:
    """The lines that match what the URL searches for, by node."""
    text, is_regex = st.query_params.get("find", ""), st.query_params.get("regex") == "1"
    if not text:
        return
    pattern = LogPattern(text, is_regex)
    key = (run_id, tuple(nodes or ()), pattern, wanted)
    known, sizes, found = st.session_state.get(FOUND, (None, {}, {}))
    if known == key:
        _show_found(sizes, found, pattern)
        if sizes != core().logs.sizes(run_id, nodes) and st.button(t("log.again"), key="log-again"):
            del st.session_state[FOUND]
            st.rerun()
        return
    st.session_state[FOUND] = (key, *_search_log(key))


def _search_log(key: tuple[str, tuple[int, ...], LogPattern, LineFilter]) -> tuple[Mapping[int, int], Found]:
    """Search, and show what is found meanwhile."""
    run_id, nodes, pattern, wanted = key
    sizes = core().logs.sizes(run_id, nodes or None)
    found: dict[int, NodeHits] = {}
    box, drawn = st.empty(), 0.0
    results = core().logs.search(run_id, pattern, nodes or None, wanted, SEARCH_SECONDS)
    with st.spinner(t("log.searching")), closing(results):
        for hits in results:
            found[hits.node] = hits
            if hits.count and time.monotonic() - drawn > DRAW_SECONDS:
                drawn = time.monotonic()
                with box.container():
                    _show_found(sizes, found, pattern)
    with box.container():
        _show_found(sizes, found, pattern)
    return sizes, found


def _show_found(sizes: Mapping[int, int], found: Found, pattern: LogPattern) -> None:
    with_hits = [found[node] for node in sorted(found) if found[node].count]
    shown = [line for hits in with_hits for line in hits.lines[: max(3, MOST_LINES // len(with_hits))]][:MOST_LINES]
    total = sum(hits.count for hits in with_hits)
    more = "+" if any(hits.has_more for hits in with_hits) else ""
    summary = t("log.found", count=f"{total:,}{more}", nodes=len(with_hits), total=len(sizes))
    unfinished = [node for node in sizes if not (node in found and found[node].is_done)]
    if unfinished:
        summary += f" {t('log.unfinished', nodes=len(unfinished), seconds=f'{SEARCH_SECONDS:.0f}')}"
    st.caption(summary)
    if shown:
        _show_counts(with_hits)
        with st.container(height=lines_height(shown, HEIGHT)):
            st.html(lines_html(shown, t("log.find"), prefix=_of_node, pattern=pattern))


def _show_counts(with_hits: Sequence[NodeHits]) -> None:
    """How many lines of each node match, most first."""
    most = sorted(with_hits, key=lambda hits: -hits.count)[:20]
    counts = [t("log.node_hits", node=hits.node, count=f"{hits.count:,}{'+' * hits.has_more}") for hits in most]
    st.caption(" · ".join([*counts, *(["…"] if len(with_hits) > len(most) else [])]))


def _of_node(line: Line) -> Prefix:
    return Prefix(f"{line.node}", _build_address(line))


def _build_address(line: Line) -> str:
    """This page, at a line."""
    others = [(name, value) for name in st.query_params for value in st.query_params.get_all(name)]
    own = {"node": str(line.node), "offset": str(line.offset)}
    return query_string([*(pair for pair in others if pair[0] not in (*own, "at")), *own.items()])


def show_first_errors(run_id: str) -> None:
    """The first error of each rank, where the URL asks for them."""
    if st.query_params.get("first_errors") != "1":
        return
    sizes = core().logs.sizes(run_id)
    key = (run_id, tuple(sizes.items()))
    known, found = st.session_state.get("log-first-errors", (None, {}))
    if known != key:
        with st.spinner(t("log.searching")):
            found = core().logs.first_errors(run_id, ERROR_SECONDS)
        st.session_state["log-first-errors"] = (key, found)
    _show_errors(in_order(found), len(sizes) - len(found))


def _show_errors(errors: Sequence[RankError], unfinished: int) -> None:
    if unfinished:
        st.caption(t("log.unfinished", nodes=unfinished, seconds=f"{ERROR_SECONDS:.0f}"))
    if not errors:
        st.caption(t("log.no_errors"))
        return
    ranks = {(error.line.node, error.line.offset): error.rank for error in errors}

    def prefix(line: Line) -> Prefix:
        rank = ranks[line.node, line.offset]
        owner = t("log.node", node=line.node) if rank is None else t("log.rank", node=line.node, rank=rank)
        return Prefix(f"{line.at:%H:%M:%S} {owner}" if line.at else owner, _build_address(line))

    lines = [replace(error.line, text=error.cause, at=error.at) for error in errors]
    with st.container(height=lines_height(lines, HEIGHT)):
        st.html(lines_html(lines, t("log.first_errors"), prefix=prefix))

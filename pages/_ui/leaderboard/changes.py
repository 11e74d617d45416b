"""What regressed or improved, by the row of the leaderboard that shows it, and as a badge."""

from collections.abc import Iterable, Sequence

import streamlit as st

from aisbench_core.warehouse.values.boards import BoardRow
from aisbench_core.warehouse.values.histories import Outcome
from aisbench_core.warehouse.values.runs import THROUGHPUT, BoardQuery
from aisbench_core.warehouse.values.trend_verdicts import TrendVerdict
from pages._ui.history.choice import OUTCOME, change_of
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.filters import region_key
from pages._ui.shell.navigation import HISTORY, link_page
from pages._ui.shell.words import t

# A sign and a colour for what is news: the sign says it to those who cannot tell the colours apart.
CHANGES = {Outcome.REGRESSION: ("▼", "red"), Outcome.IMPROVEMENT: ("▲", "green")}
COLOURS = dict(CHANGES.values())

_READ = "board-trends"  # of the session: for which query it has read verdicts


def known_changes(query: BoardQuery, rows: Sequence[BoardRow]) -> dict[str, TrendVerdict]:
    """What changed in these rows; nothing until `complete_changes` has read it."""
    if not _is_read(query):
        return {}
    st.session_state[_READ] = _all_trends(query)
    return changes_of(rows, trends_of(query))


def complete_changes(query: BoardQuery) -> None:
    """Last on the page, so that rows come first: the first reading of all trends of a large region takes seconds.

    The page is then drawn again: its tables stay in their places, with the focus and what is ticked."""
    if _is_read(query) or _is_of_metric(query):
        return
    trends_of(query)
    st.session_state[_READ] = _all_trends(query)
    _revisions_read()[_all_trends(query)] = core().warehouse.revision()
    st.rerun()


def _is_of_metric(query: BoardQuery) -> bool:
    """Whether rows show another number than the throughput, whose changes are known."""
    return query.metric not in ("", THROUGHPUT)


def _is_read(query: BoardQuery) -> bool:
    if _is_of_metric(query):
        return False
    trends = _all_trends(query)
    is_known = _revisions_read().get(trends) == core().warehouse.revision()
    return is_known or st.session_state.get(_READ) == trends


@st.cache_resource(show_spinner=False)
def _revisions_read() -> dict[BoardQuery, str]:
    """Which revision's verdicts some session of this server has read."""
    return {}


def _all_trends(query: BoardQuery) -> BoardQuery:
    """All trends, whatever the filters: how large a change has to be follows from how many trends are tested."""
    return BoardQuery(query.region, rehearsal=query.rehearsal, ruleset_id=query.ruleset_id)


def trends_of(query: BoardQuery) -> Sequence[TrendVerdict]:
    """Verdicts on all trends of the query's region."""
    with st.spinner(t("home.reading"), show_time=True):  # after new results, those of a large region take seconds
        return run_cached(core().warehouse.trends.list_verdicts, _all_trends(query)).groups


def changes_of(rows: Sequence[BoardRow], trends: Iterable[TrendVerdict]) -> dict[str, TrendVerdict]:
    """What regressed or improved, by the latest run of the row with the trend's newest version.

    A trend spans versions, of which the filters may leave older ones only: these have not changed."""
    found = {}
    for trend in trends:
        if trend.verdict.outcome not in CHANGES:  # most trends of a large region, each with as many rows to look at
            continue
        if own := [row for row in rows if _is_newest_of(row, trend)]:
            newest = max(own, key=lambda row: (row.latest_at is not None, row.latest_at))
            found[newest.latest_run_id] = trend
    return found


def _is_newest_of(row: BoardRow, trend: TrendVerdict) -> bool:
    group = trend.row.group
    names = ("fingerprint", "throughput_unit", "synthetic_data", "origin")
    hardware_names = ("flavor", "pool_id", "node_count", "cards_per_node")
    is_newest = row.framework_version == trend.verdict.candidate or row.latest_run_id == trend.row.latest_run_id
    return is_newest and all(getattr(row, name) == getattr(group, name) for name in (*names, *hardware_names))


def change_text(found: TrendVerdict) -> str:
    """Which way its newest version went against the baseline, and by how much; the metric, unless it is throughput."""
    return f"{CHANGES[found.verdict.outcome][0]} {change_of(found.verdict)}".rstrip()


def link_to_others(query: BoardQuery, rows: Sequence[BoardRow]) -> None:
    """The way to what changed in these rows' benchmarks but has no row among them; nothing if every change has one."""
    if not _is_read(query):
        return
    trends, fingerprints = trends_of(query), {row.fingerprint for row in rows}
    shown = {trend.row.group.id for trend in changes_of(rows, trends).values()}
    others = [
        trend
        for trend in trends
        if trend.verdict.outcome in CHANGES and trend.row.group.fingerprint in fingerprints
        if trend.row.group.id not in shown
    ]
    if others:
        selection = {"region": region_key(query), OUTCOME: [outcome.name.lower() for outcome in CHANGES]}
        link_page(HISTORY, t("board.more_changes", count=len(others)), selection, icon=":material/timeline:")

"""The overview of a region, which refreshes itself: counts on top, then changes, active and failed runs, records."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from aisbench_core.base.errors import DamagedLedger
from aisbench_core.base.formats import (
    MISSING,
    amounts_text,
    format_change,
    format_hours,
    format_number,
    nodes_and_cards,
)
from aisbench_core.model import ACTIVE, Run, RunSort, RunState
from aisbench_core.warehouse.answers.activity import RegionActivity
from aisbench_core.warehouse.values.histories import Outcome, Regressions
from aisbench_core.warehouse.values.runs import BoardQuery, RegionFacts
from pages._ui import layout
from pages._ui.cards import run_cards as cards
from pages._ui.cards.job_details import show_alert_badge
from pages._ui.home.changes import show_changed
from pages._ui.shell import navigation
from pages._ui.shell.core import core, ledger_answer, run_cached
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.filters import region_key
from pages._ui.shell.formats import format_time, to_local_time
from pages._ui.shell.row_keys import show_openable
from pages._ui.shell.status import title_tab
from pages._ui.shell.words import t
from pages._ui.spending.approval import show_waiting_notice

SECONDS = 30  # between refreshes
DAYS = 7  # of records and node hours: today and the days before it

# Counts on top. Those of launches stand there at once; judging thousands of runs may take seconds after a start.
TILES = ("regressed", "improved", "unclear", "running", "failures", "node_hours")
Tiles = Mapping[str, DeltaGenerator]

LISTED = 5  # active runs, and failed ones, that are shown; the page of runs has all
VISIBLE = 10  # records that are visible at a time
FAILED = frozenset({RunState.FAILED})
MOST_FAILED = 100  # how many failed runs are looked at for those since yesterday


def show_overview(region: RegionFacts | None) -> None:
    """Everything below the choice of a region; without one, the runs that are on their way to the first result."""
    st.fragment(_draw_overview, run_every=SECONDS)(region)


@dataclass(frozen=True, slots=True)
class _Launches:
    """What the ledger knows: some of the active runs, how many there are, and those that failed since yesterday."""

    active: Sequence[Run]
    total: int
    failed: Sequence[Run]


def _draw_overview(region: RegionFacts | None) -> None:
    with errors_shown():
        benchmarks = st.container()  # they stand above the rest, but may take seconds
        launches = _read_launches()
        if launches:
            show_waiting_notice()
            _show_launches(launches)
        if region:
            query = BoardQuery(region.region, rehearsal=region.rehearsal)
            activity = run_cached(core().warehouse.board.summarize_activity, query, _find_midnight(days=DAYS - 1))
            with benchmarks:
                tiles = layout.create_tiles(TILES)
                _count_launches(tiles, launches)
                _count_hours(tiles, activity)
            _show_records(activity, region)
            with benchmarks:
                with st.spinner(t("home.reading"), show_time=True):
                    regressions = run_cached(core().warehouse.trends.list_verdicts, query)
                _count_outcomes(tiles, regressions)
                show_changed(regressions, region)
        st.caption(t("home.updated", at=format_time(core().clock(), "%H:%M:%S")))


def _read_launches() -> _Launches | None:
    """None where the ledger is damaged, which the menu says: recorded results can still be shown."""
    ledger = core().ledger
    try:
        latest = ledger_answer(ledger.page, FAILED, limit=MOST_FAILED, sort=RunSort.ENDED)
        active, total = ledger_answer(ledger.page, ACTIVE, limit=LISTED), ledger_answer(ledger.count, ACTIVE)
    except DamagedLedger:
        return None
    since = _find_midnight(days=1)
    return _Launches(active, total, [run for run in latest if run.ended_at and run.ended_at >= since])


def _show_launches(launches: _Launches) -> None:
    left, right = st.columns(2, gap="large")
    with left:
        _show_runs(t("home.active"), t("runs.none_active"), launches.active, total=launches.total)
    with right:
        failed = launches.failed
        _show_runs(t("home.failed"), t("home.none_failed"), failed[:LISTED], total=len(failed))


def _find_midnight(days: int) -> datetime:
    """The beginning of the day so many days ago, in the browser's time zone: it stays the same for a day's answers."""
    now = to_local_time(core().clock(), st.context.timezone)
    return now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days)


def _count_outcomes(tiles: Tiles, regressions: Regressions) -> None:
    counts = Counter(group.verdict.outcome for group in regressions.groups)
    regressed = counts[Outcome.REGRESSION]
    title_tab(f"▼ {regressed:,} {t('menu.home')}" if regressed else t("menu.home"))
    _fill_tile(tiles, "regressed", f"{regressed:,}")
    _fill_tile(tiles, "improved", f"{counts[Outcome.IMPROVEMENT]:,}")
    _fill_tile(tiles, "unclear", f"{counts[Outcome.NOT_ENOUGH]:,}")


def _count_launches(tiles: Tiles, launches: _Launches | None) -> None:
    _fill_tile(tiles, "running", f"{launches.total:,}" if launches else MISSING)
    _fill_tile(tiles, "failures", f"{len(launches.failed):,}" if launches else MISSING)


def _count_hours(tiles: Tiles, activity: RegionActivity) -> None:
    hours = sum(used.node_hours for used in activity.usage)
    _fill_tile(tiles, "node_hours", format_hours(hours), spent=amounts_text(activity.costs))


def _fill_tile(tiles: Tiles, name: str, value: str, spent: str = "") -> None:
    # Their labels are short, so that none is cut at 1280 pixels; the help has the whole sentence.
    tiles[name].metric(
        t(f"home.tile_{name}"),
        value,
        delta=spent or None,
        delta_color="off",
        delta_arrow="off",
        border=True,
        height="stretch",
        help=t(f"home.tile_{name}_help", days=DAYS) + (f" {t('home.spent', money=spent)}" if spent else ""),
    )


def _show_runs(title: str, none: str, runs: Sequence[Run], *, total: int) -> None:
    st.header(title)
    if not runs:
        st.caption(none)
    titles = cards.run_titles(runs)
    for run in runs:
        with st.container(horizontal=True, vertical_alignment="center"):
            cards.state_badge(run)
            show_alert_badge(run)
            navigation.link_page(navigation.LIVE, escape_markdown(titles[run.run_id]), {"run": run.run_id})
        if run.state is RunState.FAILED:
            st.caption(escape_markdown(cards.why_failed(run)))
        elif run.state in ACTIVE:
            cards.show_line(run, ledger_answer(core().ledger.progress, run.run_id))
    if total > len(runs):
        navigation.link_page(navigation.RUNS, t("home.all_runs", count=f"{total:,}"), {})


def _show_records(activity: RegionActivity, region: RegionFacts) -> None:
    st.header(t("home.records", days=DAYS))
    if not activity.records:
        st.caption(t("home.no_records"))
        return
    rows = []
    for record in activity.records:
        trend, unit = record.trend, t.unit(record.trend.throughput_unit)
        row = {
            "model": record.model or MISSING,
            "flavor": trend.flavor or trend.pool_id,
            "size": nodes_and_cards(trend.node_count, trend.cards_per_node),
            "throughput": format_number(record.throughput, unit),
            "previous": format_number(record.previous, unit),
            "change": format_change(record.change),
            "run": record.run_id,
            "at": format_time(record.at, "%Y-%m-%d %H:%M"),
        }
        rows.append(row)
    selections = [{"run": record.run_id} for record in activity.records]
    title = t("home.records", days=DAYS)
    titles = {
        "model": t("board.model"),
        "flavor": t.field("flavor"),
        "size": t("series.cards"),
        "throughput": t("metric.throughput"),
        "previous": t("home.previous"),
        "change": t("history.change"),
        "run": t("board.run"),
        "at": t("history.at"),
    }
    show_openable(rows, titles, title, navigation.LIVE, selections, key="records", visible=VISIBLE)
    navigation.link_page(navigation.LEADERBOARD, t("menu.leaderboard"), {"region": region_key(region)})

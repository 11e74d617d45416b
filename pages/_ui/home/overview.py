"""The overview of a region, which refreshes itself: what runs and what failed, what changed, and the last days."""

from datetime import datetime, timedelta

import streamlit as st

from aisbench_core.warehouse.measures.shared_changes import SharedChange, group_changes
from aisbench_core.warehouse.values.histories import Outcome
from aisbench_core.warehouse.values.runs import BoardQuery, RegionFacts
from pages._ui.home.changes import show_changed
from pages._ui.home.now import read_current, show_now
from pages._ui.home.week import show_week
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.errors import errors_shown
from pages._ui.shell.formats import format_time, to_local_time
from pages._ui.shell.status import title_tab
from pages._ui.shell.words import t
from pages._ui.spending.approval import show_waiting_notice

SECONDS = 30  # between refreshes
DAYS = 7  # of records and node hours: today and the days before it


def show_overview(region: RegionFacts | None) -> None:
    """Everything below the choice of a region; without one, the runs that are on their way to the first result."""
    st.fragment(_draw_overview, run_every=SECONDS)(region)


def _draw_overview(region: RegionFacts | None) -> None:
    """From the top to the bottom, so that nothing moves when the next answer comes."""
    with errors_shown():
        current = read_current(_find_midnight(days=1))
        if current:
            show_waiting_notice()
            show_now(current)
        if region is None:
            return
        query = BoardQuery(region.region, rehearsal=region.rehearsal)
        st.header(t("home.changed"), help=t("home.changed_help"))
        # After a start, judging thousands of runs takes seconds.
        with st.spinner(t("home.reading"), show_time=True):
            regressions = run_cached(core().warehouse.trends.list_verdicts, query)
        changes = group_changes(regressions.groups)
        _count_regressions(changes)
        show_changed(regressions, changes, region)
        activity = run_cached(core().warehouse.board.summarize_activity, query, _find_midnight(days=DAYS - 1))
        show_week(activity, region, has_ledger=current is not None)
        st.caption(t("home.updated", at=format_time(core().clock(), "%H:%M:%S")))


def _find_midnight(days: int) -> datetime:
    """The beginning of the day so many days ago, in the browser's time zone: it stays the same for a day's answers."""
    now = to_local_time(core().clock(), st.context.timezone)
    return now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days)


def _count_regressions(changes: tuple[SharedChange, ...]) -> None:
    regressed = sum(change.outcome is Outcome.REGRESSION for change in changes)
    title_tab(f"▼ {regressed:,} {t('menu.home')}" if regressed else t("menu.home"))

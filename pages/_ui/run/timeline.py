"""What happened to a run, by time: the console's events, the platform's, and what people noted."""

import streamlit as st

from aisbench_core.formats import duration
from aisbench_core.results.job_events import chronological, cloud_events
from pages._ui.runs.job_details import job_details
from pages._ui.shell.core import core, ledger_answer
from pages._ui.shell.errors import errors_shown
from pages._ui.shell.formats import when
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

VISIBLE = 30  # rows that are visible at a time: two nodes without trouble have as many


def show_timeline(run_id: str) -> None:
    """Everything that is known to have happened, oldest first."""
    with errors_shown():
        st.header(t("live.timeline"))
        known = (*ledger_answer(core().ledger.events, run_id), *cloud_events(run_id, job_details(run_id)))
        events = chronological([*known, *core().annotations.of(run_id).timeline(run_id)])
        if not events:
            st.caption(t("live.no_events"))
            return
        rows = [
            {
                t("live.at"): when(event.at),
                # The platform's times have whole seconds, so that its first events can seem older than the launch.
                t("live.after"): duration(max(0.0, (event.at - events[0].at).total_seconds())),
                t("live.what"): t.event(event),
                t("live.level"): t(f"level.{event.level}"),
                t("live.source"): t.actor(event.actor, event.source),
            }
            for event in events
        ]
        show_table(rows, t("live.timeline"), widths={t("live.what"): "large"}, visible=VISIBLE)

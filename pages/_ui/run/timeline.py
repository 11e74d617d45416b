"""What happened to a run, by time: the console's events, the platform's, and what people noted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import streamlit as st

from aisbench_core.base.formats import format_duration
from aisbench_core.domain.results.job_events import cloud_events, is_of_kubernetes, sort_events
from aisbench_core.model import Annotations, Event
from aisbench_core.running.progress.snapshots import RunSnapshot
from pages._ui.shell import url
from pages._ui.shell.core import core, ledger_answer
from pages._ui.shell.formats import format_time
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

VISIBLE = 30  # rows that are visible at a time: two nodes without trouble have as many


def show_timeline(now: RunSnapshot) -> None:
    """Everything that is known to have happened, oldest first."""
    run_id = now.run.run_id
    events, noted = tuple(ledger_answer(core().ledger.events, run_id)), core().annotations.of(run_id)
    rows = now.once(
        ("timeline", events, noted, t.language, st.context.timezone), lambda now: _build_rows(now, events, noted)
    )
    with st.expander(t("live.timeline"), icon=":material/history:"):
        if not rows:
            st.caption(t("live.no_events"))
            return
        of_kubernetes = sum(row.is_of_kubernetes for row in rows)
        every = bool(of_kubernetes) and url.input_switch("kubernetes", t("run.kubernetes", count=of_kubernetes))
        shown = [row.cells for row in rows if every or not row.is_of_kubernetes]
        titles = {
            "at": t("live.at"),
            "after": t("live.after"),
            "what": t("live.what"),
            "level": t("live.level"),
            "source": t("live.source"),
        }
        show_table(shown, titles, t("live.timeline"), widths={"what": "large"}, visible=VISIBLE)


@dataclass(frozen=True, slots=True)
class _TimelineRow:
    cells: Mapping[str, str]
    is_of_kubernetes: bool


def _build_rows(now: RunSnapshot, seen: Sequence[Event], noted: Annotations) -> list[_TimelineRow]:
    run_id = now.run.run_id
    events = sort_events([*seen, *cloud_events(run_id, now.details), *noted.timeline(run_id)])
    # The platform's times have whole seconds, so that its events can seem older than those before them.
    passed = accumulate(((event.at - events[0].at).total_seconds() for event in events), max)
    return [
        _TimelineRow(
            {
                "at": format_time(event.at),
                "after": format_duration(elapsed),
                "what": t.message(event.message),
                "level": t(f"level.{event.level}"),
                "source": t.actor(event.actor, event.source),
            },
            is_of_kubernetes(event),
        )
        for event, elapsed in zip(events, passed, strict=True)
    ]

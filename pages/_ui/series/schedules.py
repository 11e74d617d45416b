"""The schedules above the list of series: when each launches its next one, and what happened last."""

from collections.abc import Callable, Iterator

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.formats import format_number
from aisbench_core.model import Actor, Schedule
from pages._ui.shell import navigation
from pages._ui.shell.core import actor, core, is_allowed
from pages._ui.shell.errors import escape_markdown, show_error
from pages._ui.shell.formats import format_time
from pages._ui.shell.words import t


def show_schedules() -> None:
    """A card for each schedule; nothing without any."""
    schedules = core().schedules.all()
    if not schedules:
        return
    st.header(t("series.schedules"))
    for schedule in schedules:
        with st.container(border=True, key=f"schedule-{schedule.name}", gap="small"):
            _show_schedule(schedule)
    st.header(t("series.title"))


def _show_schedule(schedule: Schedule) -> None:
    hold = core().schedules.hold(schedule)
    # A resumed schedule launches by the right of its owner of today; where that is no other one, nothing would change.
    has_other_right = schedule.owner == actor().name and schedule.grant != actor().grant
    can_resume = schedule.paused or (hold is not None and has_other_right)
    with st.container(horizontal=True, vertical_alignment="center"):
        title = f"**{escape_markdown(schedule.name)}** · `{schedule.cron}` · {escape_markdown(schedule.time_zone)}"
        st.markdown(title, width="stretch")
        if schedule.series_id:
            navigation.link_page(navigation.SERIES, t("series.schedule_last"), {"series": schedule.series_id})
        label = t("series.schedule_resume" if can_resume else "series.schedule_pause")
        icon = ":material/play_arrow:" if can_resume else ":material/pause:"
        right = "ScheduleService.resume" if can_resume else "ScheduleService.pause"
        if is_allowed(right, schedule.owner) and st.button(label, key=f"schedule-turn-{schedule.name}", icon=icon):
            _switch_schedule(core().schedules.resume if can_resume else core().schedules.pause, schedule)
    st.caption(" · ".join(_list_facts(schedule)))
    if hold:
        st.warning(t("series.schedule_held", why=escape_markdown(t.message(hold))), icon=":material/pause_circle:")
    if schedule.detail:
        st.caption(escape_markdown(t.message(schedule.detail)))


def _switch_schedule(change: Callable[[str, Actor], Schedule], schedule: Schedule) -> None:
    """Pause it, or let it go on."""
    try:
        change(schedule.name, actor())
    except AisbenchError as error:
        show_error(error)
        return
    st.rerun()


def _list_facts(schedule: Schedule) -> Iterator[str]:
    paused = t("series.schedule_paused")
    yield paused if schedule.paused else t("series.schedule_next", at=format_time(schedule.next_at, "%Y-%m-%d %H:%M"))
    yield escape_markdown(schedule.plan.name or schedule.plan.spec.workload)
    yield escape_markdown(schedule.profile)
    if schedule.weekly_hours is not None:
        yield t("series.schedule_hours", hours=format_number(schedule.weekly_hours))
    yield t("series.schedule_owner", who=escape_markdown(schedule.owner))

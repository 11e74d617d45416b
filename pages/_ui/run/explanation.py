"""Why a run failed or hangs, in a band at the top of its page: the cause, where, what to do, and a corrected draft."""

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.formats import MISSING
from aisbench_core.domain.liveness.alerts import alert_of
from aisbench_core.domain.logs.lines import Line, LogLevel
from aisbench_core.model import FieldDifference, RunState
from aisbench_core.running.diagnosing.cause import Cause, Confidence, Explanation, FirstError, Situation
from aisbench_core.running.progress.snapshots import RunSnapshot
from pages._ui.cards.job_details import watch_of
from pages._ui.cards.log_lines import lines_height, lines_html
from pages._ui.configure import drafts
from pages._ui.run.log import ANCHOR
from pages._ui.shell import navigation
from pages._ui.shell.core import core, is_allowed
from pages._ui.shell.errors import escape_markdown, show_error
from pages._ui.shell.formats import format_time
from pages._ui.shell.words import t

LINES_PX = 176  # of the lines of an error; they scroll

_COLOURS = {Confidence.CERTAIN: "green", Confidence.LIKELY: "blue", Confidence.POSSIBLE: "orange"}


def show_explanation(now: RunSnapshot) -> None:
    """The explanation of a run that failed or hangs; nothing for others, such as those that a person stopped."""
    if core().causes.situation(now.run, now.details, watch_of(now.run)) in (Situation.FAILED, Situation.HANGING):
        with st.container(border=True, key="cause", gap="xsmall"):
            _draw_explanation(now, core().causes.explain(now.run.run_id))


def _draw_explanation(now: RunSnapshot, found: Explanation) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        cause = escape_markdown(t.message(found.cause.text)) if found.cause else t("cause.unknown")
        title = t("cause.failed" if found.situation is Situation.FAILED else "cause.hangs", cause=cause)
        st.markdown(f":material/troubleshoot: **{title}**")
        if found.cause:
            confidence = found.cause.confidence
            st.badge(t(f"cause.{confidence}"), color=_COLOURS[confidence])  # type: ignore[arg-type]  # three of them
    _show_place(now, found)
    if found.error and found.error.lines:
        _show_lines(found.error)
    if found.cause:
        _show_advice(found.cause)
    else:
        st.markdown(t("cause.unknown_help"))
    with st.container(horizontal=True, vertical_alignment="center"):
        if found.changes:
            _show_correction(found)
        _link_log(found)


def _show_place(now: RunSnapshot, found: Explanation) -> None:
    """Where it failed, at which step, and what the job itself said; of one that hangs, since when."""
    error, last = found.error, now.overview.last
    numbers = [("cause.node", error.node), ("cause.rank", error.rank)] if error else []
    numbers += [("cause.step", last.step)] if last else []
    numbers += [("cause.line", error.line)] if error else []
    where = [t(key, number=f"{number:,}") for key, number in numbers if number is not None]
    if now.run.state is RunState.FAILED and now.run.detail:
        where.append(escape_markdown(t.message(now.run.detail)))
    if found.situation is Situation.HANGING and (alert := alert_of(now.run, now.details, watch_of(now.run))):
        where.append(t("cause.since", at=escape_markdown(format_time(alert.at))))
    if where:
        st.caption(" · ".join(where))


def _show_lines(error: FirstError) -> None:
    """As HTML: a block of code is loaded later, and what stands below it would move."""
    lines = [Line(error.node or 0, 0, text, None, LogLevel.NONE, is_system=False) for text in error.lines]
    with st.container(height=lines_height(lines, LINES_PX)):
        st.html(lines_html(lines, t("cause.lines")))


def _link_log(found: Explanation) -> None:
    """To the line of the error, or to the log."""
    error = found.error
    if error is None or error.node is None or found.log_offset is None:
        st.markdown(f"[{t('cause.log')}](#{ANCHOR})")
        return
    selection = {"run": found.run_id, "node": str(error.node), "offset": str(found.log_offset)}
    navigation.link_page(navigation.LIVE, t("cause.log_line"), selection, icon=":material/notes:")


def _show_advice(cause: Cause) -> None:
    st.markdown(t("cause.advice", advice=escape_markdown(t.message(cause.advice))))
    if cause.links:
        links = " · ".join(f"[{escape_markdown(t.message(link.title))}]({link.url})" for link in cause.links)
        st.markdown(t("cause.links", links=links))  # a caption is too pale for links


def _show_correction(found: Explanation) -> None:
    if is_allowed("Runs.launch") and st.button(
        t("cause.correct"), key="corrected-draft", type="primary", icon=":material/build:"
    ):
        _open_draft(found.run_id)
    st.markdown(" · ".join(_format_change(change) for change in found.changes), width="content")


def _format_change(change: FieldDifference) -> str:
    head, _, parameter = change.field.partition(".")  # parameters have no other name in the form
    name = parameter if head == "parameters" else t.field(change.field)
    before, now = (escape_markdown(_format_value(value)) for value in (change.original, change.now))
    return f"{escape_markdown(name)}: {before} → {now}"


def _format_value(value: object) -> str:
    if value is None:
        return MISSING
    return str(value).lower() if isinstance(value, bool) else str(value)


def _open_draft(run_id: str) -> None:
    try:
        original = core().clones.original(run_id)
        selection = {"draft": drafts.clone(original, core().causes.correct_spec(run_id))}
    except AisbenchError as error:
        show_error(error)
        return
    if original.profile in core().regions.names():
        selection["profile"] = original.profile
    navigation.open_page(navigation.CONFIGURE, selection)

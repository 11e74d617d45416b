"""Why a run failed or hangs, at the top of its page: the cause, the first error, what to do, and a corrected draft."""

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.formats import MISSING
from aisbench_core.model import FieldDifference
from aisbench_core.running.diagnosing.cause import Cause, Confidence, Explanation, FirstError, Situation
from aisbench_core.running.progress.snapshots import RunSnapshot
from pages._ui.cards.job_details import watch_of
from pages._ui.configure import drafts
from pages._ui.run.log import ANCHOR
from pages._ui.shell import navigation
from pages._ui.shell.core import core
from pages._ui.shell.errors import escape_markdown, show_error
from pages._ui.shell.words import t

_COLOURS = {Confidence.CERTAIN: "green", Confidence.LIKELY: "blue", Confidence.POSSIBLE: "orange"}


def show_explanation(now: RunSnapshot) -> None:
    """The explanation of a run that failed or hangs; nothing for others, such as those that a person stopped."""
    if core().causes.situation(now.run, now.details, watch_of(now.run)) in (Situation.FAILED, Situation.HANGING):
        with st.container(border=True, key="cause"):
            _draw_explanation(core().causes.explain(now.run.run_id))


def _draw_explanation(found: Explanation) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        cause = escape_markdown(t.message(found.cause.text)) if found.cause else t("cause.unknown")
        title = t("cause.failed" if found.situation is Situation.FAILED else "cause.hangs", cause=cause)
        st.markdown(f":material/troubleshoot: **{title}**")
        if found.cause:
            confidence = found.cause.confidence
            st.badge(t(f"cause.{confidence}"), color=_COLOURS[confidence])  # type: ignore[arg-type]  # three of them
    if found.error:
        _show_error_lines(found.error)
    if found.cause:
        _show_advice(found.cause)
    else:
        st.markdown(t("cause.unknown_help"))
    st.markdown(f"[{t('cause.log')}](#{ANCHOR})")
    if found.changes:
        _show_correction(found)


def _show_error_lines(error: FirstError) -> None:
    numbers = (("cause.rank", error.rank), ("cause.node", error.node), ("cause.line", error.line))
    where = " · ".join(t(key, number=f"{number:,}") for key, number in numbers if number is not None)
    if where:
        st.caption(where)
    if error.lines:
        st.code("\n".join(error.lines), language=None, wrap_lines=True)


def _show_advice(cause: Cause) -> None:
    st.markdown(t("cause.advice", advice=escape_markdown(t.message(cause.advice))))
    if cause.links:
        links = " · ".join(f"[{escape_markdown(t.message(link.title))}]({link.url})" for link in cause.links)
        st.markdown(t("cause.links", links=links))  # a caption is too pale for links


def _show_correction(found: Explanation) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(t("cause.correct"), key="corrected-draft", icon=":material/build:"):
            _open_draft(found.run_id)
        st.markdown(" · ".join(_format_change(change) for change in found.changes))


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

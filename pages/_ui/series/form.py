"""A new series: the draft, how often and on how many nodes, what that may take, and the launch."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from aisbench_core.errors import AisbenchError, CloudUnavailable
from aisbench_core.formats import money, nodes_and_cards, number
from aisbench_core.model import RunSpec
from aisbench_core.series.planning import RowFinding, SeriesDraft, SeriesEstimate
from pages._ui.configure import confirmation, drafts
from pages._ui.configure.launch import MOST_HOURS, choose_profile
from pages._ui.series.matrix import row_title
from pages._ui.shell import address, navigation
from pages._ui.shell.core import WHO, core
from pages._ui.shell.errors import errors_shown, plain, show_error
from pages._ui.shell.findings import finding_text, has_errors
from pages._ui.shell.words import Words, words

MOST_REPEATS = 100.0
MOST_PARALLEL = 256.0
MOST_NODE_HOURS = 10_000_000.0

ANSWER = "series-online"
"""Where the region's answer to the open question is kept, with the question's token."""

QUESTION = "series-launch"
"""Where the open question keeps its token: a token launches once, however often the button is pressed."""


def show_series_form() -> None:
    """The form on the left, what it comes to on the right; everything typed is in the URL."""
    t = words()
    navigation.link(navigation.SERIES, t("series.all"), {})
    asking, judging = st.columns([1, 1], gap="large")
    with asking:
        st.header(t("series.new"))
        profile = choose_profile()
        spec = _base(profile)
    if spec is None:
        return
    with asking:
        answers = _answers(spec)
    with judging:
        try:
            draft = core().series.plan(spec, answers, profile)
        except AisbenchError as error:
            show_error(error)
            return
        _show_draft(spec, draft, profile)


def link_to_form(profile: str) -> None:
    """From a draft on Configure to the form, with the hours that the person expects there."""
    hours = {"run_hours": st.query_params["hours"]} if "hours" in st.query_params else {}
    selection = {"new": "1", "draft": drafts.draft_name(), "profile": profile, **hours}
    navigation.link(navigation.SERIES, words()("series.as_series"), selection)


def _base(profile: str) -> RunSpec | None:
    """What every run is made of: the draft that the URL names. None, with the reason on the page, if it means none."""
    t = words()
    if not profile:
        return None
    draft = drafts.read_draft()
    query = {"draft": drafts.draft_name(), "profile": profile}
    if draft.spec is None:
        if draft.problem:
            show_error(draft.problem)
        navigation.link(navigation.CONFIGURE, t("series.mend_draft"), query)
        return None
    spec = draft.spec
    facts = (spec.workload, spec.framework_version, spec.flavor or spec.pool_id, spec.name)
    st.markdown(t("series.base", facts=plain(" · ".join(part for part in facts if part))))
    navigation.link(navigation.CONFIGURE, t("series.change_draft"), query)
    return spec


def _answers(spec: RunSpec) -> Mapping[str, Any]:
    t = words()
    left, right = st.columns(2)
    with left:
        counts = _text("counts", t("series.counts"), t("series.counts_help"), str(spec.node_count))
        parallel = _number("parallel", t("series.parallel"), t("series.parallel_help"), 1.0, MOST_PARALLEL)
        hours = _number("run_hours", t("series.hours_per_run"), t("series.hours_help"), 1.0, MOST_HOURS, step=0.25)
    with right:
        repeats = _number("repeats", t("series.repeats"), t("series.repeats_help"), 3.0, MOST_REPEATS)
        budget = st.number_input(
            t("series.budget"),
            min_value=0.0,
            max_value=MOST_NODE_HOURS,
            format="%g",
            placeholder=t("series.no_budget"),
            help=t("series.budget_help"),
            **address.optional_number("budget", MOST_NODE_HOURS),
        )
        name = _text("title", t("series.name"), t("series.name_help"))
    versions = _versions(spec)
    images = _text("images", t("series.images"), t("series.images_help"))
    return {
        "node_counts": counts or None,
        "repeats": round(repeats),
        "parallel": round(parallel),
        "hours_per_run": hours,
        "budget": budget,
        "name": name,
        "versions": versions,
        "images": images,
    }


def _versions(spec: RunSpec) -> list[str]:
    t = words()
    known = list(core().workloads.get(spec.workload).versions)
    if len(known) < 2:
        return []
    chosen: list[str] = st.multiselect(
        t("series.versions"),
        placeholder=spec.framework_version or known[-1],
        help=t("series.versions_help"),
        **address.several("versions", known),
    )
    return chosen


def _text(key: str, label: str, about: str, placeholder: str = "") -> str:
    entered: str = st.text_input(label, placeholder=placeholder, help=about, **address.text_in_url(key))
    return entered


def _number(key: str, label: str, about: str, default: float, most: float, step: float = 1.0) -> float:
    entered: float = st.number_input(
        label,
        min_value=0.0,
        max_value=most,
        step=step,
        format="%g",
        help=about,
        **address.number_input(key, default, most),
    )
    return entered


def _show_draft(spec: RunSpec, draft: SeriesDraft, profile: str) -> None:
    t = words()
    st.header(t("series.estimate"))
    st.markdown(estimate_text(draft.estimate, draft.plan.parallel, t))
    budget = draft.plan.budget
    if budget is not None and draft.estimate.node_hours > budget:
        st.warning(t("series.too_small", budget=number(budget)), icon=":material/pause_circle:")
    st.dataframe(
        [
            {
                t("series.cards"): nodes_and_cards(row.node_count, row.spec.cards_per_node),
                t("series.runs"): draft.plan.repeats,
                t("series.node_hours"): number(row.node_count * draft.plan.repeats * draft.plan.hours_per_run),
                t("series.version"): row.spec.framework_version,
                t("series.image"): row.spec.image_url or row.spec.engine_version,
            }
            for row in draft.rows
        ],
        hide_index=True,
        alt=t("series.rows"),
    )
    st.header(t("findings.title"))
    if not draft.findings:
        st.markdown(f":material/check_circle: :green[{t('findings.none')}]")
    _show_findings(draft.findings)
    _show_launch(spec, draft, profile)


def estimate_text(estimate: SeriesEstimate, parallel: int, t: Words) -> str:
    """Runs, node hours, hours on the clock, and the cost where the profile has a price."""
    cost = "" if estimate.cost is None else t("series.cost", cost=money(estimate.cost, estimate.currency))
    return t(
        "series.estimated",
        cells=estimate.cells,
        node_hours=number(estimate.node_hours),
        wall=number(estimate.wall_hours),
        parallel=parallel,
        cost=cost,
    )


def _show_findings(findings: Sequence[RowFinding]) -> None:
    t = words()
    for finding in findings:
        where = (
            t("series.every_row") if finding.everywhere else plain(", ".join(row_title(row, t) for row in finding.rows))
        )
        st.markdown(f"**{where}** · {plain(t.field(finding.finding.field))} {finding_text(finding.finding)}")


def _show_launch(spec: RunSpec, draft: SeriesDraft, profile: str) -> None:
    t = words()
    if draft.errors:
        st.markdown(t("configure.blocked"))
        return
    label = t("series.launch", cells=draft.estimate.cells)
    if st.button(label, key="series-launch-button", type="primary", icon=":material/rocket_launch:", width="stretch"):
        st.session_state[QUESTION] = secrets.token_hex(8)
    token = st.session_state.get(QUESTION)
    if token:
        st.dialog(t("series.launch_title"), on_dismiss=_forget)(_question)(spec, draft, profile, token)


def _question(spec: RunSpec, draft: SeriesDraft, profile: str, token: str) -> None:
    t = words()
    with errors_shown():
        place = core().regions.profile(profile)
        st.markdown(t("series.where", profile=plain(place.name), region=plain(place.region)))
        st.markdown(estimate_text(draft.estimate, draft.plan.parallel, t))
        budget = draft.plan.budget
        st.markdown(t("series.unlimited") if budget is None else t("series.limited", budget=number(budget)))
        plan = repr(draft.plan)
        shown = confirmation.digest(spec, profile, plan)
        confirmation.show_change(token, shown)
        findings = _online(draft, profile, f"{token}-{shown}")
        _show_findings(findings)
        blocked = has_errors([finding.finding for finding in findings])
        if not blocked and confirmation.confirmed("series-launch-yes", spec, profile, shown, plan):
            _launch(draft, profile, token)
        if st.button(t("launch.cancel"), key="series-launch-no", width="stretch"):
            _forget()
            st.rerun()


def _online(draft: SeriesDraft, profile: str, token: str) -> Sequence[RowFinding]:
    """What the region says, asked once per question. One that does not answer now does not forbid a launch."""
    t = words()
    asked, findings = st.session_state.get(ANSWER, ("", ()))
    if asked == token:
        return tuple(findings)
    try:
        with st.spinner(t("launch.checking")):
            findings = core().series.online(draft, profile)
    except CloudUnavailable as error:
        st.warning(t("launch.unreachable", reason=plain(t.said(error.message))), icon=":material/warning:")
        return ()
    st.session_state[ANSWER] = (token, findings)
    return tuple(findings)


def _launch(draft: SeriesDraft, profile: str, token: str) -> None:
    """Launch, and lead to the series. The button's second press finds the same token, and with it the same series."""
    series = core().series.launch(draft.plan, profile, WHO, token)
    _forget()
    navigation.go(navigation.SERIES, {"series": series.series_id})


def _forget() -> None:
    st.session_state.pop(QUESTION, None)
    st.session_state.pop(ANSWER, None)

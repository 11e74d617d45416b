"""A new series: the draft, how often and on how many nodes, an estimate, and the launch."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.formats import MISSING, format_money, format_number, nodes_and_cards
from aisbench_core.domain.access.server_files import require_open_files
from aisbench_core.domain.authoring.number_ranges import range_of
from aisbench_core.model import Objective, ParameterSearch, RunSpec, Sampler, SeriesPlan, SeriesRow
from aisbench_core.running.series.planning import RowFinding, SeriesDraft
from aisbench_core.running.series.stopping import most_repeats
from pages._ui.configure import confirmation, drafts
from pages._ui.configure.findings import finding_text, has_errors, show_no_findings
from pages._ui.configure.first_draft import list_flavors
from pages._ui.configure.launch import choose_profile
from pages._ui.series.matrix import row_title
from pages._ui.series.trials import objective_text, sampler_text
from pages._ui.shell import navigation, numbers, url
from pages._ui.shell.core import actor, core, right_to
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import escape_markdown, show_error
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

EXAMPLE = "batch_size=16,32; learning_rate=0.1,0.2"
UNTIL = "half-width<1%"
SEARCH_EXAMPLE = "batch_size=16..256 log; learning_rate=0.01..1 log"

REPEATS, PARALLEL = (range_of(SeriesPlan.model_fields[name], is_whole=True) for name in ("repeats", "parallel"))
TRIALS, SEED = (range_of(ParameterSearch.model_fields[name], is_whole=True) for name in ("trials", "seed"))
RUN_HOURS, NODE_HOURS = (range_of(SeriesPlan.model_fields[name]) for name in ("hours_per_run", "budget"))

LAUNCH = Dialog("series-launch")  # about a token: a token launches once, however often the button is pressed


def show_series_form() -> None:
    """The form on the left, the estimate on the right; the URL has everything that is typed."""
    navigation.link_page(navigation.SERIES, t("series.all"), {})
    left, right = st.columns([1, 1], gap="large")
    with left:
        st.header(t("series.new"))
        profile = choose_profile()
        spec = _read_base(profile) if profile else None
    if spec is None:
        return
    with left:
        answers = _read_answers(spec)
    with right:
        if answers is None:
            st.markdown(t("configure.blocked"))
            return
        try:
            require_open_files(spec, actor(), core().runs.open_folders)  # as launching does; checks read the files
            draft = core().series.plan(spec, answers, profile)
        except AisbenchError as error:
            show_error(error)
            return
        _show_draft(spec, draft, profile)


def link_to_form(profile: str) -> None:
    """From a draft on New run to the form, and the expected hours with it."""
    hours = {"run_hours": st.query_params["hours"]} if "hours" in st.query_params else {}
    selection = {"new": "1", "draft": drafts.draft_name(), "profile": profile, **hours}
    navigation.link_page(navigation.SERIES, t("series.as_series"), selection)


def _read_base(profile: str) -> RunSpec | None:
    """What every run is made of: the draft that the URL names; None, with an error, where it is no valid spec."""
    draft = drafts.read_draft()
    selection = {"draft": drafts.draft_name(), "profile": profile}
    if draft.spec is None:
        if draft.problem:
            show_error(draft.problem)
        navigation.link_page(navigation.CONFIGURE, t("series.fix_draft"), selection)
        return None
    spec = draft.spec
    facts = (spec.workload, spec.framework_version, spec.flavor or spec.pool_id, spec.name)
    st.markdown(t("series.base", facts=escape_markdown(" · ".join(part for part in facts if part))))
    navigation.link_page(navigation.CONFIGURE, t("series.change_draft"), selection)
    return spec


def _read_answers(spec: RunSpec) -> Mapping[str, Any] | None:
    """What is typed, by name; None while a number is refused, which is said below its field."""
    versions = list(core().workloads.get(spec.workload).versions)
    chosen: list[str] = []
    left, right = st.columns(2)
    with left:
        hint = t("series.counts_help")
        counts = url.input_text("counts", t("series.counts"), placeholder=str(spec.node_count), help=hint)
        hint = t("series.parallel_help")
        parallel = url.input_number("parallel", t("series.parallel"), 1, PARALLEL, help_text=hint)
        hint = t("series.hours_help")
        hours = url.input_number("run_hours", t("series.hours_per_run"), 1.0, RUN_HOURS, help_text=hint)
    with right:
        searches = bool(st.query_params.get("space", "").strip())  # its field is below
        how = _choose_trials() if searches else _choose_repeats()
        until = (
            ""
            if searches
            else url.input_text("until", t("series.until"), placeholder=UNTIL, help=t("series.until_help"))
        )
        unset, hint = t("series.no_budget"), t("series.budget_help")
        budget = url.input_number("budget", t("series.budget"), None, NODE_HOURS, placeholder=unset, help_text=hint)
        name = url.input_text("title", t("series.name"), help=t("series.name_help"))
    if len(versions) > 1:
        unset, hint = spec.framework_version or versions[-1], t("series.versions_help")
        chosen = url.choose_options("versions", t("series.versions"), versions, placeholder=unset, help=hint)
    answers: Mapping[str, Any] = {
        "node_counts": counts or None,
        "parallel": parallel,
        "hours_per_run": hours,
        "budget": budget,
        "name": name,
        "versions": chosen,
        "values": url.input_text(
            "values", t("series.values_of"), placeholder=EXAMPLE, help=_format_help(spec, "series.values_help")
        ),
        "search": url.input_text(
            "space", t("series.search"), placeholder=SEARCH_EXAMPLE, help=_format_help(spec, "series.search_help")
        ),
        **(_search_answers() if searches else {}),
        "images": url.input_text("images", t("series.images"), help=t("series.images_help")),
        "until": until or None,
        **how,
    }
    entries = {key: answer for key, answer in answers.items() if isinstance(answer, numbers.NumberEntry)}
    if any(entry.problem for entry in entries.values()):
        return None
    return {**answers, **{key: entry.value for key, entry in entries.items()}}


def _choose_repeats() -> Mapping[str, Any]:
    hint, until = t("series.repeats_help"), st.query_params.get("until", "").strip()  # its field is below
    label, usual = (t("series.most_repeats"), most_repeats(until)) if until else (t("series.repeats"), 3)
    return {"repeats": url.input_number("repeats", label, usual, REPEATS, help_text=hint)}


def _choose_trials() -> Mapping[str, Any]:
    hint = t("series.trials_help")
    return {"trials": url.input_number("trials", t("series.trials"), 12, TRIALS, help_text=hint)}


def _search_answers() -> Mapping[str, Any]:
    left, right = st.columns(2)
    with left:
        hint = t("series.objective_help")
        objective = url.choose_option(
            st.selectbox, "objective", t("series.objective"), list(Objective), objective_text, help=hint
        )
        seed = url.input_number("seed", t("series.seed"), 0, SEED, help_text=t("series.seed_help"))
    with right:
        hint = t("series.sampler_help")
        sampler = url.choose_option(
            st.selectbox, "sampler", t("series.sampler"), list(Sampler), sampler_text, help=hint
        )
    early = url.input_switch("early", t("series.early_stop"), help=t("series.early_stop_help"))
    return {"objective": objective, "sampler": sampler, "seed": seed, "early_stop": early}


def _format_help(spec: RunSpec, key: str) -> str:
    names = core().workloads.get(spec.workload).edition(spec.framework_version).parameters
    return t(key, names=escape_markdown(", ".join(names) or MISSING))


def _show_draft(spec: RunSpec, draft: SeriesDraft, profile: str) -> None:
    st.header(t("series.estimate"))
    st.markdown(_estimate_text(draft))
    budget = draft.plan.budget
    if budget is not None and draft.estimate.node_hours > budget:
        st.warning(t("series.too_small", budget=format_number(budget)), icon=":material/pause_circle:")
    rows = [_draft_row(draft, row) for row in draft.checked]
    title = t("series.limits" if draft.plan.search else "series.rows")
    show_table(rows, _list_draft_titles(draft), title)
    if draft.plan.search:
        st.caption(t("series.limits_about"))
    st.header(t("findings.title"))
    unchecked = list_flavors(profile)[1]
    if unchecked or not draft.findings:
        show_no_findings(unchecked)
    _show_findings(draft.findings)
    if draft.errors:
        st.markdown(t("configure.blocked"))
        return
    cells, icon = draft.estimate.cells, ":material/rocket_launch:"
    label = (
        t("series.launch_one")
        if cells == 1
        else t("series.launch_most" if draft.plan.until else "series.launch", cells=cells)
    )
    right = right_to("SeriesService.launch")
    if not right.is_given:
        st.caption(right.help_text or "")
    elif st.button(label, key="series-launch-button", type="primary", icon=icon, width="stretch"):
        LAUNCH.open(secrets.token_hex(8))
    LAUNCH.show(t("series.launch_title"), _confirm_launch, spec, draft, profile)


def _draft_row(draft: SeriesDraft, row: SeriesRow) -> dict[str, Any]:
    runs, hours = draft.plan.repeats, draft.plan.hours_per_run
    return {
        "cards": nodes_and_cards(row.node_count, row.spec.cards_per_node),
        "runs": runs,
        "node_hours": format_number(row.node_count * runs * hours),
        "values": row.parameters_text,
        "version": row.spec.framework_version,
        "image": row.spec.image_url or row.spec.engine_version,
    }


def _list_draft_titles(draft: SeriesDraft) -> dict[str, str]:
    """Of a search, which spends its budget as it finds fit, only the limits of its space."""
    cards = {"cards": t("series.cards")}
    effort = {"runs": t("series.runs"), "node_hours": t("series.node_hours")}
    values = {"values": t("series.values_of")} if any(row.parameters for row in draft.checked) else {}
    software = {"version": t("series.version"), "image": t("series.image")}
    return {**values, **cards, **software} if draft.plan.search else {**cards, **effort, **values, **software}


def _estimate_text(draft: SeriesDraft) -> str:
    """Runs, node hours, hours on the clock, and the cost where the profile has a price."""
    estimate = draft.estimate
    cost = "" if estimate.cost is None else t("series.cost", cost=format_money(estimate.cost, estimate.currency))
    hours = {"node_hours": format_number(estimate.node_hours), "wall": format_number(estimate.wall_hours)}
    key = "series.estimated_most" if draft.plan.until else "series.estimated"
    return t(key, cells=estimate.cells, parallel=draft.plan.parallel, cost=cost, **hours)


def _show_findings(findings: Sequence[RowFinding]) -> None:
    for row_finding in findings:
        rows = (
            t("series.every_row")
            if row_finding.everywhere
            else escape_markdown(", ".join(map(row_title, row_finding.rows)))
        )
        st.markdown(
            f"**{rows}** · {escape_markdown(t.field(row_finding.finding.field))} {finding_text(row_finding.finding)}"
        )


def _confirm_launch(spec: RunSpec, draft: SeriesDraft, profile: str) -> None:
    token, region = LAUNCH.subject, core().regions.profile(profile).region
    st.markdown(t("series.where", profile=escape_markdown(profile), region=escape_markdown(region)))
    st.markdown(_estimate_text(draft))
    budget = draft.plan.budget
    st.markdown(t("series.unlimited") if budget is None else t("series.limited", budget=format_number(budget)))
    plan = repr(draft.plan)
    shown = confirmation.compute_digest(spec, profile, plan)
    confirmation.show_change(token, shown)
    findings = confirmation.ask_region(f"{token}-{shown}", lambda: core().series.online(draft, profile))
    _show_findings(findings)
    blocked = has_errors([row_finding.finding for row_finding in findings])
    if not blocked and confirmation.show_confirm_button("series-launch-yes", spec, profile, shown, plan):
        # A second press brings the same token, and with it the same series.
        series = core().series.launch(draft.plan, profile, actor(), token)
        LAUNCH.close()
        navigation.open_page(navigation.SERIES, {"series": series.series_id})
    if st.button(t("launch.cancel"), key="series-launch-no", width="stretch"):
        LAUNCH.leave()

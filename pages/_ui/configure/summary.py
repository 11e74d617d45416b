"""What would be launched, where, and at what cost; what is wrong with it; and the launch. It stays in the window."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from aisbench_core.base.formats import nodes_and_cards
from aisbench_core.domain.authoring.specfile import find_line
from aisbench_core.model import Finding, Level
from pages._ui.configure import drafts, jump, launch
from pages._ui.configure.fields import Form
from pages._ui.configure.findings import count_findings, has_errors, show_each, show_no_findings
from pages._ui.expected import show_expected_of_plan
from pages._ui.shell.core import core, is_allowed
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.words import t

# On a phone, where the summary stands below the form, its button stays at the foot of the window.
STYLE = """<style>
    .st-key-summary p { font-size: .9rem; }
    @media (min-width: 641px) {
        [data-testid="stColumn"]:has(> * > * > .st-key-summary) { position: sticky; top: 1rem; align-self: flex-start;
            max-height: calc(100vh - 2rem); overflow-y: auto; }
    }
    @media (max-width: 640px) {
        [data-testid="stMainBlockContainer"]:has(.st-key-launch-bar) { padding-bottom: 8rem; }
        .st-key-launch-bar { position: fixed; inset: auto 0 0 0; z-index: 100; padding: .5rem 16px;
            background: light-dark(#fff, #0f131a); border-top: 1px solid #8884; }
    }
</style>"""


def show_summary(
    form: Form | None, text: str, profile: str, findings: Sequence[Finding], link_to_series: Callable[[str], None]
) -> None:
    """Of the draft; `form` is None where it is no valid spec, and then the findings say why.

    `text`: what the YAML view shows; empty where the form is shown, which has no lines."""
    st.html(STYLE)
    with st.container(key="summary", gap="small"):
        if form:
            st.markdown(_describe_run(form))
            if profile:
                launch.show_cost(form, profile)
                show_expected_of_plan(core().expectations.find_of_spec(form.spec, profile))
        _show_verdict(form, findings)
        with st.container(key="launch-bar", gap="xsmall"):
            launch.show_launch(form, profile, _find_obstacle(form, profile))
        if form and profile and is_allowed("SeriesService.launch"):
            link_to_series(profile)
        show_each(findings, drafts.fix, jump.jump_to, partial(find_line, text))


def mark_lines(draft: drafts.SpecDraft, findings: Sequence[Finding]) -> dict[int, Level]:
    """The lines of the YAML view in which something is wrong, and how much it matters."""
    marked: dict[int, Level] = {}
    for finding in findings:
        line = find_line(draft.text, finding.field)
        if line and finding.level is not Level.INFO and marked.get(line) is not Level.ERROR:
            marked[line] = finding.level
    return marked


def _describe_run(form: Form) -> str:
    title = t.pick(form.workload.title, form.workload.title_zh)
    size = nodes_and_cards(form.spec.node_count, form.spec.cards_per_node)
    return f"**{escape_markdown(title)}** · {escape_markdown(form.edition.version)} · {size}"


def _show_verdict(form: Form | None, findings: Sequence[Finding]) -> None:
    if counts := count_findings(findings):
        st.markdown(counts)
    if form and (form.flavors_missing or not counts):
        show_no_findings(form.flavors_missing)


def _find_obstacle(form: Form | None, profile: str) -> str:
    """Why nothing can be launched now, if so; what the region said last does not count, as it is asked again."""
    if form is None:
        return t("configure.blocked_invalid")
    if not profile:
        return t("configure.blocked_profile")
    if has_errors(form.findings):
        return t("configure.blocked")
    return t("configure.blocked_hours") if launch.has_invalid_hours(form, profile) else ""

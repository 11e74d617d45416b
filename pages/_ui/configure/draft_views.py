"""The two views of a draft: form and YAML."""

from functools import partial

import streamlit as st

from aisbench_core.authoring.specfile import comments_of
from aisbench_core.errors import AisbenchError
from aisbench_core.model import RunSpec
from pages._ui.configure import drafts, form_sections
from pages._ui.configure.fields import PROBLEM, Form
from pages._ui.configure.first_draft import known_flavors
from pages._ui.configure.software import show_software
from pages._ui.shell import widgets
from pages._ui.shell.core import core
from pages._ui.shell.errors import show_error
from pages._ui.shell.words import words


def read_form(draft: drafts.SpecDraft, profile: str) -> Form | None:
    """What the form needs; None, with the reason on the page, when the draft means no spec that a form can show."""
    problem = draft.problem
    try:
        form = _form(draft, draft.spec, profile) if draft.spec else None
    except AisbenchError as error:
        form, problem = None, error
    if problem:
        _show_problem(problem)
    return form


def _show_problem(problem: AisbenchError) -> None:
    t = words()
    show_error(problem)
    st.info(t("configure.mend"), icon=":material/edit:")
    st.button(t("configure.discard"), key="discard", icon=":material/restart_alt:", on_click=drafts.discard_draft)


def _form(draft: drafts.SpecDraft, spec: RunSpec, profile: str) -> Form:
    workload = core().workloads.get(spec.workload)
    flavors, reason = known_flavors(profile) if profile else ((), "")
    return Form(
        spec=spec,
        filled=core().filled(spec),
        workload=workload,
        edition=workload.edition(spec.framework_version),
        findings=core().preflight(spec, profile) if profile else (),
        flavors=flavors,
        flavors_missing=reason,
        own_flavor=core().regions.profile(profile).flavor if profile else "",
        comments=comments_of(draft.text),
    )


def show_draft_form(form: Form) -> None:
    """The draft as a form."""
    t = words()
    refused = st.session_state.pop(PROBLEM, None)
    if refused:
        show_error(refused)
    form_sections.show_workload(form)
    st.header(t("configure.size"))
    form_sections.show_size(form)
    st.header(t("configure.inputs"))
    form_sections.show_inputs(form)
    st.header(t("configure.parameters"))
    form_sections.show_parameters(form)
    with st.expander(t("software.title")):
        show_software(form)
    with st.expander(t("configure.more")):
        form_sections.show_more(form)


def show_yaml(draft: drafts.SpecDraft) -> None:
    """The draft as YAML; what is typed here shows in the form, and the other way round."""
    t = words()
    store = partial(drafts.store_text, key=drafts.draft_key())
    st.text_area(
        t("configure.yaml"), height=480, help=t("configure.yaml_help"), **widgets.field("spec.yaml", draft.text, store)
    )

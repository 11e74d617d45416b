"""The two views of a draft, form and YAML, and where a draft comes from."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from aisbench_core.authoring.workloads import Workload
from aisbench_core.errors import AisbenchError, ConfigError
from aisbench_core.model import Flavor, RunSpec
from pages._ui import drafts, forms
from pages._ui.core import core
from pages._ui.errors import plain, show_error
from pages._ui.fields import PROBLEM, Form
from pages._ui.words import words

ASK_AGAIN = 30
"""Seconds until a region that could not be asked for its flavors is asked again."""


def start_draft(profile: str) -> None:
    """Make sure that there is a draft; a new one is the first workload, on all cards of the profile's own flavor."""
    if core().ledger.draft(drafts.draft_key()) is None:
        drafts.store(RunSpec(workload=first_workload(core().workloads.all()), **_own_flavor(profile)))


def first_workload(known: Sequence[Workload]) -> str:
    """The workload of a new draft: one that can be launched as it is, if there is any.

    Raises ConfigError if there is no workload at all."""
    complete = [
        each.name for each in known if each.ships_code and each.dataset.optional and not each.dataset.synthetic_without
    ]
    names = [*complete, *(each.name for each in known)]
    if not names:
        raise ConfigError("there is no workload", "put a folder with a workload.yaml into workloads/")
    return names[0]


def read_form(draft: drafts.Draft, profile: str) -> Form | None:
    """What the form needs; None, with the reason on the page, when the draft means no spec that a form can show."""
    if draft.problem:
        show_error(draft.problem)
        st.info(words()("configure.mend"), icon=":material/edit:")
        st.button(words()("configure.discard"), key="discard", icon=":material/restart_alt:", on_click=drafts.discard)
    if draft.spec is None:
        return None
    try:
        workload = core().workloads.get(draft.spec.workload)
        filled = core().filled(draft.spec)
        edition = workload.edition(draft.spec.framework_version)
        findings = core().preflight(draft.spec, profile) if profile else []
    except AisbenchError as error:
        show_error(error)
        return None
    return Form(draft.spec, filled, workload, edition, findings)


def show_form(form: Form, profile: str) -> None:
    """The draft as a form."""
    t = words()
    refused = st.session_state.pop(PROBLEM, None)
    if refused:
        show_error(refused)
    forms.show_workload(form)
    st.header(t("configure.size"))
    flavors, first = _flavors(profile)
    forms.show_size(form, flavors, first)
    st.header(t("configure.inputs"))
    forms.show_inputs(form)
    st.header(t("configure.parameters"))
    forms.show_parameters(form)
    with st.expander(t("configure.more")):
        forms.show_more(form)


def show_yaml(draft: drafts.Draft) -> None:
    """The draft as YAML; what is typed here shows in the form, and the other way round."""
    t = words()
    if st.session_state.get("spec.yaml") != draft.text:
        st.session_state["spec.yaml"] = draft.text
    st.text_area(t("configure.yaml"), key="spec.yaml", height=480, help=t("configure.yaml_help"), on_change=_typed)


def _typed() -> None:
    drafts.store_text(st.session_state["spec.yaml"])


def _own_flavor(profile: str) -> dict[str, Any]:
    flavors, own = _flavors(profile)
    cards = [each.cards for each in flavors if each.flavor_id == own]
    return {"flavor": own, "cards_per_node": cards[0]} if cards else {"flavor": own}


def _flavors(profile: str) -> tuple[Sequence[Flavor], str]:
    """The region's flavors and the profile's own; none while they cannot be listed, which is said."""
    if not profile:
        return (), ""
    flavors, reason = _asked_flavors(profile)
    if reason:
        st.caption(words()("configure.no_flavors", reason=plain(reason)))
    return flavors, core().profile(profile).flavor


@st.cache_data(ttl=ASK_AGAIN, show_spinner=False)
def _asked_flavors(profile: str) -> tuple[tuple[Flavor, ...], str]:
    """The flavors, or why there are none. Kept for a while, so that typing does not wait for a region that is down."""
    try:
        return tuple(core().flavors(profile)), ""
    except AisbenchError as error:
        return (), error.message

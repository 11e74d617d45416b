"""From a draft to a run: where to run it, what it costs, and the question before anything is sent."""

import secrets
from pathlib import Path

import streamlit as st

from aisbench_core.authoring.code_folder import measure
from aisbench_core.authoring.specfile import to_yaml
from aisbench_core.errors import CloudError
from aisbench_core.model import Level, RunSpec
from pages._ui import address, places
from pages._ui.core import WHO, core
from pages._ui.errors import errors_shown, plain
from pages._ui.fields import Form
from pages._ui.findings import show_all
from pages._ui.formats import money, number, size
from pages._ui.words import words

QUESTION = "launch-question"
"""Where the open question keeps its token: a token launches once, however often the button is pressed."""


def choose_profile() -> str:
    """The profile to run with; empty, with what to do about it on the page, when there is none."""
    t = words()
    names = core().profile_names()
    if not names:
        st.warning(t("configure.no_profile"), icon=":material/warning:")
        return ""
    own = core().settings.profile
    first = own if own in names else names[0]
    key = address.option("profile", names, first)
    name = st.selectbox(t("configure.profile"), names, key=key, on_change=address.keep, args=(key, first))
    profile = core().profile(name)
    st.caption(t("configure.profile_facts", region=plain(profile.region), bucket=plain(profile.bucket)))
    if profile.rehearsal:
        st.caption(t("configure.rehearsal"))
    return str(name)


def show_cost(spec: RunSpec, profile: str) -> None:
    """What the run costs by the profile's own price, for as many hours as the person expects."""
    t = words()
    key = address.number("hours", 1.0)
    label = t("configure.hours")
    hours = st.number_input(
        label, min_value=0.0, step=0.5, format="%g", key=key, on_change=address.keep, args=(key, 1.0)
    )
    st.markdown(cost_text(spec, profile, hours))


def cost_text(spec: RunSpec, profile: str, hours: float) -> str:
    """The estimate with how it comes about, or that the profile has no price."""
    t = words()
    cost = core().estimate(spec, profile, hours)
    if cost is None:
        return t("configure.no_price", flavor=plain(spec.flavor or core().profile(profile).flavor))
    return t(
        "configure.cost",
        total=money(cost.total, cost.currency),
        price=money(cost.price_per_node_hour, cost.currency),
        nodes=spec.node_count,
        hours=number(hours),
    )


def show_launch(form: Form, profile: str) -> None:
    """The launch button, and the question that it raises."""
    t = words()
    blocked = any(finding.level is Level.ERROR for finding in form.findings)
    if blocked:
        st.markdown(t("configure.blocked"))
    elif st.button(
        t("configure.launch"), key="launch", type="primary", icon=":material/rocket_launch:", width="stretch"
    ):
        st.session_state[QUESTION] = secrets.token_hex(8)
    if st.session_state.get(QUESTION) and not blocked:
        st.dialog(t("launch.title"), width="large", on_dismiss=_forget)(_question)(form.spec, profile)


def _question(spec: RunSpec, profile_name: str) -> None:
    t = words()
    with errors_shown():
        profile = core().profile(profile_name)
        filled = core().filled(spec)
        st.markdown(
            t(
                "launch.where",
                profile=plain(profile.name),
                region=plain(profile.region),
                nodes=filled.node_count,
                cards=filled.cards_per_node,
                total=filled.card_count,
            )
        )
        st.markdown(_upload_text(filled))
        st.markdown(cost_text(filled, profile_name, float(st.session_state.get("hours", 1.0))))
        st.markdown(t("launch.spec"))
        st.code(to_yaml(filled), language="yaml", height=280)
        _show_online(spec, profile_name)
        _show_answers(spec, profile_name)


def _upload_text(filled: RunSpec) -> str:
    t = words()
    if not filled.code_dir:
        return t("launch.no_upload")
    code = measure(Path(filled.code_dir).expanduser())
    return t("launch.upload", files=code.entries, size=size(code.size))


def _show_online(spec: RunSpec, profile: str) -> None:
    """What the region says before anything is sent. A region that does not answer now does not forbid a launch."""
    t = words()
    try:
        with st.spinner(t("launch.checking")):
            findings = core().preflight_online(spec, profile)
    except CloudError as error:
        st.warning(t("launch.unreachable", reason=plain(error.message)), icon=":material/warning:")
        return
    if findings:
        show_all(findings)


def _show_answers(spec: RunSpec, profile: str) -> None:
    t = words()
    yes, no = st.columns(2)
    if yes.button(
        t("launch.confirm"), key="launch-yes", type="primary", icon=":material/rocket_launch:", width="stretch"
    ):
        run = core().launch(spec, profile, WHO, st.session_state.get(QUESTION, ""))
        _forget()
        places.go(places.LIVE, {"run": run.run_id})
    if no.button(t("launch.cancel"), key="launch-no", width="stretch"):
        _forget()
        st.rerun()


def _forget() -> None:
    st.session_state.pop(QUESTION, None)

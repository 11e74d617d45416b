"""From a draft to a run: where to run it, what it costs, and the question before anything is sent."""

import secrets
from collections.abc import Sequence

import streamlit as st

from aisbench_core.authoring.rules import Subject, subject_of
from aisbench_core.authoring.specfile import to_yaml
from aisbench_core.errors import CloudUnavailable
from aisbench_core.formats import money, number, size
from aisbench_core.model import Finding, RunSpec
from pages._ui.configure import confirmation
from pages._ui.configure.fields import Form
from pages._ui.shell import address, navigation
from pages._ui.shell.core import WHO, core
from pages._ui.shell.errors import errors_shown, plain
from pages._ui.shell.findings import has_errors, show_all
from pages._ui.shell.words import words

MOST_HOURS = 87_600.0
"""Ten years: how far an estimate goes."""

QUESTION = "launch-question"
"""Where the open question keeps its token: a token launches once, however often the button is pressed."""

ANSWER = "launch-online"
"""Where the region's answer to the open question is kept, with the question's token."""


def choose_profile() -> str:
    """The profile to run with; empty, with what to do about it on the page, when there is none."""
    t = words()
    names = core().regions.names()
    if not names:
        st.warning(t("configure.no_profile"), icon=":material/warning:")
        return ""
    own = core().settings.profile
    first = own if own in names else names[0]
    name = st.selectbox(t("configure.profile"), **address.option("profile", names, first))
    profile = core().regions.profile(name)
    st.caption(t("configure.profile_facts", region=plain(profile.region), bucket=plain(profile.bucket)))
    if profile.rehearsal:
        st.caption(t("configure.rehearsal"))
    return str(name)


def show_cost(spec: RunSpec, profile: str) -> None:
    """What the run costs by the profile's own price, for as many hours as the person expects."""
    t = words()
    hours = st.number_input(
        t("configure.hours"),
        min_value=0.0,
        max_value=MOST_HOURS,
        step=0.5,
        format="%g",
        **address.number_input("hours", 1.0, MOST_HOURS),
    )
    st.markdown(cost_text(spec, profile, hours))


def cost_text(spec: RunSpec, profile: str, hours: float) -> str:
    """The estimate with how it comes about, or that the profile has no price."""
    t = words()
    cost = core().estimate(spec, profile, hours)
    if cost is None:
        return t("configure.no_price", flavor=plain(spec.flavor or core().regions.profile(profile).flavor))
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
    blocked = has_errors(form.findings)
    if blocked:
        st.markdown(t("configure.blocked"))
    elif st.button(
        t("configure.launch"), key="launch", type="primary", icon=":material/rocket_launch:", width="stretch"
    ):
        st.session_state[QUESTION] = secrets.token_hex(8)
    token = st.session_state.get(QUESTION)
    if token and not blocked:
        st.dialog(t("launch.title"), width="medium", on_dismiss=_forget)(_question)(form.spec, profile, token)


def _question(spec: RunSpec, profile_name: str, token: str) -> None:
    t = words()
    with errors_shown():
        profile = core().regions.profile(profile_name)
        subject = subject_of(spec, profile, core().workloads)
        filled = subject.spec
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
        st.markdown(_upload_text(subject))
        st.markdown(cost_text(filled, profile_name, address.number_in_url("hours", 1.0, MOST_HOURS)))
        shown = confirmation.digest(spec, profile_name)
        confirmation.show_change(token, shown)
        findings = ask_region(spec, profile_name, f"{token}-{shown}")
        if findings:
            show_all(findings)
        if not has_errors(findings) and confirmation.confirmed("launch-yes", spec, profile_name, shown):
            _launch(spec, profile_name, token)
        if st.button(t("launch.cancel"), key="launch-no", width="stretch"):
            _forget()
            st.rerun()
        st.markdown(t("launch.spec"))
        st.code(to_yaml(filled), language="yaml")


def _upload_text(subject: Subject) -> str:
    t = words()
    if not subject.spec.code_dir:
        return t("launch.no_upload")
    return t("launch.upload", files=subject.code.entries, size=size(subject.code.size))


def ask_region(spec: RunSpec, profile: str, token: str) -> Sequence[Finding]:
    """What the region says before anything is sent, asked once per question.

    A region that does not answer now does not forbid a launch: the follower tries again."""
    t = words()
    asked, findings = st.session_state.get(ANSWER, ("", ()))
    if asked == token:
        return tuple(findings)
    try:
        with st.spinner(t("launch.checking")):
            findings = tuple(core().preflight_online(spec, profile))
    except CloudUnavailable as error:
        st.warning(t("launch.unreachable", reason=plain(t.said(error.message))), icon=":material/warning:")
        return ()
    st.session_state[ANSWER] = (token, findings)
    return findings


def _launch(spec: RunSpec, profile: str, token: str) -> None:
    """Launch, and lead to the run. The button's second press finds the same token, and with it the same run."""
    run = core().launch(spec, profile, WHO, token)
    _forget()
    navigation.go(navigation.LIVE, {"run": run.run_id})


def _forget() -> None:
    st.session_state.pop(QUESTION, None)
    st.session_state.pop(ANSWER, None)

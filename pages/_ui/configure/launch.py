"""From a draft to a run: where to run it, what it costs, and the dialog before anything is sent."""

import secrets
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import streamlit as st

from aisbench_core.base.formats import format_money, format_number, format_size
from aisbench_core.domain.authoring.number_ranges import NumberRange
from aisbench_core.domain.authoring.specfile import to_yaml
from aisbench_core.domain.preflight.rule import subject_of
from aisbench_core.model import Finding, RunSpec
from pages._ui.configure import confirmation, drafts
from pages._ui.configure.fields import Form
from pages._ui.configure.findings import has_errors, show_all
from pages._ui.shell import navigation, url
from pages._ui.shell.core import actor, core, profile_in_url, right_to
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.numbers import describe_field
from pages._ui.shell.words import t

HOURS = NumberRange(0, 87_600)  # up to ten years: how far an estimate goes

# Streamlit writes the keys of a primary button too faintly: 3.3 : 1 where people need 4.5 : 1 to read them.
READABLE_KEYS = "<style>.st-key-launch kbd { color: inherit !important; opacity: 1 !important; }</style>"

# About a token: a token launches once, however often the button is pressed.
LAUNCH = Dialog("launch-question", "medium")


def choose_profile(resets: Collection[str] = ()) -> str:
    """The profile to run with; where there is none, an empty text and a hint.

    `resets`: parameters of the URL that do not fit another profile."""
    names = core().regions.names()
    if not names:
        st.warning(t("configure.no_profile"), icon=":material/warning:")
        return ""
    own = core().settings.profile
    default = own if own in names else None
    shown = core().regions.profile(profile_in_url())
    with describe_field("profile", t("configure.profile_facts", region=shown.region, bucket=shown.bucket)):
        name = url.choose_option(st.selectbox, "profile", t("configure.profile"), names, default=default, resets=resets)
    if shown.rehearsal:
        st.caption(t("configure.rehearsal"))
    return name


def show_cost(form: Form, profile: str) -> None:
    """What the run costs by the profile's price, for as many hours as the person expects; not of invalid numbers."""
    hours = 1.0
    if _has_price(form, profile):
        entry = url.input_number("hours", t("configure.hours"), hours, HOURS)
        if form.refused or entry.problem:
            return
        hours = entry.value
    st.markdown(_cost_text(form.filled, profile, hours))
    _show_hold(form.filled, profile)


def has_invalid_hours(form: Form, profile: str) -> bool:
    """Whether the cost cannot be told because of what is typed for the hours."""
    return _has_price(form, profile) and bool(url.read_number("hours", 1.0, HOURS).problem)


def _has_price(form: Form, profile: str) -> bool:
    return core().preflight.estimate(form.filled, profile, 1.0) is not None


def _show_hold(spec: RunSpec, profile: str) -> None:
    """That the launch would wait for somebody's approval, and why; the budget counts the time limit."""
    reason = core().runs.why_held(spec, profile, actor().name)
    if reason:
        st.warning(
            t("configure.would_wait", reason=escape_markdown(t.message(reason))), icon=":material/hourglass_top:"
        )


def _cost_text(spec: RunSpec, profile: str, hours: float) -> str:
    cost = core().preflight.estimate(spec, profile, hours)
    if cost is None:
        chosen = core().regions.profile(profile)
        key = "configure.free" if chosen.rehearsal else "configure.no_price"
        return t(key, flavor=escape_markdown(spec.flavor or chosen.flavor))
    total, price = format_money(cost.total, cost.currency), format_money(cost.price_per_node_hour, cost.currency)
    return t("configure.cost", total=total, price=price, nodes=spec.node_count, hours=format_number(hours))


def found_in_region(spec: RunSpec, profile: str) -> tuple[Finding, ...]:
    """What the region found wrong with this draft when the launch dialog asked it last."""
    return confirmation.found_before(_build_subject(spec, profile))


def _build_subject(spec: RunSpec, profile: str) -> str:
    return f"{profile}\0{to_yaml(spec)}"


def show_launch(form: Form | None, profile: str, blocked: str) -> None:
    """The launch button and the dialog that it opens; `blocked`: why nothing can be launched now."""
    right = right_to("Runs.launch")
    if right.is_given:
        _show_button(is_blocked=bool(blocked))
    reason = blocked or right.help_text
    if reason:
        st.caption(reason)
    if form and not blocked:
        hours = url.read_number("hours", 1.0, HOURS).value
        LAUNCH.show(t("launch.title"), _confirm_launch, form.spec, profile, hours)


def _show_button(*, is_blocked: bool) -> None:
    st.html(READABLE_KEYS)
    icon, keys = ":material/rocket_launch:", "Mod+Shift+Enter"
    arguments: Mapping[str, Any] = {"type": "primary", "icon": icon, "width": "stretch", "shortcut": keys}
    if st.button(t("configure.launch"), key="launch", disabled=is_blocked, **arguments):
        LAUNCH.open(secrets.token_hex(8))


def _confirm_launch(spec: RunSpec, profile_name: str, hours: float) -> None:
    token, profile = LAUNCH.subject, core().regions.profile(profile_name)
    subject = subject_of(spec, profile, core().workloads)
    filled = subject.spec
    where = t(
        "launch.where",
        profile=escape_markdown(profile.name),
        region=escape_markdown(profile.region),
        nodes=filled.node_count,
        cards=filled.cards_per_node,
        total=filled.card_count,
    )
    st.markdown(where)
    if filled.code_dir:
        st.markdown(t("launch.upload", files=subject.code.entries, size=format_size(subject.code.size)))
    else:
        st.markdown(t("launch.no_upload"))
    st.markdown(_cost_text(filled, profile_name, hours))
    _show_hold(filled, profile_name)
    shown = confirmation.compute_digest(spec, profile_name)
    confirmation.show_change(token, shown)
    check = partial(core().preflight.online, spec, profile_name)
    findings = confirmation.ask_region(f"{token}-{shown}", check, _build_subject(spec, profile_name))
    known = findings or found_in_region(spec, profile_name)
    if known:
        show_all(known)
    if not has_errors(findings) and confirmation.show_confirm_button("launch-yes", spec, profile_name, shown):
        # A second press brings the same token, and with it the same run.
        run = core().runs.launch(spec, profile_name, actor(), token, clone_of=drafts.original_id())
        LAUNCH.close()
        navigation.open_page(navigation.LIVE, {"run": run.run_id})
    if st.button(t("launch.cancel"), key="launch-no", width="stretch"):
        LAUNCH.leave()
    st.markdown(t("launch.spec"))
    st.code(to_yaml(filled), language="yaml")

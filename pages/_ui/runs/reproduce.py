"""Run again: what is the same as when a run was made, the launch, and how the new result compares."""

import secrets

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.formats import MISSING, format_number
from aisbench_core.base.messages import Message
from aisbench_core.domain.access.server_files import closed_files
from aisbench_core.running.reproducing.values import Repeated, ReproductionCheck, Sameness
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.configure.confirmation import ask_region
from pages._ui.configure.findings import has_errors, show_all
from pages._ui.shell import navigation, widgets
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.core import actor, core, is_allowed, right_to
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import escape_markdown, show_sentence
from pages._ui.shell.spec_fields import field_name
from pages._ui.shell.tables import Width, show_table
from pages._ui.shell.words import t

# About a run's id and a token: a token launches once, however often the button is pressed.
REPRODUCE = Dialog("reproduce-open", "large")

PROFILE = "reproduce-profile"
ORDER = (Sameness.DIFFERENT, Sameness.NOT_KNOWN, Sameness.SAME)
MARKS = {Sameness.SAME: "=", Sameness.DIFFERENT: "≠", Sameness.NOT_KNOWN: "?"}

VISIBLE = 12  # rows that are visible at a time: the launch button below them should be, too


def show_reproduce_button(run_id: str, *, is_primary: bool) -> None:
    if is_allowed("Reproductions.launch"):
        st.button(
            t("reproduce.button"), key="reproduce", type="primary" if is_primary else "secondary",
            icon=":material/replay:", on_click=_open_dialog, args=(run_id,),
        )  # fmt: skip
    if REPRODUCE.subject and REPRODUCE.subject[0] == run_id:
        REPRODUCE.show(t("reproduce.title"), _show_dialog)


def show_original(run_id: str) -> None:
    """A link to the original, for a run that reproduces another."""
    original = core().reproductions.of(run_id)
    if original:
        label = t("reproduce.of", run=escape_markdown(original))
        navigation.link_page(navigation.LIVE, label, {"run": original}, icon=":material/replay:")


def show_result(row: RunRow) -> None:
    """How a reproduction's result compares with the original's."""
    if not row.reproduces:
        return
    result = core().reproductions.result(row.run_id)
    if result is None:
        st.caption(t("reproduce.no_original", run=escape_markdown(row.reproduces)))
        return
    navigation.link_page(navigation.COMPARE, t("reproduce.compare"), {"ids": [row.reproduces, row.run_id]})
    if result.ratio is None:
        reasons = ", ".join(escape_markdown(field_name(name)) for name in result.not_comparable)
        st.warning(t("reproduce.not_comparable", reasons=reasons or MISSING), icon=":material/balance:")
        return
    box = st.warning if result.is_within is False else st.success if result.is_within else st.info
    box(_result_text(result), icon=":material/replay:")


def _result_text(result: Repeated) -> str:
    ratio = t(
        "reproduce.ratio", ratio=format_number(result.ratio, digits=4), run=escape_markdown(result.original.run_id)
    )
    if result.is_within is None:
        return ratio + t("reproduce.too_few", count=result.runs)
    key = "reproduce.within" if result.is_within else "reproduce.outside"
    unit = escape_markdown(result.run.throughput_unit)
    span = t(key, count=result.runs, low=format_number(result.low), high=format_number(result.high), unit=unit)
    return ratio + span + t(f"reproduce.data_{result.dataset.name.lower()}")


def _show_dialog() -> None:
    run_id, token = REPRODUCE.subject
    profiles = ["", *core().regions.names()]
    own = t("reproduce.own_profile")
    choice = widgets.session_choice(PROFILE, profiles, "", lambda name: name or own)
    profile = str(st.selectbox(t("configure.profile"), **choice))
    with st.spinner(t("reproduce.looking")):
        check = core().reproductions.check(run_id, actor(), profile)
    _show_verdict(check)
    _show_aspects(check)
    closed = closed_files(check.spec, actor(), core().runs.open_folders)
    findings = closed or core().preflight.offline(check.spec, check.profile)
    if not has_errors(findings):
        online = ask_region(f"{token}-{check.profile}", lambda: core().preflight.online(check.spec, check.profile))
        findings = [*findings, *online]
    if findings:
        show_all(findings)
    if not has_errors(findings):
        _show_launch(check, token)


def _show_verdict(check: ReproductionCheck) -> None:
    text = t(
        "reproduce.counts",
        same=len(check.list_aspects(Sameness.SAME)),
        different=len(check.list_aspects(Sameness.DIFFERENT)),
        unknown=len(check.list_aspects(Sameness.NOT_KNOWN)),
        profile=escape_markdown(check.profile),
    )
    if check.identical is False:
        st.warning(t("reproduce.differs") + text, icon=":material/difference:")
    else:
        sentence = t("reproduce.identical" if check.identical else "reproduce.as_known")
        st.success(sentence + text, icon=":material/check:")


def _show_aspects(check: ReproductionCheck) -> None:
    rows = [
        {
            "verdict": f"{MARKS[sameness]} {t('reproduce.' + sameness.name.lower())}",
            "field": field_name(aspect.name),
            "then": _value_text(aspect.then),
            "now": _value_text(aspect.now),
            "note": t.message(aspect.note),
        }
        for sameness in ORDER
        for aspect in check.list_aspects(sameness)
    ]
    titles = {
        "verdict": t("reproduce.verdict"),
        "field": t("compare.field"),
        "then": t("reproduce.then"),
        "now": t("clone.now"),
        "note": t("reproduce.note"),
    }
    widths: dict[str, Width] = {"verdict": "small", "then": "medium", "now": "medium", "note": "medium"}
    show_table(rows, titles, t("reproduce.table"), widths=widths, visible=VISIBLE)


def _value_text(value: str) -> str:
    return t.message(value) if isinstance(value, Message) else value or MISSING


def _show_launch(check: ReproductionCheck, token: str) -> None:
    icon, label = ":material/rocket_launch:", t("reproduce.launch")
    right = right_to("Reproductions.launch")
    if st.button(
        label, key="reproduce-yes", type="primary", icon=icon, width="stretch",
        disabled=not right.is_given, help=right.help_text,
    ):  # fmt: skip
        try:
            # A second press brings the same token, and with it the same run.
            run = core().reproductions.launch(check, actor(), token)
        except AisbenchError as error:
            show_sentence(error)
            return
        REPRODUCE.close()
        navigation.open_page(navigation.LIVE, {"run": run.run_id})


@repeat_if_aborted
def _open_dialog(run_id: str) -> None:
    widgets.forget(PROFILE)
    REPRODUCE.open((run_id, secrets.token_hex(8)))

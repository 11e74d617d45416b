"""Reproduce: what is as it was when a run was made, the launch after that was seen, and how the result compares."""

import secrets

import streamlit as st

from aisbench_core.errors import AisbenchError
from aisbench_core.formats import MISSING, number
from aisbench_core.reproducing.values import Aspect, Repeated, ReproductionCheck, Sameness
from aisbench_core.warehouse.values import RunRow
from pages._ui.compare.comparability import field_name
from pages._ui.configure.launch import ask_region
from pages._ui.shell import navigation, widgets
from pages._ui.shell.callbacks import whole
from pages._ui.shell.core import WHO, core
from pages._ui.shell.errors import errors_shown, plain, show_sentence
from pages._ui.shell.findings import has_errors, show_all
from pages._ui.shell.words import Words, words

OPEN, TOKEN = "reproduce-open", "reproduce-token"
PROFILE = "reproduce-profile"
ORDER = (Sameness.DIFFERENT, Sameness.NOT_KNOWN, Sameness.SAME)
MARKS = {Sameness.SAME: "=", Sameness.DIFFERENT: "≠", Sameness.NOT_KNOWN: "?"}
TALL = 12


def show_reproduce_button(run_id: str) -> None:
    """The button that looks at what is the same now; the launch is offered below that."""
    t = words()
    st.button(t("reproduce.button"), key="reproduce", icon=":material/replay:", on_click=_open, args=(run_id,))
    if st.session_state.get(OPEN) == run_id:
        st.dialog(t("reproduce.title"), width="large", on_dismiss=_close)(_dialog)(run_id)


def show_what_it_reproduces(run_id: str) -> None:
    """Of a run that is to give the result of another again: of which."""
    t = words()
    original = core().reproductions.of(run_id)
    if original:
        navigation.link(
            navigation.LIVE, t("reproduce.of", run=plain(original)), {"run": original}, icon=":material/replay:"
        )


def show_result(row: RunRow) -> None:
    """How a reproduction's result compares with the original's."""
    t = words()
    if not row.reproduces:
        return
    found = core().reproductions.result(row.run_id)
    if found is None:
        st.caption(t("reproduce.no_original", run=plain(row.reproduces)))
        return
    navigation.link(navigation.COMPARE, t("reproduce.compare"), {"ids": [row.reproduces, row.run_id]})
    if found.ratio is None:
        why = ", ".join(plain(field_name(name, t)) for name in found.not_comparable)
        st.warning(t("reproduce.not_comparable", reasons=why or MISSING), icon=":material/balance:")
        return
    show = st.warning if found.is_within is False else st.success if found.is_within else st.info
    show(_sentence(found, t), icon=":material/replay:")


def _sentence(found: Repeated, t: Words) -> str:
    unit = plain(found.run.throughput_unit)
    ratio = t("reproduce.ratio", ratio=number(found.ratio, digits=4), run=plain(found.original.run_id))
    if found.is_within is None:
        return ratio + t("reproduce.too_few", count=found.runs)
    key = "reproduce.within" if found.is_within else "reproduce.outside"
    data = t(f"reproduce.data_{found.dataset.name.lower()}")
    return ratio + t(key, count=found.runs, low=number(found.low), high=number(found.high), unit=unit) + data


def _dialog(run_id: str) -> None:
    t = words()
    with errors_shown():
        profile = _choose_profile(t)
        with st.spinner(t("reproduce.looking")):
            check = core().reproductions.check(run_id, profile)
        _verdict(check, t)
        _table(check, t)
        findings = core().preflight(check.spec, check.profile)
        if not has_errors(findings):
            token = f"{st.session_state.get(TOKEN)}-{check.profile}"
            findings = [*findings, *ask_region(check.spec, check.profile, token)]
        if findings:
            show_all(findings)
        if not has_errors(findings):
            _show_launch(check, t)


def _choose_profile(t: Words) -> str:
    names = core().regions.names()
    chosen = st.selectbox(
        t("configure.profile"),
        **widgets.session_choice(PROFILE, ["", *names], "", lambda each: each or t("reproduce.own_profile")),
    )
    return str(chosen)


def _verdict(check: ReproductionCheck, t: Words) -> None:
    counts = {kind: len(check.having(kind)) for kind in ORDER}
    text = t(
        "reproduce.counts",
        same=counts[Sameness.SAME],
        different=counts[Sameness.DIFFERENT],
        unknown=counts[Sameness.NOT_KNOWN],
        profile=plain(check.profile),
    )
    if check.identical is False:
        st.warning(t("reproduce.differs") + text, icon=":material/difference:")
    else:
        st.success(
            t("reproduce.identical" if check.identical else "reproduce.as_known") + text, icon=":material/check:"
        )


def _table(check: ReproductionCheck, t: Words) -> None:
    rows = [_cells(each, t) for kind in ORDER for each in check.having(kind)]
    st.dataframe(
        rows,
        hide_index=True,
        alt=t("reproduce.table"),
        height="content" if len(rows) <= TALL else 38 + 35 * TALL,
        column_config={
            t("reproduce.verdict"): st.column_config.TextColumn(width="small"),
            t("reproduce.then"): st.column_config.TextColumn(width="medium"),
            t("clone.now"): st.column_config.TextColumn(width="medium"),
            t("reproduce.note"): st.column_config.TextColumn(width="medium"),
        },
    )


def _cells(each: Aspect, t: Words) -> dict[str, str]:
    return {
        t("reproduce.verdict"): f"{MARKS[each.sameness]} {t('reproduce.' + each.sameness.name.lower())}",
        t("compare.field"): field_name(each.name, t),
        t("reproduce.then"): each.then or MISSING,
        t("clone.now"): each.now or MISSING,
        t("reproduce.note"): t.said(each.note),
    }


def _show_launch(check: ReproductionCheck, t: Words) -> None:
    """The button that launches. Its second press finds the same token, and with it the same run."""
    token = st.session_state.setdefault(TOKEN, secrets.token_hex(8))
    if st.button(
        t("reproduce.launch"), key="reproduce-yes", type="primary", icon=":material/rocket_launch:", width="stretch"
    ):
        try:
            run = core().reproductions.launch(check, WHO, token)
        except AisbenchError as error:
            show_sentence(error)
            return
        _close()
        navigation.go(navigation.LIVE, {"run": run.run_id})


@whole
def _open(run_id: str) -> None:
    st.session_state[OPEN] = run_id
    st.session_state[TOKEN] = secrets.token_hex(8)


def _close() -> None:
    for key in (OPEN, TOKEN):
        st.session_state.pop(key, None)
    widgets.forget(PROFILE)

"""What a run's result is worth, by which ruleset, and what to do about each check that is not fulfilled."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import streamlit as st

from aisbench_core.errors import AisbenchError
from aisbench_core.formats import MISSING, clipped
from aisbench_core.model import RunState
from aisbench_core.rulesets.ruleset import Ruleset
from aisbench_core.warehouse.values import BoardQuery, Check, CheckLevel, RunRow, Validity, is_of_the_end
from pages._ui.shell import address
from pages._ui.shell.core import asked, core
from pages._ui.shell.errors import plain
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import Words, words

COLOURS: dict[Validity, Literal["green", "blue", "red", "orange"]] = {
    Validity.VALID: "green",
    Validity.CLAIMED: "blue",
    Validity.INVALID: "red",
    Validity.INCOMPLETE: "orange",
}
OPENED = 3
"""Checks of a valid run that are shown without being asked for, at most."""

STORED = "stored"
CHECKS = ":material/rule:"


def badge(validity: Validity) -> None:
    """What a result is worth, at a glance."""
    st.badge(words()(f"validity.{validity}"), color=COLOURS[validity])


def show_verdict_of(row: RunRow) -> None:
    """The verdict with its ruleset and division, and every check that is not fulfilled with what to do."""
    t = words()
    ruleset = ruleset_of(row.ruleset_id)
    st.caption(t("validity.by", ruleset=plain(name_of(ruleset, row.ruleset_id, t)), division=_division(row, t)))
    if not row.reasons:
        return
    if row.state is RunState.STOPPED:
        st.info(t("validity.stopped"), icon=":material/stop_circle:")
    opened = row.state is not RunState.STOPPED and (not row.validity.counts or len(row.reasons) <= OPENED)
    with st.expander(_counted(row, t), expanded=opened, icon=CHECKS):
        for check in row.reasons:
            show_check(check, ruleset, t, row)


def show_verdicts(runs: Sequence[RunRow]) -> None:
    """The verdicts of several runs that are looked at together: a row for each, and what to do about their checks."""
    t = words()
    st.header(t("validity.title"))
    show_table([_verdict_cells(row, t) for row in runs], t("validity.title"))
    for row in runs:
        if row.reasons:
            with st.expander(t("validity.checks_of", run=plain(row.run_id), checks=_counted(row, t)), icon=CHECKS):
                for check in row.reasons:
                    show_check(check, ruleset_of(row.ruleset_id), t, row)


def show_rules(rule_ids: Iterable[str], ruleset_id: str) -> None:
    """What rules demand, and what to do, for tables that name only their ids."""
    t, ruleset = words(), ruleset_of(ruleset_id)
    known = ruleset.rules if ruleset else {}
    named = [rule_id for rule_id in sorted(set(rule_ids)) if rule_id in known]
    if not named:
        return
    with st.expander(t("validity.rules", ruleset=plain(name_of(ruleset, ruleset_id, t))), icon=CHECKS):
        for rule_id in named:
            rule = known[rule_id]
            title, fix = t.pick(rule.title, rule.title_zh), t.pick(rule.fix, rule.fix_zh)
            st.markdown(f"**{rule_id}** {plain(title)}  \n{t('validity.fix', fix=plain(fix))}")


def _verdict_cells(row: RunRow, t: Words) -> dict[str, Any]:
    return {
        t("board.run"): row.run_id,
        t("validity.worth"): t(f"validity.{row.validity}"),
        t("validity.failed"): _ids(row, CheckLevel.FAIL),
        t("validity.warned"): _ids(row, CheckLevel.WARN),
        t("validity.ruleset"): id_of(row.ruleset_id, t),
        t("validity.division"): _division(row, t),
    }


def _ids(row: RunRow, level: CheckLevel) -> str:
    return ", ".join(check.id for check in row.reasons if check.level is level) or MISSING


def _counted(row: RunRow, t: Words) -> str:
    failed = sum(check.level is CheckLevel.FAIL for check in row.reasons)
    return t("validity.checks", failed=failed, warned=len(row.reasons) - failed)


def choose_ruleset() -> str:
    """Whose verdicts count; empty: those that are stored."""
    t = words()
    known = core().rulesets.ids()
    chosen = st.selectbox(
        t("validity.ruleset"),
        help=t("validity.ruleset_help"),
        width=200,
        **address.option(
            "ruleset",
            [STORED, *known],
            STORED,
            lambda each: t("validity.as_stored") if each == STORED else id_of(each, t),
            forgets=["page"],
        ),
    )
    return "" if chosen == STORED else str(chosen)


def show_judged_by(query: BoardQuery) -> None:
    """Which ruleset decided what is shown."""
    t = words()
    if query.ruleset_id:
        found = ruleset_of(query.ruleset_id)
        title = f"{query.ruleset_id} {t.pick(found.title, found.title_zh)}" if found else query.ruleset_id
        st.caption(f"{t('validity.ruleset')}: {plain(_with_basis(title, found, t))}")
        return
    stored = asked(core().warehouse.facets, query.region, query.rehearsal).rulesets
    if stored:
        key = "validity.stored_by" if len(stored) == 1 else "validity.several"
        st.caption(t(key, rulesets=plain(", ".join(id_of(each, t) for each in stored))))


def worth_of(run_ids: Sequence[str]) -> dict[str, Validity]:
    """What each of the runs is worth that were recorded; nothing while the warehouse cannot be asked."""
    try:
        return {run_id: row.validity for run_id, row in asked(core().warehouse.runs_of, tuple(run_ids)).items()}
    except AisbenchError:
        return {}


def ruleset_of(ruleset_id: str) -> Ruleset | None:
    """The ruleset that decided; None when it is not there any more."""
    try:
        return core().rulesets.get(ruleset_id)
    except AisbenchError:
        return None


def reasons(row: RunRow, t: Words) -> str:
    """Why a run is not valid, or doubtful: each check with what it expects and what it found."""
    return "; ".join(
        t("board.check", id=reason.id, expected=t.said(reason.expected), found=t.said(reason.found))
        for reason in row.reasons
    )


def show_check(check: Check, ruleset: Ruleset | None, t: Words, row: RunRow | None = None) -> None:
    """One check that is not fulfilled: what it demands, expected and found, and what to do.

    `row`: the run that it is about; nothing for a series."""
    rule = ruleset.rules.get(check.id) if ruleset else None
    title = f" {t.pick(rule.title, rule.title_zh)}" if rule else ""
    where = f" ({t.said(check.evidence)})" if check.evidence else ""
    expected, found = (clipped(t.said(text), 600) for text in (check.expected, check.found))
    said = t("validity.said", expected=expected, found=found)
    lines = [f"**{check.id}**{plain(title)}", plain(said + where)]
    stopped = row is not None and row.state is RunState.STOPPED
    if stopped:  # a person's wish: nothing is broken
        pass
    elif row and is_of_the_end(check.id, row.validity):
        lines.append(t("validity.fix", fix=plain(t("validity.fix_end", run=row.run_id))))
    elif rule:
        lines.append(t("validity.fix", fix=plain(t.pick(rule.fix, rule.fix_zh))))
    box: Any = st.info if stopped else st.error if check.level is CheckLevel.FAIL else st.warning
    box("  \n".join(lines))


def name_of(ruleset: Ruleset | None, ruleset_id: str, t: Words) -> str:
    """A ruleset's title, id and basis; its id alone when it is not there any more."""
    if ruleset is None:
        return ruleset_id
    return _with_basis(f"{t.pick(ruleset.title, ruleset.title_zh)} ({ruleset_id})", ruleset, t)


def id_of(ruleset_id: str, t: Words) -> str:
    """A ruleset's id and basis, for tables and lists."""
    return _with_basis(ruleset_id, ruleset_of(ruleset_id), t)


def _with_basis(name: str, ruleset: Ruleset | None, t: Words) -> str:
    """The name, and beside it that rules were inferred: the standards' texts are not public."""
    return t("validity.with_basis", ruleset=name, basis=t.said(ruleset.basis)) if ruleset and ruleset.basis else name


def _division(row: RunRow, t: Words) -> str:
    known = f"validity.division_{row.division}"
    return t(known) if t.knows(known) else t("validity.division_not_stated")

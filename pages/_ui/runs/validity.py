"""The validity of a run's result, by which ruleset, and what to do about each check that failed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.formats import MISSING, clip_text
from aisbench_core.domain.rulesets.ruleset import Ruleset
from aisbench_core.model import Origin, RunState
from aisbench_core.warehouse.values.runs import BoardQuery, Check, CheckLevel, RunRow, Validity, is_of_the_end
from pages._ui.shell import url
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

COLOURS: dict[Validity, Literal["green", "blue", "red", "orange", "gray"]] = {
    Validity.VALID: "green",
    Validity.CLAIMED: "blue",
    Validity.INVALID: "red",
    Validity.INCOMPLETE: "orange",
    Validity.SET_ASIDE: "gray",
}

MAX_LETTERS = 600  # of what a check expects or finds: names in it may be of any length

CHECKS = ":material/rule:"


def show_verdict_of(row: RunRow) -> None:
    """The ruleset and the division, and every check that failed or warns, with what to do."""
    ruleset = ruleset_of(row.ruleset_id)
    st.caption(
        t("validity.by", ruleset=escape_markdown(name_of(ruleset, row.ruleset_id)), division=_format_division(row))
    )
    if not row.reasons:
        return
    stopped = row.state is RunState.STOPPED
    if stopped:
        st.info(t("validity.stopped"), icon=":material/stop_circle:")
    # What failed has a cause, of which its checks are consequences; warnings of a valid run can wait for a click.
    expanded = row.state is RunState.COMPLETED and not row.validity.counts
    with st.expander(_format_counts(row), expanded=expanded, icon=CHECKS):
        for check in row.reasons:
            show_check(check, ruleset, row)


def show_verdicts(runs: Sequence[RunRow]) -> None:
    """The verdicts of several runs: a row for each, and what to do about their checks."""
    rows = [
        {
            "run": run.run_id,
            "validity": t(f"validity.{run.validity}"),
            "failed": _join_ids(run, CheckLevel.FAIL),
            "warned": _join_ids(run, CheckLevel.WARN),
            "ruleset": id_of(run.ruleset_id),
            "division": _format_division(run),
        }
        for run in runs
    ]
    titles = {
        "run": t("board.run"),
        "validity": t("board.validity"),
        "failed": t("validity.failed"),
        "warned": t("validity.warned"),
        "ruleset": t("validity.ruleset"),
        "division": t("validity.division"),
    }
    show_table(rows, titles, t("validity.title"))
    for run in runs:
        if run.reasons:
            with st.expander(
                t("validity.checks_of", run=escape_markdown(run.run_id), checks=_format_counts(run)), icon=CHECKS
            ):
                for check in run.reasons:
                    show_check(check, ruleset_of(run.ruleset_id), run)


def show_rules(rule_ids: Iterable[str], ruleset_id: str) -> None:
    """What rules require, and what to do, below tables that only name their ids."""
    ruleset = ruleset_of(ruleset_id)
    rules = ruleset.rules if ruleset else {}
    named = sorted(rules.keys() & set(rule_ids))
    if not named:
        return
    with st.expander(t("validity.rules", ruleset=escape_markdown(name_of(ruleset, ruleset_id))), icon=CHECKS):
        for rule_id in named:
            rule = rules[rule_id]
            title, fix = t.pick(rule.title, rule.title_zh), t.pick(rule.fix, rule.fix_zh)
            st.markdown(f"**{rule_id}** {escape_markdown(title)}  \n{t('validity.fix', fix=escape_markdown(fix))}")


def _join_ids(row: RunRow, level: CheckLevel) -> str:
    return ", ".join(check.id for check in row.reasons if check.level is level) or MISSING


def _format_counts(row: RunRow) -> str:
    failed = sum(check.level is CheckLevel.FAIL for check in row.reasons)
    return t("validity.checks", failed=failed, warned=len(row.reasons) - failed)


def choose_ruleset() -> str:
    """The ruleset whose verdicts are shown; empty: the stored ones."""
    ruleset_id = url.choose_option(
        st.selectbox,
        "ruleset",
        t("validity.ruleset"),
        [None, *core().rulesets.ids()],
        lambda ruleset_id: id_of(ruleset_id) if ruleset_id else t("validity.as_stored"),
        resets=["page"],
        help=t("validity.ruleset_help"),
        width=200,
    )
    return ruleset_id or ""


def show_rulesets(query: BoardQuery) -> None:
    """The ruleset, or the stored rulesets, that decided what is shown."""
    if query.ruleset_id:
        ruleset = ruleset_of(query.ruleset_id)
        title = f"{query.ruleset_id} {t.pick(ruleset.title, ruleset.title_zh)}" if ruleset else query.ruleset_id
        st.caption(f"{t('validity.ruleset')}: {escape_markdown(_with_basis(title, ruleset))}")
        return
    stored = run_cached(core().warehouse.facets.fetch_values, query.region, query.rehearsal).rulesets
    if stored:
        key = "validity.stored_by" if len(stored) == 1 else "validity.several"
        st.caption(t(key, rulesets=escape_markdown(", ".join(map(id_of, stored)))))


def recorded_by_id(run_ids: Sequence[str]) -> Mapping[str, RunRow]:
    """Those of the runs that are recorded; none while the warehouse cannot be read."""
    try:
        return run_cached(core().warehouse.runs.find_rows, tuple(run_ids))
    except AisbenchError:
        return {}


def ruleset_of(ruleset_id: str) -> Ruleset | None:
    """The ruleset; None if it no longer exists."""
    try:
        return core().rulesets.get(ruleset_id)
    except AisbenchError:
        return None


def join_reasons(row: RunRow) -> str:
    """Why a run is not valid, or doubtful."""
    return "; ".join(map(check_text, row.reasons))


def check_text(check: Check) -> str:
    return t("board.check", id=check.id, expected=t.message(check.expected), found=t.message(check.found))


def show_check(check: Check, ruleset: Ruleset | None, row: RunRow | None = None) -> None:
    """A check that failed or warns: what it requires, expected and found, and what to do.

    `row` is its run; None for a check of a series."""
    rule = ruleset.rules.get(check.id) if ruleset else None
    title = f" {t.pick(rule.title, rule.title_zh)}" if rule else ""
    evidence = f" ({t.message(check.evidence)})" if check.evidence else ""
    expected, actual = (clip_text(t.message(text), MAX_LETTERS) for text in (check.expected, check.found))
    lines = [
        f"**{check.id}**{escape_markdown(title)}",
        escape_markdown(t("validity.comparison", expected=expected, found=actual) + evidence),
    ]
    stopped = row is not None and row.state is RunState.STOPPED
    if stopped:  # a person's wish: there is nothing to fix
        pass
    elif row and is_of_the_end(check.id, row.validity):
        lines.append(t("validity.fix", fix=escape_markdown(t("validity.fix_end", run=row.run_id))))
    elif row and row.origin is Origin.IMPORTED:
        lines.append(t("validity.fix", fix=escape_markdown(t("validity.fix_imported"))))
    elif rule:
        lines.append(t("validity.fix", fix=escape_markdown(t.pick(rule.fix, rule.fix_zh))))
    box: Any = st.info if stopped else st.error if check.level is CheckLevel.FAIL else st.warning
    box("  \n".join(lines))


def name_of(ruleset: Ruleset | None, ruleset_id: str) -> str:
    """A ruleset's title, id and basis; its id alone if it no longer exists."""
    if ruleset is None:
        return ruleset_id
    return _with_basis(f"{t.pick(ruleset.title, ruleset.title_zh)} ({ruleset_id})", ruleset)


def id_of(ruleset_id: str) -> str:
    """A ruleset's id and basis, for tables and lists."""
    return _with_basis(ruleset_id, ruleset_of(ruleset_id))


def _with_basis(name: str, ruleset: Ruleset | None) -> str:
    """Rules without a public source say so beside the ruleset's name."""
    return t("validity.with_basis", ruleset=name, basis=t.message(ruleset.basis)) if ruleset and ruleset.basis else name


def _format_division(row: RunRow) -> str:
    key = f"validity.division_{row.division}"
    return t(key) if t.knows(key) else t("validity.division_not_stated")

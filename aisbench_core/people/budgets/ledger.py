"""Budgets in the ledger's file, and how much of each is used, which follows from the runs themselves."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.model import (
    TERMINAL,
    Budget,
    BudgetScope,
    BudgetUse,
    ExpectedCost,
    RunState,
    StoredBudget,
)
from aisbench_core.store.ledger.database.connection import LedgerConnection, Row
from aisbench_core.store.ledger.database.rows import insert_row, make_marks
from aisbench_core.store.ledger.ledger import Ledger, as_text, as_time

_MONTH = "created_at >= ? and created_at < ?"
_OF = {
    BudgetScope.PERSON: "created_by = ?",
    BudgetScope.TEAM: "created_by in (select person from team_members where team = ?)",
    BudgetScope.EVERYBODY: "created_by <> ?",
    BudgetScope.SERIES: "series_id = ?",
}
"""Whose runs a budget is about."""

_ENDED = (
    "select sum(duration_s * node_count * price_per_node_hour) / 3600 as spent from runs where duration_s is not null"
)
_COSTS = "select state, started_at, ended_at, node_count, price_per_node_hour, expected_cost from runs"
_OTHERS = f"{_COSTS} where duration_s is null and (started_at is not null or state not in {make_marks(TERMINAL)})"


# Cells of series count from their launch on, in whatever month they will run; of held series they reserve nothing.
_WAITING = (
    "select sum(expected_cost) as reserved from attempts where run_id = '' and cancelled = 0 and currency = ?"
    " and series_id in (select series_id from series where held = '') and "
)
_REQUESTED = {scope: whose.replace("created_by", "requested_by") for scope, whose in _OF.items()}

_NAMES = {
    BudgetScope.PERSON: "select distinct created_by as name from runs"
    " where currency <> '' and created_at >= ? and created_at < ?"
    " union select requested_by from attempts where run_id = '' and cancelled = 0",
    BudgetScope.TEAM: "select distinct team as name from team_members",
    BudgetScope.SERIES: "select distinct series_id as name from runs"
    " where series_id <> '' and currency <> '' and state not in ('completed', 'failed', 'stopped')"
    " union select series_id from attempts where run_id = '' and cancelled = 0",
}
"""Who may use a budget without a name now."""


@dataclass(frozen=True, slots=True)
class PlannedLaunch:
    """What budgets must know of a launch: whose it is, of which series if any, what it costs, and when it is."""

    person: str
    cost: ExpectedCost
    at: datetime
    series_id: str = ""


class BudgetLedger:
    """Budgets, and how much of each is used. Threads and processes may share it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def all(self) -> list[StoredBudget]:
        """Every budget, by scope and name."""
        return [_to_stored(row) for row in self._ledger.rows("select * from budgets order by scope, name, currency")]

    def set(self, stored: StoredBudget) -> StoredBudget | None:
        """Store a budget in place of the one of the same scope, name and currency, which is returned."""
        with self._ledger.transaction() as con:
            before = _remove_budget(con, stored.budget)
            insert_row(con, "budgets", _row_of(stored))
        return before

    def remove(self, scope: BudgetScope, name: str, currency: str) -> StoredBudget:
        """Remove a budget. Raises ConfigError if there is none."""
        with self._ledger.transaction() as con:
            before = _remove_budget(con, Budget(scope=scope, name=name, amount=0, currency=currency))
        if before is None:
            raise ConfigError(
                Message(
                    "there is no such budget: {scope} {name} {currency}", scope=scope, name=name, currency=currency
                ),
                Message("`aisbench budget list` lists them"),
            )
        return before

    def uses(self, now: datetime) -> list[BudgetUse]:
        """How much is used of every budget; of one without a name by each one that uses it this month."""
        with self._ledger.connection() as con:
            stored = [
                _to_stored(row).budget for row in con.execute("select * from budgets order by scope, name, currency")
            ]
            return [
                use
                for budget in stored
                for subject in _list_subjects(con, budget, now)
                for use in [use_of(con, budget, subject, now)]
                if subject == budget.name or use.spent or use.reserved
            ]

    def uses_of(self, launch: PlannedLaunch) -> list[BudgetUse]:
        """How much is used of the budgets that a launch is about, in its currency."""
        with self._ledger.connection() as con:
            return [
                use_of(con, budget, subject, launch.at)
                for subject, budgets in iter_applicable(con, launch)
                for budget in budgets
                if budget.currency == launch.cost.currency
            ]


def iter_applicable(con: LedgerConnection, launch: PlannedLaunch) -> Iterator[tuple[str, list[Budget]]]:
    """Each person, team or series of a launch, with its budgets: one for each currency."""
    teams = con.execute("select team from team_members where person = ? order by team", [launch.person]).fetchall()
    subjects = [(BudgetScope.PERSON, launch.person), *((BudgetScope.TEAM, row["team"]) for row in teams)]
    subjects.append((BudgetScope.EVERYBODY, ""))
    if launch.series_id:
        subjects.append((BudgetScope.SERIES, launch.series_id))
    for scope, subject in subjects:
        if budgets := _budgets_of(con, scope, subject):
            yield subject, budgets


def _budgets_of(con: LedgerConnection, scope: BudgetScope, subject: str) -> list[Budget]:
    """Those by name, or else those of each one."""
    for name in dict.fromkeys([subject, ""]):
        query = "select * from budgets where scope = ? and name = ? order by currency"
        if rows := con.execute(query, [scope, name]).fetchall():
            return [_to_stored(row).budget for row in rows]
    return []


def _list_subjects(con: LedgerConnection, budget: Budget, now: datetime) -> list[str]:
    """Whom a budget is about: the one that it names, or each one without a budget by name."""
    if budget.name or budget.scope is BudgetScope.EVERYBODY:
        return [budget.name]
    values = _get_month_bounds(now) if budget.scope is BudgetScope.PERSON else ()
    rows = con.execute(_NAMES[budget.scope], values).fetchall()
    names = sorted(row["name"] for row in rows)
    return [name for name in names if budget in _budgets_of(con, budget.scope, name)]


def use_of(con: LedgerConnection, budget: Budget, subject: str, at: datetime) -> BudgetUse:
    is_monthly = budget.scope is not BudgetScope.SERIES
    where = f" and currency = ? and {_OF[budget.scope]}" + (f" and {_MONTH}" if is_monthly else "")
    values = [budget.currency, subject, *(_get_month_bounds(at) if is_monthly else ())]
    spent = con.execute(_ENDED + where, values).fetchone()["spent"] or 0.0
    reserved = 0.0
    for row in con.execute(_OTHERS + where, [*TERMINAL, *values]):
        so_far, expected = _cost_of(row, at)
        spent, reserved = spent + so_far, reserved + max(0.0, expected - so_far)
    to_come = con.execute(_WAITING + _REQUESTED[budget.scope], [budget.currency, subject]).fetchone()["reserved"] or 0.0
    return BudgetUse(budget, subject, spent, reserved + to_come, _first_day(at) if is_monthly else None)


def _cost_of(row: Row, now: datetime) -> tuple[float, float]:
    """What a run whose duration is not known has cost so far, and what is reserved for it."""
    if row["state"] == RunState.HELD:
        return 0.0, 0.0
    hours = 0.0
    if row["started_at"]:
        end = as_time(row["ended_at"]) if row["ended_at"] else now
        hours = max(0.0, (end - as_time(row["started_at"])).total_seconds() / 3600)
    expected = 0.0 if row["state"] in TERMINAL else row["expected_cost"] or 0.0
    return hours * row["node_count"] * (row["price_per_node_hour"] or 0.0), expected


def _first_day(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _get_month_bounds(at: datetime) -> tuple[str, str]:
    """The first moment of a month, and of the next one, as the ledger stores times."""
    first = _first_day(at)
    following = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
    return as_text(first), as_text(following)


def _remove_budget(con: LedgerConnection, budget: Budget) -> StoredBudget | None:
    where = "where scope = ? and name = ? and currency = ?"
    values = [budget.scope, budget.name, budget.currency]
    row = con.execute(f"select * from budgets {where}", values).fetchone()  # noqa: S608  # only ? marks
    con.execute(f"delete from budgets {where}", values)  # noqa: S608  # only ? marks
    return _to_stored(row) if row else None


def _row_of(stored: StoredBudget) -> dict[str, object]:
    values = stored.budget.model_dump() | {"allow_unknown": int(stored.budget.allow_unknown)}
    return values | {"changed_at": as_text(stored.changed_at), "changed_by": stored.changed_by}


def _to_stored(row: Row) -> StoredBudget:
    budget = Budget(**{name: row[name] for name in Budget.model_fields} | {"allow_unknown": bool(row["allow_unknown"])})
    return StoredBudget(budget, as_time(row["changed_at"]), row["changed_by"])

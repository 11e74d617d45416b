"""Holds launches that no budget has room for, in the transaction that stores them: racing ones never exceed it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from aisbench_core.base.formats import format_money
from aisbench_core.base.messages import Message, join_parts
from aisbench_core.model import (
    Budget,
    BudgetUse,
    Event,
    ExpectedCost,
    Level,
    NewsKind,
    Notice,
    Run,
    RunState,
    WayIn,
)
from aisbench_core.model.budget import ROUNDING
from aisbench_core.people.budgets.ledger import PlannedLaunch, iter_applicable, use_of
from aisbench_core.store.ledger.database.connection import LedgerConnection
from aisbench_core.store.ledger.ledger import Check, add_event, add_notice
from aisbench_core.store.ledger.limits import LaunchLimits


def hold_reason(con: LedgerConnection, launch: PlannedLaunch) -> Message | None:
    """Why a launch must wait for an approval; None if each budget that it is about has room for it.

    Within the transaction that stores the launch."""
    if launch.cost.is_free:
        return None
    reasons = [_find_reason(con, subject, budgets, launch) for subject, budgets in iter_applicable(con, launch)]
    found = [reason for reason in reasons if reason]
    return join_parts("; ", found) if found else None


def launch_check(limits: LaunchLimits, cost: ExpectedCost, approval_days: int) -> Check:
    """What is checked in the transaction that stores a run: limits of its person, then budgets."""

    def check(con: LedgerConnection, run: Run) -> Run:
        return admit_run(con, limits.require_room(con, run), cost, run.created_at + timedelta(days=approval_days))

    return check


def admit_run(con: LedgerConnection, run: Run, cost: ExpectedCost, until: datetime) -> Run:
    """The run with its cost reserved, or held until somebody approves it, and people are told.

    Within the transaction that stores the run."""
    run = replace(run, expected_cost=cost.amount)
    reason = hold_reason(con, PlannedLaunch(run.created_by, cost, run.created_at, run.series_id))
    if reason is None:
        return run
    text = Message("waits for approval: {reason}", reason=reason)
    add_event(con, Event(run.run_id, run.created_at, WayIn.FOLLOWER, Level.WARNING, text))
    add_notice(con, Notice(f"{NewsKind.HELD}:{run.run_id}", run.run_id, NewsKind.HELD, run.created_at, reason))
    return replace(run, state=RunState.HELD, detail=reason, next_step_at=until)


def _find_reason(
    con: LedgerConnection, subject: str, budgets: Sequence[Budget], launch: PlannedLaunch
) -> Message | None:
    cost = launch.cost
    if cost.amount is None:
        return None if any(budget.allow_unknown for budget in budgets) else _describe_unknown(budgets[0], subject, cost)
    for budget in budgets:
        if budget.currency == cost.currency:
            return _describe_excess(use_of(con, budget, subject, launch.at), cost.amount)
    return Message(
        "this launch is expected to cost {cost}, but {budget} is in {currency}",
        cost=format_money(cost.amount, cost.currency),
        budget=BudgetUse(budgets[0], subject, 0, 0).title,
        currency=", ".join(budget.currency for budget in budgets),
    )


def _describe_unknown(budget: Budget, subject: str, cost: ExpectedCost) -> Message:
    title = BudgetUse(budget, subject, 0, 0).title
    return Message(
        "the cost of this launch is unknown ({reason}), and {budget} requires approval for that",
        reason=cost.unknown,
        budget=title,
    )


def _describe_excess(use: BudgetUse, amount: float) -> Message | None:
    if amount <= use.left + ROUNDING:
        return None
    currency = use.budget.currency
    return Message(
        "this launch is expected to cost {cost}; {budget} is {amount}, with {spent} spent and {reserved} reserved",
        cost=format_money(amount, currency),
        budget=use.title,
        amount=format_money(use.budget.amount, currency),
        spent=format_money(use.spent, currency),
        reserved=format_money(use.reserved, currency),
    )

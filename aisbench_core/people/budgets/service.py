"""Budgets: set and removed by admins, and how much of each is used."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aisbench_core.base.documents import parse_document
from aisbench_core.base.formats import format_money
from aisbench_core.base.messages import Message
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import note_values
from aisbench_core.model import Actor, Budget, BudgetScope, BudgetUse, Clock, StoredBudget
from aisbench_core.people.budgets.ledger import BudgetLedger


@dataclass(frozen=True, slots=True)
class Budgets:
    """All budgets of this console."""

    ledger: BudgetLedger
    clock: Clock

    def all(self) -> list[StoredBudget]:
        """Every budget, by scope and name."""
        return self.ledger.all()

    def uses(self) -> list[BudgetUse]:
        """How much of each budget is used now; of one without a name by each one that uses it."""
        return self.ledger.uses(self.clock())

    @permitted
    def save(self, plan: Mapping[str, Any], actor: Actor) -> StoredBudget:
        """Store a budget, given by the fields of Budget, in place of the one of the same scope, name and currency.

        Launches that are held already stay so. Raises SpecError, naming the fields."""
        stored = StoredBudget(parse_document(Budget, plan, Message("budget")), self.clock(), actor.name)
        before = self.ledger.set(stored)
        note_values(_describe_budget(before), _describe_budget(stored))
        return stored

    @permitted
    def remove(self, scope: BudgetScope, name: str, currency: str, actor: Actor) -> StoredBudget:  # noqa: ARG002  # the guard's
        """Remove a budget. Raises ConfigError if there is none."""
        removed = self.ledger.remove(scope, name, currency)
        note_values(_describe_budget(removed), "")
        return removed


def _describe_budget(stored: StoredBudget | None) -> str:
    if stored is None:
        return ""
    budget = stored.budget
    unknown = ", unknown costs allowed" if budget.allow_unknown else ""
    return f"{budget.scope} {budget.name or '*'}: {format_money(budget.amount, budget.currency)}{unknown}"

"""Budgets in money: how much launches may cost before somebody has to approve them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from aisbench_core.base.messages import Message
from aisbench_core.model.run import Run
from aisbench_core.model.series import Series
from aisbench_core.model.spec import Frozen

REASON_LETTERS = 300
"""Of the reason of a declined launch, at most."""

NEARLY_USED = 0.8
ALERT_SHARES = (NEARLY_USED, 1.0)
"""Of a budget: people are notified when it has reached one of them."""

ROUNDING = 1e-6
"""Amounts below which an excess is a rounding error of sums."""


class BudgetScope(StrEnum):
    """Whose launches a budget is about. That of a series is for all of it, every other one for a month (UTC)."""

    PERSON = "person"
    TEAM = "team"
    EVERYBODY = "everybody"
    SERIES = "series"


class Budget(Frozen):
    """What a person, a team, a series or everybody may spend. Without a name: each one that has no budget by name.

    `allow_unknown`: launches whose cost is not known need no approval; they count as nothing."""

    scope: BudgetScope
    name: Annotated[str, Field(max_length=100, pattern=r"^(\S(.*\S)?)?$")] = ""
    amount: Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
    currency: Annotated[str, Field(pattern=r"^\S{1,12}$")]
    allow_unknown: bool = False

    @model_validator(mode="after")
    def _check_name(self) -> Self:
        if self.scope is BudgetScope.EVERYBODY and self.name:
            raise ValueError(Message("a budget of everybody has no name"))
        return self


@dataclass(frozen=True, slots=True)
class StoredBudget:
    """A budget, and who set it."""

    budget: Budget
    changed_at: datetime
    changed_by: str


@dataclass(frozen=True, slots=True)
class ExpectedCost:
    """What a launch is expected to cost. `amount` None: not known, `unknown` says why; `currency` as far as known."""

    amount: float | None
    currency: str = ""
    unknown: Message | str = ""

    @property
    def is_free(self) -> bool:
        """Whether it costs nothing, so that no budget is about it."""
        return self.amount == 0.0


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """A budget of one person, team or series: what ended runs cost, and what was promised to launched ones.

    `subject`: whose, by name; `month`: the first day, None for a series."""

    budget: Budget
    subject: str
    spent: float
    reserved: float
    month: datetime | None = None

    @property
    def left(self) -> float:
        """What can be launched without an approval; below 0 if runs took longer than expected."""
        return self.budget.amount - self.spent - self.reserved

    @property
    def is_nearly_used(self) -> bool:
        """Whether four fifths are spent or reserved."""
        return self.spent + self.reserved >= NEARLY_USED * self.budget.amount

    @property
    def alert_shares(self) -> tuple[float, ...]:
        """Those of ALERT_SHARES that are spent or reserved, the smallest first; none while nothing is."""
        used = self.spent + self.reserved
        return tuple(share for share in ALERT_SHARES if used > 0 and used >= share * self.budget.amount - ROUNDING)

    @property
    def title(self) -> Message:
        """Whose budget, for when."""
        names = {
            BudgetScope.PERSON: Message("the budget of {name}", name=self.subject),
            BudgetScope.TEAM: Message("the budget of team {name}", name=self.subject),
            BudgetScope.EVERYBODY: Message("the budget of everybody"),
            BudgetScope.SERIES: Message("the budget of series {name}", name=self.subject),
        }
        title = names[self.budget.scope]
        return Message("{budget} for {month}", budget=title, month=f"{self.month:%Y-%m}") if self.month else title


@dataclass(frozen=True, slots=True)
class WaitingLaunches:
    """Runs and series that wait for an approval."""

    runs: Sequence[Run]
    series: Sequence[Series]

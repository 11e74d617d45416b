"""What was spent, by whom, when and on what: frozen values, free of SQL. Amounts are by currency."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message


class SpendingBy(StrEnum):
    """What a row is about."""

    PERSON = "person"
    MONTH = "month"
    WORKLOAD = "workload"
    PROFILE = "profile"
    SERIES = "series"


@dataclass(frozen=True, slots=True)
class SpendingQuery:
    """Which runs count, by the month (UTC) of their launch from `first` to `last`; None and empty tuples: all.

    A row for each value of `by`; `limit`: the most expensive of them; None: all."""

    by: SpendingBy = SpendingBy.PERSON
    first: date | None = None
    last: date | None = None
    people: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class CurrencySum:
    """The sums over the runs with one currency; without one no price is known, and `amount` is None."""

    currency: str
    runs: int
    """Number of runs with this currency."""
    completed: int
    """How many of these runs were completed."""
    node_hours: float
    """Hours times nodes."""
    amount: float | None
    """Sum in `currency`; null without a known price."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What some runs cost, a sum for each currency. `name`: a month as 2026-03; empty for runs outside of series."""

    name: str
    sums: tuple[CurrencySum, ...]

    @property
    def runs(self) -> int:
        """How many runs these are."""
        return sum(each.runs for each in self.sums)

    @property
    def not_completed(self) -> int:
        """How many of them failed or were stopped."""
        return self.runs - sum(each.completed for each in self.sums)

    @property
    def node_hours(self) -> float:
        """Their node hours, with a price or without."""
        return sum(each.node_hours for each in self.sums)

    @property
    def unpriced_hours(self) -> float:
        """The node hours without a known price; they are in no amount."""
        return sum(each.node_hours for each in self.sums if each.amount is None)

    @property
    def amounts(self) -> Mapping[str, float]:
        """The amounts by currency."""
        return {each.currency: each.amount for each in self.sums if each.amount is not None}


@dataclass(frozen=True, slots=True)
class Spending:
    """Rows, how many there are without a limit, the sums over all, and those of each month, the oldest first."""

    by: SpendingBy
    rows: tuple[Spent, ...]
    count: int
    total: Spent
    months: tuple[Spent, ...]

    @property
    def currencies(self) -> tuple[str, ...]:
        """All currencies, sorted."""
        return tuple(sorted(self.total.amounts))

    @property
    def is_priced_throughout(self) -> bool:
        """Whether a price is known for every node hour."""
        return not self.total.unpriced_hours


@dataclass(frozen=True, slots=True)
class SpendingFacets:
    """The values that runs can be filtered by, sorted; months are the newest first."""

    people: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    months: tuple[date, ...] = ()


def month_of(text: str, name: str) -> date:
    """The first day of a month such as 2026-03. Raises SpecError, which names the input."""
    try:
        return date.fromisoformat(f"{text}-01")
    except ValueError:
        problem = Problem(name, Message("must be a month such as 2026-03"), repr(text))
        raise SpecError(Message("query"), [problem]) from None

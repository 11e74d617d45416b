"""Searches: hyperparameters whose values a sampler chooses, trial after trial, from what earlier trials measured."""

import math
import operator
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StrictFloat, StrictInt, model_validator

from aisbench_core.base.messages import Message
from aisbench_core.base.value_errors import make_refusal
from aisbench_core.model.spec import Frozen, Scalar

MOST_TRIALS = 1000
MOST_SEED = 2**32 - 1

Name = Annotated[str, Field(min_length=1)]
Number = StrictInt | StrictFloat


class Sampler(StrEnum):
    """How the values of the next trial are chosen."""

    TPE = "tpe"
    RANDOM = "random"


class Objective(StrEnum):
    """What a search makes best: most throughput, or least time or cost."""

    THROUGHPUT = "throughput"
    TIME_TO_ACCURACY = "time-to-accuracy"
    COST = "cost"

    @property
    def is_maximised(self) -> bool:
        """Whether more of it is better."""
        return self is Objective.THROUGHPUT


class Range(Frozen):
    """All numbers from `low` to `high`, both included. `log`: small ones are tried as often as large ones, by ratio."""

    low: Number
    """The lowest value, included."""
    high: Number
    """The highest value, included."""
    log: bool = False
    integer: bool = False  # every number otherwise

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise make_refusal(Message("a range ends at finite numbers"))
        if self.low >= self.high:
            raise make_refusal(Message("{low:g} is not below {high:g}", low=self.low, high=self.high))
        if self.log and self.low <= 0:
            raise make_refusal(Message("a logarithmic range begins above 0, not at {low:g}", low=self.low))
        if self.integer and not all(isinstance(end, int) for end in (self.low, self.high)):
            raise make_refusal(Message("a range of integers ends at integers"))
        return self

    @property
    def text(self) -> str:
        """As people write it: `16..256 log`."""
        return f"{self.low:.12g}..{self.high:.12g}{' log' if self.log else ''}"


Values = Range | Annotated[tuple[Scalar, ...], Field(min_length=1)]


class ParameterSearch(Frozen):
    """What is searched, and how.

    `space`: a range, or a list of values, of each hyperparameter. `early_stop`: unpromising trials are stopped. What
    the objective needs is resolved at the launch: `target`, the accuracy to reach, and `price` of a node hour in
    `currency`."""

    space: Annotated[dict[Name, Values], Field(min_length=1)]
    """A range, or a list of values, of each hyperparameter."""
    trials: Annotated[int, Field(ge=1, le=MOST_TRIALS)] = 12
    """Runs of the search."""
    sampler: Sampler = Sampler.TPE
    objective: Objective = Objective.THROUGHPUT
    seed: Annotated[int, Field(ge=0, le=MOST_SEED)] = 0
    """Seed of the sampler."""
    early_stop: bool = False
    target: Annotated[float | None, Field(exclude_if=operator.not_)] = None
    """Accuracy to reach, as a fraction."""
    price: Annotated[float | None, Field(exclude_if=operator.not_)] = None
    """Of a node hour, in `currency`."""
    currency: Annotated[str, Field(exclude_if=operator.not_)] = ""

    @property
    def unit(self) -> str:
        """Of the objective; empty for throughput, which has the workload's."""
        return {Objective.TIME_TO_ACCURACY: "s", Objective.COST: self.currency}.get(self.objective, "")

"""A ruleset: which rules a result is judged by, how strictly in which division, and where each of them comes from.

What a rule's id looks at is code (`aisbench_core/warehouse/checks/`); everything that a lab may want to change is
here.
"""

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field

from aisbench_core.messages import Message
from aisbench_core.model import Division, Frozen, canonical_json
from aisbench_core.model.columns import KEYS, LATER_KEYS

DEFAULT = "aisbench/1"
"""The product's own ruleset, which decides unless the settings name another."""

ID_PATTERN = r"^[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)?$"

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]
Text = Annotated[str, Field(min_length=1, max_length=2000)]


class Consequence(StrEnum):
    """What a rule that is not fulfilled does: invalidates the result, warns, or nothing, because nobody looks."""

    FAIL = "fail"
    WARN = "warn"
    OFF = "off"


class Levels(Frozen):
    """A consequence for each division. Results whose division is not stated, and rehearsals, count as open."""

    closed: Annotated[Consequence, Field(description="for results of the closed division")]
    open: Annotated[Consequence, Field(description="for all others")]

    def of(self, division: Division) -> Consequence:
        """The consequence in a division."""
        return self.closed if division is Division.CLOSED else self.open


class ValidityRule(Levels):
    """What every rule says, whatever it looks at."""

    title: Annotated[Text, Field(description="what has to be so")]
    title_zh: Annotated[str, Field(description="the same in Chinese")] = ""
    fix: Annotated[Text, Field(description="what to do when it is not so")]
    fix_zh: Annotated[str, Field(description="the same in Chinese")] = ""
    source: Annotated[Text, Field(description="where the rule and its numbers come from")]
    inferred: Annotated[bool, Field(description="whether that was inferred, because the text is not public")] = False


REQUIRED = tuple(key.stored_name for key in KEYS if key.stored_name not in LATER_KEYS)
"""Keys of the block that a rule may demand."""

if TYPE_CHECKING:
    Required: TypeAlias = str
else:
    Required = Literal["throughput", "throughput_definition", *REQUIRED]


class Fields(ValidityRule):
    """V01."""

    required: Annotated[tuple[Required, ...], Field(description="what a result must hold")]


class Times(ValidityRule):
    """V02."""

    inside_total: Annotated[bool, Field(description="whether every period must lie inside total")] = False


class Agreement(ValidityRule):
    """V04."""

    tolerance: Annotated[Share, Field(description="how far apart they may be, as a share")]


class Stragglers(ValidityRule):
    """V05."""

    share: Annotated[Share, Field(description="of the run's median card, below which a card is a straggler")]


class Target(Frozen):
    """An accuracy that a model has to reach."""

    accuracy: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False, description="0.759 is 75.9 %")]
    source: Annotated[Text, Field(description="where the number comes from")]
    inferred: Annotated[bool, Field(description="whether it was inferred")] = False


class Accuracy(ValidityRule):
    """V06."""

    below_target: Annotated[Levels, Field(description="what a missed target does")]
    targets: Annotated[
        dict[str, Target], Field(description="by workload or model; others have the target of their workload")
    ] = Field(default_factory=dict)


class ServerAccuracy(ValidityRule):
    """V07."""

    most_apart: Annotated[Share, Field(description="how far the servers' accuracies may be apart")]


class Definitions(ValidityRule):
    """V16."""

    allowed: Annotated[tuple[str, ...], Field(description="the definitions that count; none named: every one")] = ()


class PowerRule(ValidityRule):
    """V19."""

    tolerance: Annotated[Share, Field(description="how far energy may be from average power x time, as a share")]


class Description(ValidityRule):
    """V21."""

    fields: Annotated[int, Field(ge=0, le=33, description="how many of the 33 fields must be filled in")] = 33


class Durations(ValidityRule):
    """V23."""

    tolerance: Annotated[Share, Field(description="how far they may be apart, as a share")]


class Clock(ValidityRule):
    """V26."""

    ahead_s: Annotated[Count, Field(description="seconds that clocks may differ")]


class RunCount(ValidityRule):
    """V08."""

    runs: Annotated[Count, Field(description="valid runs that a series needs")]
    by_model: Annotated[dict[str, Count], Field(description="other numbers, by workload or model")] = Field(
        default_factory=dict
    )


class Missed(ValidityRule):
    """V09."""

    most: Annotated[Count, Field(description="runs of a series that may miss the target")]


class Outliers(ValidityRule):
    """V22."""

    deviations: Annotated[float, Field(gt=0, allow_inf_nan=False, description="median absolute deviations")]


class SpreadRule(ValidityRule):
    """V27."""

    most: Annotated[Share, Field(description="the largest coefficient of variation")]


class Apart(ValidityRule):
    """V29."""

    days: Annotated[Count, Field(description="between the first and the last run of a series")]


class RunRules(Frozen):
    """Rules that look at one run; together they decide its validity. A rule that is not named is off."""

    V01: Fields | None = None
    V02: Times | None = None
    V03: ValidityRule | None = None
    V04: Agreement | None = None
    V05: Stragglers | None = None
    V06: Accuracy | None = None
    V07: ServerAccuracy | None = None
    V15: ValidityRule | None = None
    V16: Definitions | None = None
    V19: PowerRule | None = None
    V21: Description | None = None
    V23: Durations | None = None
    V25: ValidityRule | None = None
    V26: Clock | None = None


class SeriesRules(Frozen):
    """Rules that look at all runs of a series; they decide whether the series counts, not what its runs are worth."""

    V08: RunCount | None = None
    V09: Missed | None = None
    V11: ValidityRule | None = None
    V12: ValidityRule | None = None
    V14: ValidityRule | None = None
    V22: Outliers | None = None
    V27: SpreadRule | None = None
    V28: ValidityRule | None = None
    V29: Apart | None = None
    V30: ValidityRule | None = None


class Ruleset(Frozen):
    """Everything that a verdict rests on, besides the result."""

    id: Annotated[str, Field(pattern=ID_PATTERN, max_length=60, description="how verdicts name it")]
    title: Annotated[Text, Field(description="its name")]
    title_zh: Annotated[str, Field(description="the same in Chinese")] = ""
    edition: Annotated[Text, Field(description="which edition of which text")]
    source: Annotated[Text, Field(description="where that text is to be had")]
    run: RunRules
    series: SeriesRules = SeriesRules()

    @cached_property
    def sha256(self) -> str:
        """A hash of everything that decides; words about it do not count."""
        words = {"title", "title_zh", "fix", "fix_zh", "source", "inferred"}
        rules = {rule_id: rule.model_dump(mode="json", exclude=words) for rule_id, rule in self.rules.items()}
        return hashlib.sha256(canonical_json(rules).encode()).hexdigest()

    @property
    def inferred(self) -> tuple[str, ...]:
        """The ids of the rules that were inferred, because the text that the ruleset is named after is not public."""
        return tuple(rule_id for rule_id, rule in self.rules.items() if rule.inferred)

    @property
    def basis(self) -> str:
        """What to say beside the ruleset's name wherever it is shown; empty when no rule was inferred.

        Without commas, so that a cell of a CSV needs no quotes. It is a Message."""
        inferred, rules = len(self.inferred), len(self.rules)
        if not inferred:
            return ""
        if inferred == rules:
            return Message("rules inferred without the standard's text")
        return Message("{count} of {total} rules inferred without the standard's text", count=inferred, total=rules)

    @cached_property
    def rules(self) -> Mapping[str, ValidityRule]:
        """Every rule by its id, in the order of the ids."""
        return dict(sorted((rule_id, rule) for rule_id, rule in [*self.run, *self.series] if rule is not None))


def with_basis(name: str, basis: str) -> str:
    """A ruleset's name, and beside it its basis where there is something to say."""
    return f"{name} ({basis})" if basis else name

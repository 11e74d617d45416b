"""What runs of a chip, workload and size usually reach: whether a result, or a plan, is normal."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from aisbench_core.base.formats import format_number
from aisbench_core.base.messages import Message, choose_plural, join_parts
from aisbench_core.domain.statistics.prediction import Band
from aisbench_core.model.columns import FINGERPRINTED

# Columns whose values runs must share. One of CHIP is enough: the first that is known of a run.
SHARED = (*FINGERPRINTED, "throughput_unit", "node_count", "cards_per_node", "rehearsal")
CHIP = ("accelerator", "flavor", "pool_id")


@dataclass(frozen=True, slots=True)
class Likeness:
    """What runs must have in common to be like a run.

    `values`: of the columns SHARED and CHIP. `synthetic_data`: None before a launch: both are alike."""

    values: Mapping[str, object]
    synthetic_data: bool | None
    speed_parameters: Mapping[str, object] | None
    """Parameters that decide speed; None of a recorded run: those of its configuration."""


# Equal values have a band without a width, whose ends are rounded.
ROUNDING = 1e-9


class Normality(StrEnum):
    """Where a value lies."""

    BELOW = "below"
    WITHIN = "within"
    ABOVE = "above"
    UNKNOWN = "unknown"


_PLACES = {
    Normality.BELOW: Message("slower than usual"),
    Normality.WITHIN: Message("as usual"),
    Normality.ABOVE: Message("faster than usual"),
}


@dataclass(frozen=True, slots=True)
class ExpectedSpeed:
    """The band of one more run, from own valid runs and those of trusted bundles; None without enough data.

    `claimed`: that of imported runs that nobody verified."""

    unit: str
    band: Band | None
    own_runs: int
    """Valid runs launched here, of the band or, without one, found."""
    trusted_runs: int
    """Runs of bundles whose key is trusted, likewise."""
    claimed: Band | None
    value: float | None = None
    """The throughput that is judged; null before a launch."""

    @property
    def normality(self) -> Normality:
        """Where the value lies."""
        if self.band is None or self.value is None:
            return Normality.UNKNOWN
        if self.value < self.band.low * (1 - ROUNDING):
            return Normality.BELOW
        return Normality.ABOVE if self.value > self.band.high * (1 + ROUNDING) else Normality.WITHIN

    @property
    def summary(self) -> Message:
        """The same in a few words, without what it rests on."""
        if self.band is None:
            return Message("not enough data on what is usual")
        low, high = format_number(self.band.low), format_number(self.band.high)
        place = _PLACES.get(self.normality, Message("usual"))
        return join_parts(": ", [place, Message("{low}–{high} {unit}", low=low, high=high, unit=self.unit)])

    @property
    def sentence(self) -> Message:
        """Whether it is normal, the band, and what it rests on."""
        if self.band is None:
            return Message("not enough data on what is usual: {sources}", sources=self._name_sources())
        text = Message(
            "95 % of such runs reach {low} to {high} {unit} ({sources})",
            low=format_number(self.band.low),
            high=format_number(self.band.high),
            unit=self.unit,
            sources=self._name_sources(),
        )
        place = _PLACES.get(self.normality)
        return join_parts(": ", [place, text]) if place else text

    @property
    def claims(self) -> Message | None:
        """The band of claims, apart."""
        if self.claimed is None:
            return None
        return choose_plural(
            self.claimed.runs,
            "claimed, unverified: {low} to {high} {unit} ({number} run)",
            "claimed, unverified: {low} to {high} {unit} ({number} runs)",
            low=format_number(self.claimed.low),
            high=format_number(self.claimed.high),
            unit=self.unit,
        )

    def _name_sources(self) -> Message:
        own = choose_plural(self.own_runs, "{number} own run", "{number} own runs")
        trusted = choose_plural(
            self.trusted_runs, "{number} run of trusted bundles", "{number} runs of trusted bundles"
        )
        count = self.band.configurations if self.band else 1
        several = choose_plural(count, "{number} configuration", "{number} configurations")
        return join_parts(", ", [own, *([trusted] if self.trusted_runs else []), *([several] if count > 1 else [])])

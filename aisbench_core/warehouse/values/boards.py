"""Rows of the leaderboard: frozen values, free of SQL. Units as in runs.py; None is "not measured"."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from aisbench_core.base.messages import Hint, Message, join_parts, make_verbatim
from aisbench_core.domain.statistics.summary import SCATTERED_CV
from aisbench_core.model import Mode, Origin
from aisbench_core.warehouse.values.runs import TargetOutcome

# What may distinguish rows that look alike otherwise, and the field of a row that holds it.
ASPECTS = {"accelerator": "accelerator", "image": "image", "code": "code_sha256", "data": "dataset_sha256"}

UNKNOWN = "unknown"
_NOT_KNOWN = {
    "image": Message("image"),
    "code": Message("code"),
    "data": Message("data"),
    "parameters": Message("parameters"),
    "spec": Message("other fields of the spec"),
}
_MAKES_KNOWN = {
    "image": Message("name the image by its digest (@sha256:…)"),
    "code": Message("let the console upload the code instead of naming an algorithm"),
    "data": Message("read it from inputs that can be listed, or let the job report its hash"),
    "parameters": Message("import the results with their parameters"),
    "spec": Message("export the results again with an updated console"),
}
_SHA256 = re.compile(r"\b[0-9a-f]{64}\b")


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A group of runs: the same benchmark configuration on the same hardware, image, code and data.

    Statistics are over the `runs` valid runs only: `throughput` is their median, `olympic_mean` their mean without the
    best and the worst (from 5 runs on), `cv` their coefficient of variation (from 2 on). A group without a valid run
    has runs=0, no statistics, and a `reason` (ids of the failed checks, or the state). `rank_from` and `rank_to` are
    the ranks it may have among the rows with its fingerprint, unit and data: they differ where 95 % confidence
    intervals of the mean overlap. Imported rows have none; rows of which something that decides speed is `not_known`
    (names separated by `;`) have neither a rank nor an interval. Accuracy on synthetic data does not count.
    `median_run_id` is the valid run in the middle by throughput, the slower one of two, and `accuracy` its accuracy.
    `differs_in` names the ASPECTS in which this row differs from rows that look the same, separated by `;`. Costs are
    in `currency`: there are none if the valid runs have several. `reached` and `missed` are how many of the `runs`
    have an accuracy of at least, or below, the `accuracy_target` of their workload, the highest if they state several;
    rows with a missed target rank after those without.
    """

    workload: str
    title: str
    model: str
    framework: str
    framework_version: str
    accelerator: str
    flavor: str
    pool_id: str
    node_count: int | None
    cards_per_node: int | None
    mode: Mode
    throughput_definition: str
    throughput_unit: str
    dataset: str
    fingerprint: str
    synthetic_data: bool
    rehearsal: bool
    runs: int
    """Number of valid runs."""
    invalid: int
    """Number of runs whose result is not valid."""
    incomplete: int
    """Number of runs without a complete result."""
    set_aside: int
    """Number of runs that would count, but a person set them aside."""
    throughput: float | None
    best: float | None
    """The highest value, in `throughput_unit`."""
    olympic_mean: float | None
    mean: float | None
    """Arithmetic mean, in `throughput_unit`."""
    ci_low: float | None
    """Lower end of the 95 % interval, in the unit of the mean."""
    ci_high: float | None
    """Upper end of the 95 % interval, in the unit of the mean."""
    cv: float | None
    per_node: float | None
    per_card: float | None
    best_accuracy: float | None
    median_accuracy: float | None
    best_run_id: str | None
    best_by: str | None
    best_at: datetime | None
    latest_run_id: str
    latest_at: datetime | None
    reason: str
    rank_from: int | None
    """Best rank that the 95 % intervals allow, from 1; with one run (`runs`) it is unconfirmed."""
    rank_to: int | None
    """Worst rank that the 95 % intervals allow."""
    origin: Origin
    image: str = ""
    code_sha256: str = ""
    dataset_sha256: str = ""
    median_run_id: str | None = None
    accuracy: float | None = None
    differs_in: str = ""
    average_power_w: float | None = None
    cost: float | None = None
    cost_per_million_samples: float | None = None
    currency: str = ""
    accuracy_target: float | None = None
    reached: int = 0
    """Valid runs whose accuracy reached the target of their workload."""
    missed: int = 0
    """Valid runs whose accuracy is below their target."""
    not_known: str = ""
    primary_metric: str = ""
    """The metric that stands in place of the throughput; empty: none does."""
    is_lower_better: bool = False
    """Whether the best run is the one with the lowest number."""

    @property
    def target_outcome(self) -> TargetOutcome:
        """Whether its valid runs reached the target of their workload; one that missed it is never hidden."""
        if self.missed:
            return TargetOutcome.MISSED if self.missed == self.runs else TargetOutcome.PARTLY_MISSED
        if self.accuracy_target is None and self.runs:
            return TargetOutcome.NOT_STATED
        return TargetOutcome.REACHED if self.reached else TargetOutcome.NOT_MEASURED

    @property
    def is_confirmed(self) -> bool:
        """Whether its rank is one: a single run is a point, and where some runs missed the target no place is sure."""
        return self.rank_from is not None and self.runs > 1 and self.target_outcome is not TargetOutcome.PARTLY_MISSED

    @property
    def is_scattered(self) -> bool:
        """Whether its runs scatter too much for their mean to say much."""
        return self.cv is not None and self.cv >= SCATTERED_CV

    @property
    def system(self) -> str:
        """What distinguishes it from rows that look the same, as "code=1a2b3c4d, data=unknown"; else empty."""
        return ", ".join(
            f"{name}={abbreviate_value(getattr(self, ASPECTS[name]))}" for name in self.differs_in.split(";") if name
        )

    @property
    def mixed(self) -> Hint:
        """That its runs may differ in something that decides speed and is not known; empty where all is known."""
        return mixed_or_unknown(self.not_known)

    @property
    def rank(self) -> str:
        """The rank as text: "2", or "2–4" where intervals overlap; empty without a valid run."""
        if self.rank_from is None:
            return ""
        return str(self.rank_from) if self.rank_from == self.rank_to else f"{self.rank_from}–{self.rank_to}"


@dataclass(frozen=True, slots=True)
class BoardPage:
    """One page of the leaderboard, and how many rows there are in all. `rehearsal` says which kind is shown."""

    rows: tuple[BoardRow, ...]
    total: int
    rehearsal: bool


@dataclass(frozen=True, slots=True)
class BenchmarkBoard:
    """One benchmark's configurations, the best first: at most as many as were requested, and how many there are."""

    rows: tuple[BoardRow, ...]
    total: int


@dataclass(frozen=True, slots=True)
class BenchmarkPage:
    """One page of benchmarks, each a row here, and how many there are in all."""

    rows: tuple[BenchmarkBoard, ...]
    total: int
    rehearsal: bool


def mixed_or_unknown(*rows: str) -> Hint:
    """What is `not_known` of any of these rows, as a sentence; empty where all is known."""
    names = _join_not_known(rows)
    return Message("mixed or unknown: {names}", names=names) if names else ""


def explain_no_verdict(*rows: str) -> Hint:
    """Why these rows are not compared, in place of a verdict; empty where all is known."""
    names = _join_not_known(rows)
    return Message("No verdict: the runs may differ in {names}", names=names) if names else ""


def _join_not_known(rows: Iterable[str]) -> Hint:
    names = dict.fromkeys(name for row in rows for name in row.split(";") if name)
    return join_parts(", ", map(_not_known, names)) if names else ""


def what_makes_known(*rows: str) -> Hint:
    """What to do so that later runs are compared; empty where all is known, and for names of other versions."""
    names = dict.fromkeys(name for row in rows for name in row.split(";") if name)
    ways = [way for name in names if (way := _way_to_know(name))]
    return Message("To make later runs comparable: {ways}", ways=join_parts("; ", ways)) if ways else ""


def _way_to_know(name: str) -> Message | None:
    group, _, parameter = name.partition(".")
    if group == "parameters" and parameter:
        return Message("put the file of parameter {name} into the code folder", name=parameter)
    if group == "llm" and parameter:
        return Message("state {name} in section llm of the workload's manifest", name=parameter)
    return _MAKES_KNOWN.get(name)


def _not_known(name: str) -> Message:
    group, _, parameter = name.partition(".")
    if group == "parameters" and parameter:
        return Message("file of parameter {name}", name=parameter)
    return _NOT_KNOWN.get(name) or make_verbatim(name)  # imported rows bring what other versions name


def abbreviate_value(value: str) -> str:
    """A value as short text: the first eight digits of each SHA-256, and "unknown" instead of nothing."""
    return _SHA256.sub(lambda match: match[0][:8], value) or UNKNOWN


class Hardware(Protocol):
    """What a run ran on: a row, a run or a curve."""

    @property
    def flavor(self) -> str: ...

    @property
    def pool_id(self) -> str: ...

    @property
    def accelerator(self) -> str: ...


def describe_hardware(where: Hardware) -> str:
    """The instance type; without one, the pool and the accelerator."""
    return where.flavor or " · ".join(part for part in (where.pool_id, where.accelerator) if part)

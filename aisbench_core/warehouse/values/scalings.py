"""Curves of throughput over node counts: frozen values, free of SQL.

Throughputs are in the workload's own unit, shares and efficiencies fractions. None is "not measured" or "unknown".
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from aisbench_core.base.messages import Hint
from aisbench_core.domain.statistics.amdahl import AmdahlFit, FitProblem
from aisbench_core.model.version_order import VersionKey, version_key
from aisbench_core.warehouse.values.boards import ASPECTS, abbreviate_value, mixed_or_unknown
from aisbench_core.warehouse.values.compared import RunDot
from aisbench_core.warehouse.values.configurations import BenchmarkConfiguration, short_id, without_launched

FITTED = 3  # node counts from which on a law can be fitted


@dataclass(frozen=True, slots=True)
class ConfigurationRow:
    """A benchmark configuration with valid runs in cluster mode, and on how many node counts they ran."""

    configuration: BenchmarkConfiguration
    title: str
    model: str
    workload: str
    dataset: str
    runs: int
    node_counts: int
    latest_at: datetime


@dataclass(frozen=True, slots=True)
class ConfigurationPage:
    """One page of configurations, launched ones on most node counts first, and how many there are."""

    rows: tuple[ConfigurationRow, ...]
    total: int
    rehearsal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingQuery(BenchmarkConfiguration):
    """One benchmark configuration on one system, to be followed over node counts."""

    framework_version: str
    flavor: str
    cards_per_node: int | None
    pool_id: str = ""
    accelerator: str = ""
    image: str = ""
    code_sha256: str = ""
    dataset_sha256: str = ""
    metric: str = ""
    """The one in place of the throughput, counted by `definition`."""
    definition: str = ""

    @property
    def id(self) -> str:
        """A short name that stays the same for ever: URLs hold it."""
        return short_id(self._list_cells())

    @property
    def id_of_any_system(self) -> str:
        """The same without accelerator, image, code and data: the id in URLs from before these told curves apart."""
        return short_id({name: value for name, value in self._list_cells().items() if name not in ASPECTS.values()})

    def _list_cells(self) -> dict[str, Any]:
        cells = without_launched(asdict(self))
        for name in () if self.metric else ("metric", "definition", "throughput_unit"):
            del cells[name]  # not covered by the ids of throughputs that URLs hold
        return cells


@dataclass(frozen=True, slots=True)
class ScalingPoint:
    """The valid runs on `node_count` nodes: their median, and their mean with its 95 % interval (from 2 runs on).

    speed_up = T(n)/T(n0), efficiency = T(n)·n0/(n·T(n0)), of medians; ideal is n/n0; None where the curve has no
    ideal. `dots` are single runs, at most MAX_DOTS of them."""

    node_count: int
    runs: int
    throughput: float
    speed_up: float | None
    efficiency: float | None
    ideal: float | None
    mean: float
    ci_low: float | None
    ci_high: float | None
    dots: tuple[RunDot, ...]


@dataclass(frozen=True, slots=True)
class ExcludedRuns:
    """Runs that do not count: `why` is a validity, "nodes not known" of an imported result without a node count, or
    "mixed or unknown" of launched ones of which something that decides speed is not known, or "target missed"."""

    why: str
    node_count: int | None
    runs: int


def describe_systems(curves: Iterable[ScalingQuery]) -> Mapping[str, str]:
    """What distinguishes each curve from others of the same version and hardware, by its id, as "code=1a2b3c4d"."""
    similar: dict[str, list[ScalingQuery]] = defaultdict(list)
    for curve in curves:
        similar[curve.id_of_any_system].append(curve)
    return {curve.id: _describe_system(curve, group) for group in similar.values() for curve in group}


def _describe_system(curve: ScalingQuery, similar: Sequence[ScalingQuery]) -> str:
    differing = [name for name, field in ASPECTS.items() if len({getattr(other, field) for other in similar}) > 1]
    return ", ".join(f"{name}={abbreviate_value(getattr(curve, ASPECTS[name]))}" for name in differing)


@dataclass(frozen=True, slots=True)
class Scaling:
    """Median throughput by node count, from the smallest (`base_nodes`) on.

    Empty without a valid run, and in single-server mode, where servers do not work together. `fit` holds the serial
    share, or why it is unknown. `not_known`: as of rows of the leaderboard; what the points of imported results have in
    common then is only what these state. Not `scales`: a metric that is no rate of all ranks, or a value of 0 or less,
    so that nothing is ideal. Fields are keys of `aisbench scaling --json`."""

    query: ScalingQuery
    points: tuple[ScalingPoint, ...]
    base_nodes: int | None
    throughput_unit: str
    fit: AmdahlFit
    left_out: tuple[ExcludedRuns, ...] = ()
    not_known: str = ""
    scales: bool = True

    @classmethod
    def empty(cls, query: ScalingQuery) -> "Scaling":
        """A curve without any run in cluster mode."""
        return cls(query, (), None, "", AmdahlFit(FitProblem.TOO_FEW))

    @property
    def mixed(self) -> Hint:
        """What is mixed or unknown, as a sentence; empty where all is known."""
        return mixed_or_unknown(self.not_known)

    @property
    def largest(self) -> int:
        """The largest node count that was measured; larger ones are extrapolated. 0 without any."""
        return self.points[-1].node_count if self.points else 0


def newest_curves(curves: Sequence[Scaling]) -> list[Scaling]:
    """For each hardware the newest version on FITTED node counts or more; where none has so many, on the most.

    Hardware that was measured on one node count only is left out, unless all of it was."""
    by_hardware: defaultdict[tuple[str, str, int | None], list[Scaling]] = defaultdict(list)
    for curve in curves:
        by_hardware[curve.query.flavor, curve.query.pool_id, curve.query.cards_per_node].append(curve)

    def rank(curve: Scaling) -> tuple[int, VersionKey]:
        return min(len(curve.points), FITTED), version_key(curve.query.framework_version)

    newest = [max(several, key=rank) for several in by_hardware.values()]
    return [curve for curve in newest if len(curve.points) > 1] or newest

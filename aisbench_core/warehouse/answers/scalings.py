"""What the warehouse answers about growth over nodes: frozen values, free of SQL.

Throughputs are in the workload's own unit, shares and efficiencies fractions. None means "not measured" or "cannot be
said".
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from aisbench_core.model import Origin, canonical_json
from aisbench_core.statistics.amdahl import AmdahlFit, Misfit
from aisbench_core.warehouse.answers.boards import ASPECTS, named
from aisbench_core.warehouse.answers.compared import RunDot
from aisbench_core.warehouse.values import RunRow


@dataclass(frozen=True, slots=True)
class ScalingQuestion:
    """What was trained, and where: runs that may lie in one picture. The fingerprint holds what decides speed.

    Imported results form questions of their own: what they claim is no base for what was measured here."""

    region: str
    rehearsal: bool
    synthetic_data: bool
    fingerprint: str
    throughput_unit: str
    origin: Origin = Origin.LAUNCHED

    @classmethod
    def of(cls, run: RunRow) -> "ScalingQuestion":
        """The question that a run answers."""
        return cls(**{field.name: getattr(run, field.name) for field in fields(cls)})

    @property
    def id(self) -> str:
        """A short name that stays the same for ever."""
        return _id_of(asdict(self))


def _id_of(cells: dict[str, Any]) -> str:
    """Of launched runs it is what it was before imported ones had curves of their own."""
    named = {name: value for name, value in cells.items() if (name, value) != ("origin", Origin.LAUNCHED)}
    return hashlib.sha256(canonical_json(named).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A question with valid runs in cluster mode: what it is about, and on how many node counts they were made."""

    question: ScalingQuestion
    title: str
    model: str
    workload: str
    dataset: str
    runs: int
    node_counts: int
    latest_at: datetime


@dataclass(frozen=True, slots=True)
class QuestionPage:
    """One page of questions, those of launched runs and on most node counts first, and how many there are in all."""

    rows: tuple[QuestionRow, ...]
    total: int
    rehearsal: bool


@dataclass(frozen=True, slots=True)
class ScalingQuery:
    """One workload with one configuration on one system, to be followed over node counts."""

    region: str
    fingerprint: str
    framework_version: str
    flavor: str
    cards_per_node: int | None
    synthetic_data: bool = False
    rehearsal: bool = False
    pool_id: str = ""
    accelerator: str = ""
    image: str = ""
    code_sha256: str = ""
    dataset_sha256: str = ""
    origin: Origin = Origin.LAUNCHED

    @classmethod
    def of(cls, run: RunRow) -> "ScalingQuery":
        """The curve that a run lies on."""
        return cls(**{field.name: getattr(run, field.name) for field in fields(cls)})

    @property
    def id(self) -> str:
        """A short name that stays the same for ever."""
        return _id_of(asdict(self))

    @property
    def id_of_any_system(self) -> str:
        """The name that it had while accelerator, image, code and data were not looked at: addresses may hold it."""
        cells = {name: value for name, value in asdict(self).items() if name not in ASPECTS.values()}
        return _id_of(cells)


@dataclass(frozen=True, slots=True)
class ScalingPoint:
    """The valid runs on `node_count` nodes: their median, and their mean with its 95 % interval (from 2 runs on).

    speed_up = T(n)/T(n0), efficiency = T(n)·n0/(n·T(n0)), of medians; ideal is n/n0. `dots` are single runs, at most
    MOST_DOTS of them."""

    node_count: int
    runs: int
    throughput: float
    speed_up: float
    efficiency: float
    ideal: float
    mean: float
    ci_low: float | None
    ci_high: float | None
    dots: tuple[RunDot, ...]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Runs that do not count: `why` is a validity, or "nodes not known" of an imported result that does not tell."""

    why: str
    node_count: int | None
    runs: int


def systems(curves: Iterable[ScalingQuery]) -> Mapping[str, str]:
    """What tells each curve from others of the same version and hardware, by its id, as "code=1a2b3c4d"."""
    alike: dict[str, list[ScalingQuery]] = {}
    for curve in curves:
        alike.setdefault(curve.id_of_any_system, []).append(curve)
    return {each.id: _system(each, some) for some in alike.values() for each in some}


def _system(one: ScalingQuery, alike: Sequence[ScalingQuery]) -> str:
    differing = [name for name, field in ASPECTS.items() if len({getattr(each, field) for each in alike}) > 1]
    return ", ".join(f"{name}={named(getattr(one, ASPECTS[name]))}" for name in differing)


@dataclass(frozen=True, slots=True)
class Scaling:
    """Throughput (median) against node count, from the smallest node count that exists (`base_nodes`) on.

    Empty when there is no valid run, and in single-server mode, where servers do not work together. `fit` says how
    large the serial share is, or why that cannot be said."""

    query: ScalingQuery
    points: tuple[ScalingPoint, ...]
    base_nodes: int | None
    throughput_unit: str
    fit: AmdahlFit
    left_out: tuple[LeftOut, ...] = ()

    @classmethod
    def empty(cls, query: ScalingQuery) -> "Scaling":
        """Nothing was measured in cluster mode."""
        return cls(query, (), None, "", AmdahlFit(Misfit.TOO_FEW))

    @property
    def largest(self) -> int:
        """The largest node count that was measured; beyond, everything is extrapolated. 0 without any."""
        return self.points[-1].node_count if self.points else 0

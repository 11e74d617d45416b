"""What the leaderboard answers: frozen values, free of SQL. Units as in values.py; None always means "not measured"."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from aisbench_core.model import Mode, Origin

ASPECTS = {"accelerator": "accelerator", "image": "image", "code": "code_sha256", "data": "dataset_sha256"}
"""What may tell rows apart that look alike otherwise, and the field of a row that holds it."""

UNKNOWN = "unknown"
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class BoardRow:
    """Runs that asked for the same thing on the same hardware, image, code and data.

    Every statistic is over the valid runs only (`runs` of them): `throughput` is their median, `olympic_mean` their
    mean without the best and the worst (from 5 runs on), `cv` their coefficient of variation (from 2 on). A group
    without a valid run has runs=0, no statistic, and says why in `reason` (ids of the failed checks, or the state).
    `rank_from` and `rank_to` are the places it may hold among the rows with its fingerprint and unit: they differ where
    95 % confidence intervals of the mean overlap; imported rows hold none. Accuracy on synthetic data is never counted.
    `median_run_id` is the valid run in the middle by throughput, the slower one of two, and `accuracy` what it reached.
    `differs_in` names the ASPECTS in which rows differ that look like this one, separated by `;`.
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
    invalid: int
    incomplete: int
    throughput: float | None
    best: float | None
    olympic_mean: float | None
    mean: float | None
    ci_low: float | None
    ci_high: float | None
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
    rank_to: int | None
    origin: Origin
    image: str = ""
    code_sha256: str = ""
    dataset_sha256: str = ""
    median_run_id: str | None = None
    accuracy: float | None = None
    differs_in: str = ""
    average_power_w: float | None = None

    @property
    def system(self) -> str:
        """What tells it from rows that look alike, as "code=1a2b3c4d, data=unknown"; empty without such rows."""
        return ", ".join(f"{name}={named(getattr(self, ASPECTS[name]))}" for name in self.differs_in.split(";") if name)

    @property
    def rank(self) -> str:
        """The place for a person: "2", or "2–4" where the data cannot tell; empty without a valid run."""
        if self.rank_from is None:
            return ""
        return str(self.rank_from) if self.rank_from == self.rank_to else f"{self.rank_from}–{self.rank_to}"


@dataclass(frozen=True, slots=True)
class BoardPage:
    """One page of the leaderboard, and how many rows there are in all. `rehearsal` says which kind is shown."""

    rows: tuple[BoardRow, ...]
    total: int
    rehearsal: bool


def named(value: str) -> str:
    """A value in a few letters: of a SHA-256 its first eight digits."""
    return (value[:8] if _SHA256.fullmatch(value) else value) or UNKNOWN


class Hardware(Protocol):
    """Whatever says where a run ran: a row, a run, a curve."""

    @property
    def flavor(self) -> str: ...

    @property
    def pool_id(self) -> str: ...

    @property
    def accelerator(self) -> str: ...


def hardware(where: Hardware) -> str:
    """The instance type; of a dedicated pool, or where no instance type is known, the accelerator beside the pool."""
    return where.flavor or " · ".join(part for part in (where.pool_id, where.accelerator) if part)

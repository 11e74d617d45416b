"""Benchmark configurations: what was trained, in which region and unit, whatever it ran on."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from aisbench_core.model import Origin, canonical_json
from aisbench_core.warehouse.values.runs import RunRow


@dataclass(frozen=True, slots=True)
class BenchmarkConfiguration:
    """Runs that differ in hardware, software and repetition only: the fingerprint covers what decides speed besides.

    Imported results form configurations of their own: what they claim is no base for what was measured here."""

    region: str
    rehearsal: bool
    synthetic_data: bool
    fingerprint: str
    throughput_unit: str
    origin: Origin = Origin.LAUNCHED

    @classmethod
    def of(cls, run: RunRow) -> Self:
        """The one that a run belongs to by its throughput."""
        return cls(**{field.name: getattr(run, field.name) for field in fields(cls) if hasattr(run, field.name)})

    @property
    def id(self) -> str:
        """A short name that stays the same for ever: URLs hold it."""
        return short_id(without_launched(asdict(self)))


def short_id(cells: Mapping[str, Any]) -> str:
    """The first 12 hex digits of a SHA-256 over canonical JSON."""
    return hashlib.sha256(canonical_json(dict(cells)).encode()).hexdigest()[:12]


def without_launched(cells: Mapping[str, Any]) -> dict[str, Any]:
    """The cells without the origin of launched runs: ids in URLs are older than imported results."""
    return {name: value for name, value in cells.items() if (name, value) != ("origin", Origin.LAUNCHED)}

"""Runs in lists: what every list says of a run; `RunRow` tells all of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from aisbench_core.model import Mode, Origin, RunState
from aisbench_core.warehouse.values import Validity


@dataclass(frozen=True, slots=True)
class ListedRun:
    """One run: what it was asked for, how fast it was, and what that is worth; units are RunRow's.

    `parameters` are those that decide speed; None where an imported run does not
    tell. `failed_checks` and `warned_checks` are ids, separated by `;`."""

    run_id: str
    created_at: datetime
    created_by: str
    title: str
    framework: str
    state: RunState
    ended_at: datetime | None
    queue_s: float | None
    duration_s: float | None
    parameters: Mapping[str, object] | None
    tags: tuple[str, ...]
    throughput: float | None
    per_node: float | None
    per_card: float | None
    accuracy: float | None
    rank_cv: float | None
    average_power: float | None
    validity: Validity
    failed_checks: str
    warned_checks: str
    region: str
    rehearsal: bool
    synthetic_data: bool
    workload: str
    model: str
    framework_version: str
    throughput_definition: str
    throughput_unit: str
    dataset: str
    mode: Mode
    flavor: str
    pool_id: str
    node_count: int | None
    cards_per_node: int | None
    fingerprint: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of runs, and how many there are in all. `rehearsal` says which kind is shown."""

    rows: tuple[ListedRun, ...]
    total: int
    rehearsal: bool

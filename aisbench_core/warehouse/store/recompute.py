"""Recomputes what follows from a run's stored cells: the record's hash, and every derived number.

Of a run that another console exported, cards and samples stayed there: of what was computed from them, the hash is the
only proof.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.model import (
    Annotations,
    CollectedResult,
    Mode,
    Origin,
    RankResult,
    RunSpec,
    RunState,
    TrainResultInfo,
    canonical_json,
)
from aisbench_core.model.annotation import NO_ANNOTATIONS
from aisbench_core.model.columns import KEYS, LATER_KEYS
from aisbench_core.warehouse.answers.group_statistics import group_id
from aisbench_core.warehouse.records import annotations, throughput
from aisbench_core.warehouse.records.fingerprint import fingerprint_of
from aisbench_core.warehouse.records.record_hash import hashes, read_json
from aisbench_core.warehouse.records.rows import UTILISATION, queue_seconds, throughput_cells
from aisbench_core.warehouse.store import Progress, Store
from aisbench_core.warehouse.store.schema import RESULTS, RUNS
from aisbench_core.warehouse.validity.evaluation import stored_checks
from aisbench_core.warehouse.values import CheckLevel, Validity

# Runs whose cells are in memory at a time.
CHUNK = 5000

# Sums depend on the order of their terms, in the last digits.
TOLERANCE = 1e-9

HASH = "record_sha256"

_INFO = tuple(key.stored_name for key in KEYS if key.stored_name not in LATER_KEYS)
_OF_SPEC = tuple(name for name in RUNS if name in RunSpec.model_fields)

Cells = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What is stored of a run and determines other cells: `cards` in their order; `utilisation` from samples, if there
    are any."""

    run: Cells
    result: Cells
    cards: Sequence[Sequence[Any]]
    utilisation: float | None
    has_samples: bool
    annotations: Annotations

    @property
    def is_carried(self) -> bool:
        """Whether its numbers were computed in the console that exported it, where its cards and samples are."""
        is_export = bool(self.run["spec_sha256"]) or self.result["formula_id"] != throughput.AS_REPORTED
        return self.run["origin"] == Origin.IMPORTED and not self.cards and is_export


@dataclass(frozen=True, slots=True)
class ColumnMismatch:
    """Columns of one table that do not follow from the run's other cells."""

    run_id: str
    table: str
    columns: tuple[str, ...]


def differences(store: Store, on_progress: Progress) -> Iterator[ColumnMismatch]:
    """The mismatches of all runs. Other writers get their turn after each chunk."""
    with store.cursor() as cur:
        run_ids = [run_id for (run_id,) in cur.execute("select distinct run_id from runs order by run_id").fetchall()]
    for start in range(0, len(run_ids), CHUNK):
        chunk = run_ids[start : start + CHUNK]
        with store.cursor() as cur:
            stored = _stored(cur, chunk)
        for run in stored:
            yield from _mismatches(run)
        on_progress(start + len(chunk), len(run_ids))


def _stored(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> list[StoredRun]:
    condition = "run_id between ? and ? and run_id in (select unnest(?::VARCHAR[]))"
    bounds = [run_ids[0], run_ids[-1], list(run_ids)]
    runs, results = (
        {row[0]: dict(zip(columns, row, strict=True)) for row in cur.execute(query, bounds).fetchall()}
        for table, columns in (("runs", RUNS), ("results", RESULTS))
        for query in [f"select {', '.join(columns)} from {table} where {condition}"]
    )
    cards = defaultdict(list)
    query = f"select run_id, server, rank, throughput from rank_results where {condition} order by rowid"
    for card in cur.execute(query, bounds).fetchall():
        cards[card[0]].append(card)
    query = f"""select run_id, avg(value) filter (name = '{UTILISATION}' and value between 0 and 100)
        from metric_samples where {condition} group by run_id"""
    utilisation = dict(cur.execute(query, bounds).fetchall())
    annotated = annotations.select(cur, run_ids)
    return [
        StoredRun(
            runs[run_id],
            results[run_id],
            cards[run_id],
            utilisation.get(run_id),
            run_id in utilisation,
            annotated.get(run_id, NO_ANNOTATIONS),
        )
        for run_id in run_ids
        if run_id in runs and run_id in results
    ]


def _mismatches(stored: StoredRun) -> Iterator[ColumnMismatch]:
    run_id = stored.run["run_id"]
    for table, cells, computed in (
        ("runs", stored.run, _of_run(stored)),
        ("results", stored.result, _of_result(stored)),
    ):
        wrong = tuple(name for name, value in computed.items() if not _is_same(cells[name], value))
        if wrong:
            yield ColumnMismatch(run_id, table, wrong)
    if stored.run[HASH] not in hashes(stored.run, stored.result, stored.cards, stored.annotations):
        yield ColumnMismatch(run_id, "runs", (HASH,))


def _is_same(stored: Any, computed: Any) -> bool:
    if isinstance(stored, float) and isinstance(computed, float):
        return math.isclose(stored, computed, rel_tol=TOLERANCE)
    return bool(stored == computed)


# --- runs ---------------------------------------------------------------------------------------------


def _of_run(stored: StoredRun) -> Cells:
    run = stored.run
    imported = run["origin"] == Origin.IMPORTED
    spec = _object(run["spec"])
    computed: Cells = {name: spec[name] for name in _OF_SPEC if name in spec and not (imported and name == "api")}
    computed |= {"group_id": group_id(run), "tags": canonical_json(list(stored.annotations.tags))}
    if run["node_count"] is not None and run["cards_per_node"] is not None:
        computed["card_count"] = run["node_count"] * run["cards_per_node"]
    if run["system"] is not None:
        computed["system_fields"] = len(_object(run["system"]))
    note = stored.annotations.note
    if note and run["note"] != note and not run["note"].startswith(f"{note}; "):
        computed["note"] = note
    if not imported:
        computed["image"] = spec.get("image_url") or run["engine_version"]
        computed["spec_sha256"] = _spec_sha256(run["spec"])
        computed["queue_s"] = queue_seconds(run["submitted_at"], run["started_at"])
    if not stored.is_carried:
        speed = run["speed_parameters"]
        computed["fingerprint"] = fingerprint_of(
            **{name: run[name] for name in ("workload", "model", "dataset", "mode", "throughput_definition")},
            speed_parameters=_object(speed) if speed != "null" else None,
        )
    return computed


def _object(text: str) -> Mapping[str, Any]:
    value = read_json(text)
    return value if isinstance(value, dict) else {}


@lru_cache(maxsize=8192)
def _spec_sha256(text: str) -> str:
    try:
        return RunSpec.model_validate_json(text).sha256
    except ValueError:
        return ""


# --- results ------------------------------------------------------------------------------------------


def _of_result(stored: StoredRun) -> Cells:
    result = stored.result
    computed = _validity(stored)
    if stored.is_carried:
        return computed
    measured = None if stored.run["synthetic_data"] else result["accuracy"]
    empty = [name for name in _INFO if (measured if name == "accuracy" else result[name]) is None]
    computed |= {"accuracy_measured": measured, "not_measured": canonical_json(empty), **_throughput(stored)}
    if stored.has_samples or stored.run["origin"] != Origin.IMPORTED:
        computed["npu_util_avg_pct"] = stored.utilisation
    return computed


def _throughput(stored: StoredRun) -> Cells:
    run, result = stored.run, stored.result
    cards = [RankResult(server, rank, math.nan if value is None else value) for _, server, rank, value in stored.cards]
    collected = None
    if result["ranks_expected"] is not None:
        collected = CollectedResult(result["ranks_expected"], tuple(cards), TrainResultInfo(), "")
    mode = Mode(run["mode"])
    sizes = throughput.RunSize(mode, run["node_count"], run["cards_per_node"])
    if run["origin"] == Origin.IMPORTED and collected and not cards:
        computed = throughput.reported(result["throughput_ratio"], sizes)
    else:
        computed = throughput.computed(collected, sizes)
    cells = throughput_cells(computed, mode)
    if computed.total:  # of imported runs, recording can have known sizes that are not stored
        cells = {name: value for name, value in cells.items() if value is not None or name not in _PER_SIZE}
    return {**cells, "ranks_found": throughput.count_cards(collected) if collected else None}


_PER_SIZE = ("throughput_per_node", "throughput_per_card")


def _validity(stored: StoredRun) -> Cells:
    """What follows from the stored checks; `aisbench validate` says whether they would be the same today."""
    run, result = stored.run, stored.result
    try:
        checks = stored_checks(result["checks"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {"checks": "[]"}
    failed, warned = (
        ";".join(check.id for check in checks if check.level is level) for level in (CheckLevel.FAIL, CheckLevel.WARN)
    )
    computed: Cells = {"failed_checks": failed, "warned_checks": warned}
    if result["validity"] == Validity.VALID or run["origin"] == Origin.LAUNCHED:
        incomplete = result["ranks_expected"] is None or run["state"] != RunState.COMPLETED
        completed = Validity.INVALID if failed else Validity.VALID
        computed["validity"] = Validity.INCOMPLETE if incomplete else completed
    return computed

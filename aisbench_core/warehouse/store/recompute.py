"""Computes again what the stored cells of a run say of each other: its record's hash, and every number that follows.

Of a run that another console exported, cards and samples stayed there: what was computed from them is covered by the
hash alone.
"""

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.model import (
    CollectedResult,
    Mode,
    Origin,
    RankResult,
    Remarks,
    RunSpec,
    RunState,
    TrainResultInfo,
    canonical_json,
)
from aisbench_core.model.columns import KEYS, LATER_KEYS
from aisbench_core.warehouse.answers.group_statistics import group_id
from aisbench_core.warehouse.records import annotations, throughput
from aisbench_core.warehouse.records.card_rows import place_of
from aisbench_core.warehouse.records.fingerprint import fingerprint_of
from aisbench_core.warehouse.records.record_hash import hashes
from aisbench_core.warehouse.records.rows import UTILISATION
from aisbench_core.warehouse.store.connection import Connection
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.store.schema import RESULTS, RUNS
from aisbench_core.warehouse.validity.judging import stored_checks
from aisbench_core.warehouse.values import CheckLevel, Validity

CHUNK = 5000
"""Runs whose cells are held together."""

TOLERANCE = 1e-9
"""Sums depend on the order of what is added, in their last digits."""

_INFO = tuple(key.stored_name for key in KEYS if key.stored_name not in LATER_KEYS)
_OF_SPEC = tuple(name for name in RUNS if name in RunSpec.model_fields)

Cells = dict[str, Any]
Progress = Callable[[int, int], None]
"""Called with how many of how many runs were computed again."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """All that is stored of a run and decides other cells: `cards` in their order, `utilisation` of its samples."""

    run: Cells
    result: Cells
    cards: Sequence[Sequence[Any]]
    utilisation: float | None
    has_samples: bool
    remarks: Remarks

    @property
    def is_carried(self) -> bool:
        """Whether its numbers were computed where its cards and samples are: in the console that exported it."""
        is_export = bool(self.run["spec_sha256"]) or self.result["formula_id"] != throughput.AS_REPORTED
        return self.run["origin"] == Origin.IMPORTED and not self.cards and is_export


@dataclass(frozen=True, slots=True)
class ColumnMismatch:
    """Columns of one table that do not follow from the run's other cells."""

    run_id: str
    table: str
    columns: tuple[str, ...]


HASH = "record_sha256"


def differences(store: Connection | Lake, progress: Progress) -> Iterator[ColumnMismatch]:
    """What does not fit together, run by run. Others get their turn after each chunk."""
    with store.cursor() as cur:
        run_ids = [run_id for (run_id,) in cur.execute("select distinct run_id from runs order by run_id").fetchall()]
    for start in range(0, len(run_ids), CHUNK):
        chunk = run_ids[start : start + CHUNK]
        with store.cursor() as cur:
            found = _stored(cur, chunk)
        for each in found:
            yield from _differences(each)
        progress(start + len(chunk), len(run_ids))


def _stored(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> list[StoredRun]:
    chosen = "run_id between ? and ? and run_id in (select unnest(?::VARCHAR[]))"
    bounds = [run_ids[0], run_ids[-1], list(run_ids)]
    runs, results = (
        {values[0]: dict(zip(columns, values, strict=True)) for values in cur.execute(asked, bounds).fetchall()}
        for table, columns in (("runs", RUNS), ("results", RESULTS))
        for asked in [f"select {', '.join(columns)} from {table} where {chosen}"]
    )
    cards = defaultdict(list)
    asked = f"select run_id, server, rank, throughput from rank_results where {chosen} order by rowid"
    for card in cur.execute(asked, bounds).fetchall():
        cards[card[0]].append(card)
    samples = {
        run_id: (mean, count)
        for run_id, mean, count in cur.execute(
            f"""select run_id, avg(value) filter (name = '{UTILISATION}' and value between 0 and 100), count(*)
            from metric_samples where {chosen} group by run_id""",
            bounds,
        ).fetchall()
    }
    known = annotations.of(cur, run_ids)
    return [
        StoredRun(
            runs[run_id],
            results[run_id],
            cards[run_id],
            samples.get(run_id, (None, 0))[0],
            run_id in samples,
            known.get(run_id, Remarks()),
        )
        for run_id in run_ids
        if run_id in runs and run_id in results
    ]


def _differences(stored: StoredRun) -> Iterator[ColumnMismatch]:
    run_id = stored.run["run_id"]
    for table, cells, computed in (
        ("runs", stored.run, _of_run(stored)),
        ("results", stored.result, _of_result(stored)),
    ):
        wrong = tuple(name for name, value in computed.items() if not _is_same(cells[name], value))
        if wrong:
            yield ColumnMismatch(run_id, table, wrong)
    found = hashes(stored.run, stored.result, stored.cards, stored.remarks)
    if all(each != stored.run[HASH] for each in found):
        yield ColumnMismatch(run_id, "runs", (HASH,))


def _is_same(found: Any, computed: Any) -> bool:
    if isinstance(found, float) and isinstance(computed, float):
        return math.isclose(found, computed, rel_tol=TOLERANCE)
    return bool(found == computed)


# --- a run's own cells --------------------------------------------------------------------------------


def _of_run(stored: StoredRun) -> Cells:
    run = stored.run
    imported = run["origin"] == Origin.IMPORTED
    spec = _read(run["spec"])
    told = {name: spec[name] for name in _OF_SPEC if name in spec and not (imported and name == "api")}
    computed: Cells = {**told, "group_id": group_id(run), "tags": canonical_json(list(stored.remarks.tags))}
    if run["node_count"] is not None and run["cards_per_node"] is not None:
        computed["card_count"] = run["node_count"] * run["cards_per_node"]
    if run["system"] is not None:
        computed["system_fields"] = len(_read(run["system"]))
    person = stored.remarks.note
    if person and run["note"] != person and not run["note"].startswith(f"{person}; "):
        computed["note"] = person
    if not imported:
        computed["image"] = spec.get("image_url") or run["engine_version"]
        computed["spec_sha256"] = _spec_sha256(run["spec"])
        computed["queue_s"] = _seconds(run["submitted_at"], run["started_at"])
    if not imported or not stored.is_carried:
        computed["fingerprint"] = _fingerprint(run)
    return computed


@lru_cache(maxsize=8192)
def _read(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@lru_cache(maxsize=8192)
def _spec_sha256(text: str) -> str:
    try:
        return RunSpec.model_validate_json(text).sha256
    except ValueError:
        return ""


def _fingerprint(run: Cells) -> str:
    return fingerprint_of(
        workload=run["workload"],
        model=run["model"],
        dataset=run["dataset"],
        mode=run["mode"],
        throughput_definition=run["throughput_definition"],
        speed_parameters=_read(run["speed_parameters"]) if run["speed_parameters"] != "null" else None,
    )


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None or end < start else (end - start).total_seconds()


# --- its result ---------------------------------------------------------------------------------------


def _of_result(stored: StoredRun) -> Cells:
    result = stored.result
    computed = _verdict(stored)
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
    whole = None
    if result["ranks_expected"] is not None:
        whole = CollectedResult(result["ranks_expected"], tuple(cards), TrainResultInfo(), "")
    mode = Mode(run["mode"])
    sizes = throughput.RunSize(mode, run["node_count"], run["cards_per_node"])
    if run["origin"] == Origin.IMPORTED and whole and not cards:
        found = throughput.reported(result["throughput_ratio"], sizes)
    else:
        found = throughput.computed(whole, sizes)
    return {
        "formula_id": found.formula_id,
        "throughput_cluster": found.total,
        "ranks_found": throughput.cards_found(whole) if whole else None,
        "rank_cv": found.rank_cv,
        "straggler_ranks": ";".join(place_of(card, mode) for card in found.stragglers),
        **({} if found.total and found.per_node is None else {"throughput_per_node": found.per_node}),
        **({} if found.total and found.per_card is None else {"throughput_per_card": found.per_card}),
    }


def _verdict(stored: StoredRun) -> Cells:
    """What the stored checks decide; whether they would be the same today `aisbench validate` says."""
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
        decided = Validity.INVALID if failed else Validity.VALID
        computed["validity"] = Validity.INCOMPLETE if incomplete else decided
    return computed

"""Whether a warehouse holds what it should: every row readable, each run whole and once, equal to its folder, and no
cell changed since it was recorded."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import duckdb

from aisbench_core.base.errors import WarehouseError
from aisbench_core.base.messages import Hint, Message
from aisbench_core.domain.rulesets.ruleset import Rulesets, get_shipped
from aisbench_core.model import (
    CollectedResult,
    Mode,
    Origin,
    RankResult,
    RunRecord,
    RunSpec,
    RunState,
    TrainResultInfo,
    canonical_json,
)
from aisbench_core.model.columns import KEYS, LATER_KEYS
from aisbench_core.warehouse.maintenance.stored_runs import CHUNK, Cells, StoredRun, read_stored
from aisbench_core.warehouse.measures import throughput
from aisbench_core.warehouse.measures.fingerprint import fingerprint_of, image_of, not_known
from aisbench_core.warehouse.queries import group_statistics
from aisbench_core.warehouse.queries import stored_spending as spending
from aisbench_core.warehouse.records.record import sha256_of_rows
from aisbench_core.warehouse.records.record_hash import iter_hashes, read_json
from aisbench_core.warehouse.records.rows import Rows, queue_seconds, rows_of, throughput_cells
from aisbench_core.warehouse.tables.schema import RUNS, TABLES
from aisbench_core.warehouse.tables.store import Progress, Store
from aisbench_core.warehouse.validity.deciding_rulesets import find_edition, foreign_rulesets
from aisbench_core.warehouse.validity.evaluation import Evaluation, Evaluator, derive_validity, stored_checks
from aisbench_core.warehouse.validity.validation import find_other_verdicts
from aisbench_core.warehouse.values.runs import CheckLevel, Validity

# Tables whose rows per run are compared with the folder: runs has one, and annotations may be made on other machines.
_COUNTED = tuple(table for table in TABLES if table not in ("runs", "annotations"))

REBUILD = Message("run `aisbench warehouse rebuild`")
VALIDATE = Message("run `aisbench validate --store`")

# Table, what is wrong, and the query for such runs.
_MISCOUNTS: Sequence[tuple[str, Callable[[int], Message], str]] = (
    (
        "runs",
        lambda count: Message("is there {count} times", count=count),
        "select run_id, count(*) from runs group by run_id having count(*) > 1",
    ),
    (
        "results",
        lambda count: Message("has {count} results", count=count),
        "select run_id, count(*) from results group by run_id having count(*) > 1",
    ),
    (
        "results",
        lambda _: Message("has no result row"),
        "select run_id, 0 from runs where run_id not in (select run_id from results)",
    ),
    (
        # A run that another console exported has no cards here; that none is missing since, its hash tells.
        "rank_results",
        lambda _: Message("has fewer cards than its result counted"),
        """select run_id, count(rank) from results join runs using (run_id) left join rank_results using (run_id)
        group by run_id, ranks_found, origin
        having count(rank) < coalesce(ranks_found, 0) and (count(rank) > 0 or origin = 'launched')""",
    ),
)


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is not as it should be: where, what, and how to repair it."""

    where: str
    sentence: Message
    hint: Hint


@dataclass(frozen=True, slots=True)
class IntegrityReport:
    """How much was checked, and what is damaged. `unsealed`: runs that are as they should be, as far as warehouse and
    ledger say, and were recorded before folders were sealed."""

    runs: int
    rows: int
    compared: int
    damages: tuple[Damage, ...]
    unsealed: int = 0


def check(
    store: Store,
    records: Iterable[RunRecord],
    loose_files: Iterable[str],
    rulesets: Rulesets,
    on_progress: Progress,
    *,
    mend: bool = False,
) -> IntegrityReport:
    """Read every cell, count rows per run and runs per group, recompute hashes and whatever else follows from other
    cells, and compare with the records in the runs' folders, and the rulesets of verdicts with `rulesets`.

    `mend`: first compute the group statistics anew."""
    if mend:
        store.write(group_statistics.recount_groups)
    with store.cursor() as cur:
        damages = list(_find_unreadable(cur))
        if damages:
            return IntegrityReport(0, 0, 0, tuple(damages))
        rows = sum(int(cur.execute(f"select count(*) from {table}").fetchall()[0][0]) for table in TABLES)
        damages += _find_contradictions(cur)
        damages += [Damage(*problem, VALIDATE) for problem in foreign_rulesets(cur, rulesets)]
        stored = _hashes_and_counts(cur)
    changed = list(_changed_cells(store, on_progress))
    changed_ids = {run_id for run_id, _ in changed}
    damages += _find_other_verdicts(store, rulesets, changed_ids)
    evaluator = Evaluator(get_shipped())  # any will do: verdicts are not compared
    compared = 0
    for record in records:
        compared += 1
        damages += _compare_record(store, record, stored, evaluator, changed_ids)
    damages += [damage for _, damage in changed]
    loose = Message("belongs to nothing"), Message("run `aisbench warehouse compact`")
    damages += [Damage(file, *loose) for file in loose_files]
    return IntegrityReport(len(stored), rows, compared, tuple(damages))


def _find_unreadable(cur: duckdb.DuckDBPyConnection) -> Iterator[Damage]:
    for table, columns in TABLES.items():
        try:
            cur.execute(f"select bit_xor(hash({', '.join(columns)})) from {table}").fetchall()
        except (duckdb.Error, WarehouseError) as error:
            sentence = Message("cannot be read: {reason}", reason=str(error).splitlines()[0])
            yield Damage(
                table, sentence, Message("bring the file back, or {rebuild} on every machine", rebuild=REBUILD)
            )
            return  # DuckDB has aborted the transaction, so no other table can be read either


def _find_contradictions(cur: duckdb.DuckDBPyConnection) -> Iterator[Damage]:
    """Runs that are not there once and whole, and group statistics that do not follow from them."""
    for table, sentence, query in _MISCOUNTS:
        for run_id, count in cur.execute(query).fetchall():
            yield Damage(f"{table}, run {run_id}", sentence(count), REBUILD)
    for table in (name for name in TABLES if name != "annotations"):  # they may wait for a run that is imported again
        query = f"select distinct run_id from {table} where run_id not in (select run_id from runs)"
        for (run_id,) in cur.execute(query).fetchall():
            yield Damage(f"{table}, run {run_id}", Message("has rows, but there is no such run"), REBUILD)
    for month, person in spending.find_differences(cur):
        where, problem = f"spending, {month[:7]}, {person}", Message("is not the sum of its runs")
        yield Damage(where, problem, Message("run `aisbench warehouse check --mend`"))
    for group, columns in group_statistics.find_differences(cur):
        problem = Message("the group's statistics do not follow from its runs: {columns}", columns=columns)
        yield Damage(f"group_statistics, {group}", problem, Message("run `aisbench warehouse check --mend`"))


def _find_other_verdicts(store: Store, rulesets: Rulesets, changed_ids: Collection[str]) -> Iterator[Damage]:
    """Runs with the cells they had whose validity is not what the same edition of its ruleset gives.

    The warnings may have been another version's."""
    with store.cursor() as cur:
        cur.execute("select ruleset_id, ruleset_sha256, list(run_id order by run_id) from results group by all")
        decided = cur.fetchall()
    for ruleset_id, sha256, run_ids in decided:
        if (ruleset := find_edition(rulesets, ruleset_id, sha256)) is None:  # which foreign_rulesets says
            continue
        for start in range(0, len(run_ids), CHUNK):
            with store.cursor() as cur:
                others = list(find_other_verdicts(cur, run_ids[start : start + CHUNK], Evaluator(ruleset)))
            for one in (one for one in others if one.stored != one.computed and one.run_id not in changed_ids):
                says = {"stored": one.stored, "ruleset_id": ruleset_id, "computed": one.computed}
                sentence = Message("its validity is {stored}, and ruleset {ruleset_id} gives {computed}", **says)
                yield Damage(f"results, run {one.run_id}", sentence, VALIDATE)


def _hashes_and_counts(cur: duckdb.DuckDBPyConnection) -> dict[str, tuple[object, ...]]:
    """By run_id, the hash over run, result and cards, then rows per table: equal ones need no comparison by cell."""
    counts = ", ".join(f"(select count(*) from {table} where {table}.run_id = runs.run_id)" for table in _COUNTED)
    cur.execute(f"select run_id, record_sha256, {counts} from runs")
    return {run_id: tuple(rest) for run_id, *rest in cur.fetchall()}


def _compare_record(
    store: Store,
    record: RunRecord,
    stored: dict[str, tuple[object, ...]],
    evaluator: Evaluator,
    changed_ids: Collection[str],
) -> Iterator[Damage]:
    run_id = record.run.run_id
    where = f"run {run_id}"
    if run_id not in stored:
        yield Damage(where, Message("is in its folder, but not in the warehouse"), REBUILD)
        return
    rows = rows_of(record, evaluator)
    if (
        stored[run_id] == (sha256_of_rows(rows), *(len(rows[table]) for table in _COUNTED))
        and run_id not in changed_ids
    ):
        return
    if names := ", ".join(_find_differing(store, run_id, rows)):
        yield Damage(where, Message("differs from what its folder says: {names}", names=names), REBUILD)


# Columns that annotations, other rulesets or later versions decide, so that the folder may say something else.
_NOT_IN_FOLDER = {
    "runs": {"tags", "note", "set_aside", "group_id", "detail_data"},
    "results": {*Evaluation._fields, "problems_data"},
}


def _find_differing(store: Store, run_id: str, rows: Rows) -> Iterator[str]:
    """Columns of a run's row, and tables of several rows, that are not as in its folder."""
    with store.cursor() as cur:
        for table, columns in TABLES.items():
            if table == "annotations":
                continue
            query = f"select {', '.join(columns)} from {table} where run_id = ?"
            stored, expected = cur.execute(query, [run_id]).fetchall(), [tuple(row) for row in rows[table]]
            if table in _NOT_IN_FOLDER and len(stored) == len(expected) == 1:
                pairs = zip(columns, stored[0], expected[0], strict=True)
                yield from (name for name, old, new in pairs if old != new and name not in _NOT_IN_FOLDER[table])
            elif sorted(map(repr, stored)) != sorted(map(repr, expected)):
                yield table


# --- what follows from other cells ------------------------------------------------------------------

# Sums depend on the order of their terms, in the last digits.
TOLERANCE = 1e-9

_INFO = tuple(key.stored_name for key in KEYS if key.stored_name not in LATER_KEYS)
_OF_SPEC = tuple(name for name in RUNS if name in RunSpec.model_fields)


def _changed_cells(store: Store, on_progress: Progress) -> Iterator[tuple[str, Damage]]:
    """The ids and damages of all runs. Other writers get their turn after each chunk."""
    with store.cursor() as cur:
        run_ids = [run_id for (run_id,) in cur.execute("select distinct run_id from runs order by run_id").fetchall()]
    for start in range(0, len(run_ids), CHUNK):
        chunk = run_ids[start : start + CHUNK]
        with store.cursor() as cur:
            stored = read_stored(cur, chunk)
        for run in stored:
            yield from ((run.run["run_id"], damage) for damage in _find_damages(run))
        on_progress(start + len(chunk), len(run_ids))


def _find_damages(stored: StoredRun) -> Iterator[Damage]:
    run, result = stored.run, stored.result
    for table, cells, computed in (("runs", run, _of_run(stored)), ("results", result, _of_result(stored))):
        if wrong := ", ".join(name for name, value in computed.items() if not _is_same(cells[name], value)):
            sentence = Message("does not follow from the run's other cells: {names}", names=wrong)
            yield Damage(f"{table}, run {run['run_id']}", sentence, REBUILD)
    if run["record_sha256"] not in iter_hashes(run, result, stored.cards, stored.metrics, stored.annotations):
        sentence = Message(
            "its cells do not give its {column}: one of them was changed since it was recorded", column="record_sha256"
        )
        yield Damage(f"runs, run {run['run_id']}", sentence, REBUILD)


def _is_same(stored: Any, computed: Any) -> bool:
    if isinstance(stored, float) and isinstance(computed, float):
        return math.isclose(stored, computed, rel_tol=TOLERANCE)
    return bool(stored == computed)


# --- runs ---------------------------------------------------------------------------------------------


def _of_run(stored: StoredRun) -> Cells:
    run = stored.run
    imported = run["origin"] == Origin.IMPORTED
    spec = _parse_object(run["spec"])
    stated = [name for name in _OF_SPEC if (name in spec and name != "api" if imported else True)]
    computed: Cells = {name: spec.get(name, RunSpec.model_fields[name].default) for name in stated}
    said = stored.annotations
    computed |= {"tags": canonical_json(list(said.tags)), "set_aside": said.reason_set_aside}
    computed["group_id"] = group_statistics.group_id(run)
    if run["node_count"] is not None and run["cards_per_node"] is not None:
        computed["card_count"] = run["node_count"] * run["cards_per_node"]
    if run["system"] is not None:
        computed["system_fields"] = len(_parse_object(run["system"]))
    if (note := said.note) and run["note"] != note and not run["note"].startswith(f"{note}; "):
        computed["note"] = note
    if not imported:
        computed["image"] = image_of(spec, run["engine_version"], run["resolved"])
        computed["spec_sha256"] = _spec_sha256(run["spec"])
        if run["queue_s"] is not None:  # it has none if the region's clock was another
            computed["queue_s"] = queue_seconds(run["submitted_at"], run["started_at"])
    if not stored.is_carried:
        speed = _parse_object(run["speed_parameters"]) if run["speed_parameters"] != "null" else None
        computed["fingerprint"] = fingerprint_of(run, spec, speed)
        computed["not_known"] = not_known(run, spec, speed)
    return computed


def _parse_object(text: str) -> Mapping[str, Any]:
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
    computed = _recompute_validity(stored)
    if stored.is_carried:
        return computed
    measured = None if stored.run["synthetic_data"] else result["accuracy"]
    empty = [name for name in _INFO if (measured if name == "accuracy" else result[name]) is None]
    computed |= {"accuracy_measured": measured, "not_measured": canonical_json(empty), **_recompute_throughput(stored)}
    if stored.has_samples or stored.run["origin"] != Origin.IMPORTED:
        computed["npu_util_avg_pct"] = stored.utilisation
    return computed


def _recompute_throughput(stored: StoredRun) -> Cells:
    run, result = stored.run, stored.result
    cards = [RankResult(server, rank, math.nan if value is None else value) for _, server, rank, value in stored.cards]
    collected = None
    if result["ranks_expected"] is not None:
        collected = CollectedResult(result["ranks_expected"], tuple(cards), TrainResultInfo(), "")
    mode = Mode(run["mode"])
    sizes = throughput.RunSize(mode, run["node_count"], run["cards_per_node"])
    is_reported = run["origin"] == Origin.IMPORTED and not cards
    if collected and (is_reported or throughput.has_sum_only(cards, result["throughput_ratio"])):
        computed = throughput.adopt_reported(result["throughput_ratio"], sizes)
    else:
        computed = throughput.compute_throughput(collected, sizes)
    cells = throughput_cells(computed, mode)
    if computed.total:  # of imported runs, recording can have known sizes that are not stored
        cells = {name: value for name, value in cells.items() if value is not None or name not in _PER_SIZE}
    return {**cells, "ranks_found": throughput.count_cards(collected) if collected else None}


_PER_SIZE = ("throughput_per_node", "throughput_per_card")


def _recompute_validity(stored: StoredRun) -> Cells:
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
        is_complete = result["ranks_expected"] is not None and run["state"] == RunState.COMPLETED
        computed["validity"] = derive_validity(is_complete, failed, run["set_aside"], imported=False)
    return computed

"""A run's record as rows of the warehouse's tables, with every number that we compute."""

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from functools import lru_cache
from itertools import chain
from statistics import median
from typing import Any

from aisbench_core.base.messages import Message
from aisbench_core.base.messages.stored import list_to_json, to_json
from aisbench_core.domain.results.utilisation import mean_use
from aisbench_core.model import (
    SYSTEM_FIELDS,
    TESTER_FIELDS,
    Annotations,
    Mode,
    PrimaryMetric,
    RankResult,
    Run,
    RunAttempt,
    RunRecord,
    RunSpec,
    RunState,
    ServerResult,
    Stated,
    TrainResultInfo,
    WorkloadFacts,
    canonical_json,
    columns,
    whole_note,
)
from aisbench_core.model.columns import LATER_KEYS, LONGEST_S, Kind, stored_in
from aisbench_core.warehouse.measures.fingerprint import (
    UNKNOWN_SPEC,
    fingerprint_of,
    first_fingerprint_of,
    image_of,
    not_known,
)
from aisbench_core.warehouse.measures.throughput import STRAGGLER_SHARE, Throughput, count_cards, derive_throughput
from aisbench_core.warehouse.queries.group_statistics import group_id
from aisbench_core.warehouse.records.hashed_cells import Cells, hashed_metrics, select_hashed, sha256_of
from aisbench_core.warehouse.tables.schema import RESULTS, RUNS
from aisbench_core.warehouse.tables.times import to_naive_utc
from aisbench_core.warehouse.validity.evaluation import Evaluator

# The cloud's name for the utilisation of a card, in percent.
UTILISATION = "npuUtil"

# Which fields of a spec must be known for a size to be known.
SIZES = {
    "node_count": {"node_count"},
    "cards_per_node": {"cards_per_node"},
    "card_count": {"node_count", "cards_per_node"},
}

_MOST_NAMED = 10  # differences of a node

_INFO = tuple(field.name for field in fields(TrainResultInfo))

Rows = Mapping[str, Sequence[Sequence[object]]]


def rows_of(record: RunRecord, evaluator: Evaluator) -> Rows:
    """Rows by table, their values in the order of the tables' columns (schema.py), with the verdict of `evaluator`.

    The hash covers what was recorded, and not what follows from that (such as the image, from the spec), what another
    ruleset decides differently, or what people annotate afterwards, maybe where the folder is not."""
    run_id, cards, servers, metrics = record.run.run_id, _card_rows(record), _server_rows(record), _metric_rows(record)
    of_run, result = _with_carried(_build_run(record), record), _with_carried(_build_result(record), record)
    run = {**of_run, **_build_system(record), **_compared_by(of_run, record)}
    stated = [record.described.values] if record.described and record.described.values else []
    launch = [canonical_json(facts)] if (facts := _build_launch(record)) else []
    sealed = {
        **run,
        "tags": canonical_json(list(record.annotations.tags)),
        "note": whole_note(record.annotations.note, str(of_run["note"])),
        "set_aside": record.annotations.reason_set_aside,
        "group_id": group_id(run),
        "launch": launch[0] if launch else None,
        "record_sha256": sha256_of(
            [select_hashed(of_run), select_hashed(result), cards, *hashed_metrics(metrics), *stated, *launch]
        ),
        "detail_data": to_json(record.run.detail),
    }
    measured = {**result, "problems_data": list_to_json(_list_problems(record))}
    checked = {**measured, **evaluator.evaluate_cells(sealed, measured, cards, servers)._asdict()}
    return {
        "runs": [[sealed[column] for column in RUNS]],
        "results": [[checked[column] for column in RESULTS]],
        "rank_results": cards,
        "server_results": servers,
        "metric_samples": [
            [run_id, to_naive_utc(sample.at), sample.node, sample.name, sample.value]
            for sample in record.samples
            if math.isfinite(sample.value)
        ],
        "events": [
            [run_id, to_naive_utc(event.at), event.source, event.level.value, str(event.message), str(event.actor)]
            for event in record.events
        ],
        "annotations": annotation_rows(run_id, record.annotations),
        "attempts": [_attempt_row(run_id, attempt) for attempt in record.attempts],
        "card_samples": [
            [run_id, to_naive_utc(sample.at), sample.node, sample.card, sample.name, sample.value]
            for sample in record.card_samples
        ],
        "run_metrics": metrics,
        "node_results": _node_rows(record),
    }


def _compared_by(of_run: Cells, record: RunRecord) -> Cells:
    """What decides the run's row and what is not known of it; the hash does not cover it, because it follows."""
    spec, facts = json.loads(str(of_run["spec"])), record.workload
    speed = None if facts.speed_parameters is None else dict(facts.speed_parameters)
    computed = {
        "image": image_of(spec, str(of_run["engine_version"]), record.resolved.text if record.resolved else None),
        "fingerprint": fingerprint_of(of_run, spec, speed),
        "not_known": not_known(of_run, spec, speed),
    }
    carried = record.imported.carried if record.imported else {}
    if carried.get("spec_sha256"):  # consoles of before exported the spec's hash, and nothing of what is not known
        computed["not_known"] = UNKNOWN_SPEC
    return {name: carried.get(name, value) for name, value in computed.items()}


def _attempt_row(run_id: str, attempt: RunAttempt) -> list[object]:
    started, ended = to_naive_utc(attempt.started_at), to_naive_utc(attempt.ended_at) if attempt.ended_at else None
    why = (attempt.fault, attempt.reason, attempt.task, attempt.host, attempt.exit_code, attempt.recovery)
    return [run_id, attempt.number, started, ended, *why, attempt.last_event, "\n".join(attempt.last_words)]


def annotation_rows(run_id: str, annotations: Annotations) -> list[list[object]]:
    """The changes as rows."""
    return [
        [run_id, to_naive_utc(change.at), change.who, change.kind.value, change.text] for change in annotations.changes
    ]


def _with_carried(cells: Cells, record: RunRecord) -> Cells:
    """With the cells that the exporting console computed, where they cannot be computed here."""
    carried = record.imported.carried if record.imported else {}
    return {**cells, **{name: carried[name] for name in cells.keys() & carried.keys()}}


def to_finite(value: float | None) -> float | None:
    """The number, or None if it cannot be stored."""
    return float(value) if value is not None and math.isfinite(value) else None


def _build_run(record: RunRecord) -> Cells:
    run, facts = record.run, record.workload
    speed = None if facts.speed_parameters is None else dict(facts.speed_parameters)
    cells = {
        **_copy_cells(_OF_RUN, run),
        **_copy_cells(_OF_SPEC, run.spec),
        **_copy_cells(_OF_FACTS, facts),
        **_copy_cells(_OF_RECORD, record),
        **_build_spec(run.spec.model_dump_json()),
        **_build_origin(record),
        # A region that turns out to be a sandbox costs nothing, whatever the profile says.
        **({"price_per_node_hour": None, "currency": ""} if record.rehearsal else {}),
        # While results are being collected, the outcome of the job is already known.
        "state": (run.state if run.state.is_terminal else run.final_state or run.state).value,
        "queue_s": queue_seconds(run.submitted_at, run.started_at) if run.is_timed_by_one_clock else None,
        "speed_parameters": canonical_json(speed),
        **_build_primary(facts.primary_metric),
        "synthetic_data": record.result is not None and record.result.synthetic_data,
        "dataset_sha256": record.result.dataset_sha256 if record.result else "",
        **{name: text and text.text for name in ("resolved", "passport") for text in [getattr(record, name)]},
        "stop_cause": run.stop_cause and canonical_json({"kind": run.stop_cause.kind, "value": run.stop_cause.value}),
        "tags": "[]",
    }
    return {**cells, "fingerprint": first_fingerprint_of(cells, speed)}


def _build_primary(metric: PrimaryMetric | None) -> Cells:
    name, better = (metric.name, metric.better.value) if metric else ("", "")
    return {"primary_metric": name, "primary_better": better}


def _copy_cells(names: Sequence[str], source: object) -> Cells:
    return {name: _CELLS[_KINDS[name]](getattr(source, name)) for name in names}


def _build_launch(record: RunRecord) -> Cells:
    launched: Cells = asdict(record.launched) if record.launched else {}
    verified_by = record.imported.verified_by if record.imported else ""
    return {**launched, "verified_by": verified_by} if verified_by else launched


def _build_origin(record: RunRecord) -> Cells:
    """Where the run comes from; of an imported one only the known fields of its spec."""
    if record.imported is None:
        return {"origin": record.origin.value, "source": "", "imported_at": None, "note": ""}
    stated, spec = {*record.imported.stated}, record.run.spec
    return {
        "origin": record.origin.value,
        "source": record.imported.source,
        "imported_at": to_naive_utc(record.imported.imported_at),
        "note": record.imported.note,
        "spec": canonical_json(spec.model_dump(mode="json", include=stated)),
        "spec_sha256": "",
        "api": "",
        **{name: None for name, needed in SIZES.items() if not needed <= stated},
    }


def _build_system(record: RunRecord) -> Cells:
    """Descriptions of system and tester, completed from the job. The hash covers only the statements."""
    return _system_of(record.system_unstated, record.described)


@lru_cache(maxsize=4096)
def _system_of(from_job: Stated, described: Stated | None) -> Cells:
    # Cached, as is _spec: most runs repeat the descriptions and specs of others.
    stated = described.values if described else {}
    values = {**from_job.values, **stated}
    system = {name: values[name] for name in SYSTEM_FIELDS if name in values}
    return {
        "system": canonical_json(system),
        "system_from_job": canonical_json([name for name in system if name not in stated]),
        "system_fields": len(system),
        "tester": canonical_json({name: values[name] for name in TESTER_FIELDS if name in values}),
    }


@lru_cache(maxsize=4096)
def _build_spec(text: str) -> Cells:
    spec = RunSpec.model_validate_json(text)
    return {"spec": canonical_json(spec.stored), "spec_sha256": spec.sha256}


def _build_result(record: RunRecord) -> Cells:
    result = record.result
    info = _convert_info(result.info if result else TrainResultInfo())
    accuracy = None if result and result.synthetic_data else info["accuracy"]
    return {
        **info,
        **throughput_cells(derive_throughput(record), record.run.spec.mode),
        "run_id": record.run.run_id,
        "raw": result.raw if result else "",
        "accuracy_measured": accuracy,
        "ranks_expected": result.ranks_expected if result else None,
        "ranks_found": count_cards(result) if result else None,
        "npu_util_avg_pct": mean_use(record.samples, UTILISATION),
        "not_measured": canonical_json(
            [name for name, value in {**info, "accuracy": accuracy}.items() if value is None and name not in LATER_KEYS]
        ),
        "problems": canonical_json(list(map(str, _list_problems(record)))),
    }


def throughput_cells(computed: Throughput, mode: Mode) -> dict[str, object]:
    """The columns that are computed from the cards."""
    return {
        "throughput_cluster": computed.total,
        "throughput_per_node": computed.per_node,
        "throughput_per_card": computed.per_card,
        "formula_id": computed.formula_id,
        "rank_cv": computed.rank_cv,
        "straggler_ranks": ";".join(card_name(card, mode) for card in computed.stragglers),
    }


def _list_problems(record: RunRecord) -> list[str]:
    return [*record.result.problems, *_not_finite(record.result.info)] if record.result else []


def _not_finite(info: TrainResultInfo) -> Iterator[Message]:
    """Numbers that cannot be stored; accuracy has a rule of its own."""
    for name in _INFO:
        value = getattr(info, name)
        if isinstance(value, float) and not math.isfinite(value) and name != "accuracy":
            yield Message("{key} is {found}", key=name, found=str(value))


def _convert_info(info: TrainResultInfo) -> dict[str, object]:
    values = ((name, getattr(info, name)) for name in _INFO)
    return {name: to_naive_utc(value) if isinstance(value, datetime) else to_finite(value) for name, value in values}


def _to_plain_text(value: object) -> object:
    return str(value) if isinstance(value, str) else value  # neither an enum nor a Message


_CELLS: Mapping[Kind, Callable[[Any], object]] = {
    Kind.TEXT: _to_plain_text,
    Kind.INTEGER: lambda value: value,
    Kind.NUMBER: to_finite,
    Kind.FLAG: lambda value: value,
    Kind.TIME: lambda at: to_naive_utc(at) if at else None,
}
_KINDS = {column.stored_name: column.kind for column in stored_in(columns.RUNS)}

_OF_RUN = tuple(field.name for field in fields(Run) if field.name in {*RUNS} - {"spec", "stop_cause"})
_OF_SPEC = (*(name for name in RunSpec.model_fields if name in RUNS), "card_count")
_NOT_STORED = ("speed_parameters", "primary_metric", "loss_target")  # the target of the loss is a metric of the run
_OF_FACTS = tuple(field.name for field in fields(WorkloadFacts) if field.name not in _NOT_STORED)
# Columns that are copied as they are; the catalogue has their kinds.
_OF_RECORD = ("region", "rehearsal", "accelerator")


def queue_seconds(submitted_at: datetime | None, started_at: datetime | None) -> float | None:
    """Seconds in the queue; None if unknown, or if only a clock that was set meanwhile can explain them."""
    if submitted_at is None or started_at is None:
        return None
    seconds = (started_at - submitted_at).total_seconds()
    return seconds if 0 <= seconds <= LONGEST_S else None


# --- cards and servers --------------------------------------------------------------------------------


def _card_rows(record: RunRecord) -> list[list[object]]:
    cards = record.result.rank_results if record.result else ()
    return [[record.run.run_id, card.server, card.rank, to_finite(card.throughput)] for card in cards]


def _metric_rows(record: RunRecord) -> list[list[object]]:
    return [
        [record.run.run_id, each.name, each.value, each.unit, each.better.value, each.combined.value, each.definition,
            each.source.value]
        for each in sorted(record.metrics, key=lambda metric: metric.name)
        if math.isfinite(each.value)
    ]  # fmt: skip


def _node_rows(record: RunRecord) -> list[list[object]]:
    """Each node of a completed run that has a name in the cloud, beside the run's median card."""
    run, cards = record.run, record.result.rank_results if record.result else ()
    tasks = record.attempts[-1].tasks if record.attempts else ()
    if run.state is not RunState.COMPLETED or run.ended_at is None or not cards:
        return []
    by_node: dict[int, list[float]] = defaultdict(list)
    for card in cards:
        node = card.rank // run.spec.cards_per_node if run.spec.mode is Mode.CLUSTER else card.server
        if to_finite(card.throughput) is not None:
            by_node[node].append(card.throughput)
    middle = median(chain.from_iterable(by_node.values())) if by_node else 0.0
    names = {task.task: task.host or task.ip for task in tasks}
    about = [run.run_id, to_naive_utc(run.ended_at), record.region, record.rehearsal]
    return [
        [
            *about,
            names[f"worker-{node}"],
            node,
            median(values) / middle,
            sum(value < middle * STRAGGLER_SHARE for value in values),
            _describe_node(record, node),
        ]
        for node, values in sorted(by_node.items())
        if middle > 0 and names.get(f"worker-{node}")
    ]


def _describe_node(record: RunRecord, node: int) -> str | None:
    """Where a node differs from the others of its run; None if nothing was captured."""
    if record.passport is None:
        return None
    found = [one for one in record.passport.differences if one.node == node]
    named = [f"{one.name} {one.value or '–'} ({one.usual or '–'})" for one in found[:_MOST_NAMED]]
    return "; ".join([*named, *(["…"] if len(found) > _MOST_NAMED else [])])


def _server_rows(record: RunRecord) -> list[list[object]]:
    """Each server of a single-server run; older records have none, and get the sums of their cards."""
    result = record.result
    if result is None or record.run.spec.mode is Mode.CLUSTER:
        return []
    servers = result.server_results or _sum_servers(result.rank_results, record.run.spec)
    measured = not result.synthetic_data
    return [
        [
            record.run.run_id,
            server.server,
            to_finite(server.throughput),
            to_finite(server.accuracy) if measured else None,
        ]
        for server in servers
    ]


def _sum_servers(cards: Sequence[RankResult], spec: RunSpec) -> Iterator[ServerResult]:
    for server in sorted({card.server for card in cards}):
        values = [card.throughput for card in cards if card.server == server]
        yield ServerResult(server, sum(values) if len(values) == spec.cards_per_node else None, None)


def card_name(card: RankResult, mode: Mode) -> str:
    """The card's rank, in single-server mode with its server."""
    return str(card.rank) if mode is Mode.CLUSTER else f"{card.server}/{card.rank}"

"""A run's record as rows of the warehouse's tables, with every number that we compute."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from functools import lru_cache
from statistics import fmean

from aisbench_core.messages import Message, list_to_json, to_json
from aisbench_core.model import (
    SYSTEM_FIELDS,
    TESTER_FIELDS,
    MetricSample,
    Remarks,
    Run,
    RunRecord,
    RunSpec,
    RunState,
    Stated,
    TrainResultInfo,
    canonical_json,
    whole_note,
)
from aisbench_core.model.columns import LATER_KEYS
from aisbench_core.warehouse.answers.group_statistics import group_id
from aisbench_core.warehouse.records.card_rows import card_rows, finite, place_of, server_rows
from aisbench_core.warehouse.records.facts import LONGEST_S
from aisbench_core.warehouse.records.fingerprint import fingerprint
from aisbench_core.warehouse.records.throughput import cards_found, throughput
from aisbench_core.warehouse.store.schema import RESULTS, RUNS
from aisbench_core.warehouse.validity.judging import Judge

UTILISATION = "npuUtil"
"""The cloud's name for the percentage of its time that a card is busy."""

SIZES = {
    "node_count": {"node_count"},
    "cards_per_node": {"cards_per_node"},
    "card_count": {"node_count", "cards_per_node"},
}
"""Which fields of a spec must be known for a size to be known."""

_INFO = tuple(field.name for field in fields(TrainResultInfo))

Cells = Mapping[str, object]
Rows = Mapping[str, Sequence[Sequence[object]]]


def rows_of(record: RunRecord, judge: Judge) -> Rows:
    """Rows by table, their values in the order of the tables' columns (schema.py), with the verdict of `judge`."""
    run_id, cards, servers = record.run.run_id, card_rows(record), server_rows(record)
    asked, result = _with(_run(record), record), _with(_result(record), record)
    # The image follows from the spec, which the hash covers.
    run = {**asked, **_system(record), "image": record.run.spec.image_url or asked["engine_version"]}
    stated = [record.described.values] if record.described and record.described.values else []
    launch = [canonical_json(asdict(record.launched))] if record.launched else []
    # The verdict is not part of the hash: another ruleset finds something else in the same record.
    sha256 = sha256_of([asked, hashed(result), cards, *stated, *launch])
    sealed = {
        **run,
        **_remarked(record, asked),
        "group_id": group_id(run),
        "launch": launch[0] if launch else None,
        "record_sha256": sha256,
        "detail_data": to_json(record.run.detail),
    }
    measured = {**result, "problems_data": list_to_json(_problems(record))}
    judged = {**measured, **judge.of_cells(sealed, measured, cards, servers)._asdict()}
    return {
        "runs": [[sealed[column] for column in RUNS]],
        "results": [[judged[column] for column in RESULTS]],
        "rank_results": cards,
        "server_results": servers,
        "metric_samples": [
            [run_id, _utc(sample.at), sample.node, sample.name, sample.value] for sample in _measured(record.samples)
        ],
        "events": [
            [run_id, _utc(event.at), event.source, event.level.value, str(event.message), str(event.actor)]
            for event in record.events
        ],
        "remarks": remark_rows(run_id, record.remarks),
    }


def remark_rows(run_id: str, remarks: Remarks) -> list[list[object]]:
    """The changes as rows."""
    return [[run_id, _utc(change.at), change.who, change.kind.value, change.text] for change in remarks.changes]


def ended_as(record: RunRecord) -> RunState:
    """How the run ended. While its results are being collected, the verdict is already known."""
    run = record.run
    return run.state if run.state.is_terminal else run.verdict or run.state


def _with(cells: Cells, record: RunRecord) -> Cells:
    """What another console computed stands in place of what cannot be computed here."""
    carried = record.imported.carried if record.imported else {}
    return {**cells, **{name: carried[name] for name in cells.keys() & carried.keys()}}


def aware(stored: datetime) -> datetime:
    """A time as it was before it was stored: in UTC, and saying so."""
    return stored.replace(tzinfo=UTC)


def _run(record: RunRecord) -> Cells:
    run, facts = record.run, record.workload
    return {
        **_asked(run),
        **_happened(record),
        **_came(record),
        "title": facts.title,
        "model": facts.model,
        "framework": facts.framework,
        "throughput_definition": facts.throughput_definition,
        "throughput_unit": facts.throughput_unit,
        "dataset": facts.dataset,
        "accuracy_target": finite(facts.accuracy_target),
        "accuracy_target_source": facts.accuracy_target_source,
        "speed_parameters": canonical_json(None if facts.speed_parameters is None else dict(facts.speed_parameters)),
        "fingerprint": fingerprint(run.spec, facts),
        "region": record.region,
        "rehearsal": record.rehearsal,
        "accelerator": record.accelerator,
        "synthetic_data": record.result is not None and record.result.synthetic_data,
        "dataset_sha256": record.result.dataset_sha256 if record.result else "",
        "tags": "[]",
    }


def _came(record: RunRecord) -> Cells:
    """Where the run comes from; of an imported one only what is known of its spec."""
    known: Cells = {"origin": record.origin.value, "source": "", "imported_at": None, "note": ""}
    if record.imported is None:
        return known
    stated, spec = {*record.imported.stated}, record.run.spec
    return {
        **known,
        "source": record.imported.source,
        "imported_at": _utc(record.imported.imported_at),
        "note": record.imported.note,
        "spec": canonical_json(spec.model_dump(mode="json", include=stated)),
        "spec_sha256": "",
        "api": "",
        **{name: None for name, needed in SIZES.items() if not needed <= stated},
    }


def _remarked(record: RunRecord, asked: Cells) -> Cells:
    """Tags and note of people. They are no part of the record's hash: others may write them where its folder is not."""
    note = whole_note(record.remarks.note, str(asked["note"]))
    return {"tags": canonical_json(list(record.remarks.tags)), "note": note}


def _system(record: RunRecord) -> Cells:
    """Description of the system and tester's configuration, completed by what the job says.

    Only what is stated is part of the record's hash: the rest follows from what the hash covers already."""
    return _system_of(record.known, record.described)


@lru_cache(maxsize=4096)
def _system_of(known: Stated, described: Stated | None) -> Cells:
    """Most runs say what others said, here and in their specs."""
    stated = described.values if described else {}
    values = {**known.values, **stated}
    system = {name: values[name] for name in SYSTEM_FIELDS if name in values}
    return {
        "system": canonical_json(system),
        "system_from_job": canonical_json([name for name in system if name not in stated]),
        "system_fields": len(system),
        "tester": canonical_json({name: values[name] for name in TESTER_FIELDS if name in values}),
    }


def _asked(run: Run) -> Cells:
    spec = run.spec
    text, sha256 = _spec_of(spec.model_dump_json())
    return {
        "run_id": run.run_id,
        "series_id": run.series_id,
        "series_index": run.series_index,
        "profile": run.profile,
        "workload": spec.workload,
        "framework_version": spec.framework_version,
        "mode": spec.mode.value,
        "engine_version": spec.engine_version,
        "flavor": spec.flavor,
        "pool_id": spec.pool_id,
        "node_count": spec.node_count,
        "cards_per_node": spec.cards_per_node,
        "card_count": spec.card_count,
        "api": spec.api.value,
        "spec": text,
        "spec_sha256": sha256,
        "code_sha256": run.code_sha256,
    }


@lru_cache(maxsize=4096)
def _spec_of(written: str) -> tuple[str, str]:
    spec = RunSpec.model_validate_json(written)
    return canonical_json(spec.model_dump(mode="json")), spec.sha256


def _happened(record: RunRecord) -> Cells:
    run = record.run
    return {
        "created_at": _utc(run.created_at),
        "created_by": run.created_by,
        "job_id": run.job_id,
        "job_name": run.job_name,
        "state": ended_as(record).value,
        "detail": str(run.detail),
        "submitted_at": _utc(run.submitted_at),
        "started_at": _utc(run.started_at),
        "ended_at": _utc(run.ended_at),
        "queue_s": _possible(_seconds(run.submitted_at, run.started_at)),
        "duration_s": finite(run.duration_s),
    }


def _result(record: RunRecord) -> Cells:
    result, computed = record.result, throughput(record)
    info = _typed(result.info if result else TrainResultInfo())
    accuracy = None if result and result.synthetic_data else info["accuracy"]
    return {
        **info,
        "run_id": record.run.run_id,
        "raw": result.raw if result else "",
        "accuracy_measured": accuracy,
        "throughput_cluster": computed.total,
        "throughput_per_node": computed.per_node,
        "throughput_per_card": computed.per_card,
        "formula_id": computed.formula_id,
        "ranks_expected": result.ranks_expected if result else None,
        "ranks_found": cards_found(result) if result else None,
        "rank_cv": computed.rank_cv,
        "straggler_ranks": ";".join(place_of(card, record.run.spec.mode) for card in computed.stragglers),
        "npu_util_avg_pct": _utilisation(record.samples),
        "not_measured": canonical_json(
            [name for name, value in {**info, "accuracy": accuracy}.items() if value is None and name not in LATER_KEYS]
        ),
        "problems": canonical_json(list(map(str, _problems(record)))),
    }


def _problems(record: RunRecord) -> list[str]:
    """What is wrong with the result, as sentences."""
    return [*record.result.problems, *_not_finite(record.result.info)] if record.result else []


def _not_finite(info: TrainResultInfo) -> Iterator[Message]:
    """Numbers that cannot be stored, by their names; an accuracy has a rule of its own."""
    for name in _INFO:
        value = getattr(info, name)
        if isinstance(value, float) and not math.isfinite(value) and name != "accuracy":
            yield Message("{key} is {found}", key=name, found=str(value))


def _typed(info: TrainResultInfo) -> dict[str, object]:
    """The keys as cells. A number that is not finite measures nothing; the checks have already named it."""
    values = ((name, getattr(info, name)) for name in _INFO)
    return {name: _utc(value) if isinstance(value, datetime) else finite(value) for name, value in values}


def _measured(samples: Sequence[MetricSample]) -> list[MetricSample]:
    return [sample for sample in samples if math.isfinite(sample.value)]


def _utilisation(samples: Sequence[MetricSample]) -> float | None:
    values = [sample.value for sample in samples if sample.name == UTILISATION and 0 <= sample.value <= 100]
    return fmean(values) if values else None


def _utc(at: datetime | None) -> datetime | None:
    """UTC without a zone, as the warehouse keeps times: its zoned type would need one more library to read."""
    return at.astimezone(UTC).replace(tzinfo=None) if at else None


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None or end < start else (end - start).total_seconds()


def _possible(seconds: float | None) -> float | None:
    """None for what only a clock that jumped can have measured."""
    return None if seconds is None or seconds > LONGEST_S else seconds


def hashed(result: Cells) -> Cells:
    """What the record's hash covers of a result: keys that came later only with a value, so that older hashes stay."""
    return {name: value for name, value in result.items() if name not in LATER_KEYS or value is not None}


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=datetime.isoformat)


def sha256_of(cells: object) -> str:
    """Over canonical JSON, with times in ISO 8601."""
    return hashlib.sha256(_ENCODER.encode(cells).encode()).hexdigest()

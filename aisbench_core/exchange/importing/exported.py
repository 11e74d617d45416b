"""Imports runs that another console exported unchanged, without computing anything again."""

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from aisbench_core.base.messages import Message
from aisbench_core.exchange.importing.choices import UNKNOWN_REGION, Choices, ImportAnswers, Provenance
from aisbench_core.exchange.readers.results import ParsedResult
from aisbench_core.model import (
    MOST_METRICS,
    NOTHING_RESOLVED,
    AnnotationChange,
    AnnotationKind,
    Annotations,
    Better,
    CollectedResult,
    Imported,
    PrimaryMetric,
    Run,
    RunMetric,
    RunRecord,
    RunSpec,
    RunState,
    Stated,
    TrainResultInfo,
    WorkloadFacts,
    canonical_json,
    metric_problem,
    resolved_of,
    stated_of,
)
from aisbench_core.model.annotation import NO_ANNOTATIONS, reason_error
from aisbench_core.model.columns import KEYS, Kind
from aisbench_core.warehouse.measures.fingerprint import UNKNOWN_SPEC

# A row without these columns is imported like that of any table.
NEEDED = frozenset({"run_id", "created_at_utc", "workload", "model_name", "region", "mode", "state", "fingerprint"})

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")  # it becomes the name of a folder

_SPEC = ("workload", "framework_version", "mode", "node_count", "cards_per_node", "flavor", "engine_version", "pool_id")
_EXPORTED = {key: key.exported.name or key.name for key in KEYS if key.exported}
_TIMES = {key.stored_name: name for key, name in _EXPORTED.items() if key.kind is Kind.TIME}
_NUMBERS = {"accuracy": "accuracy"} | {
    key.stored_name: name for key, name in _EXPORTED.items() if key.kind is Kind.NUMBER
}
_CARRIED_TEXTS = ("spec_sha256", "fingerprint", "straggler_ranks")
_CARRIED_NUMBERS = ("queue_s", "throughput_cluster", "throughput_per_node", "throughput_per_card")

Cells = Mapping[str, str]

_MOST_DEFINITION = 200
_METRICS = TypeAdapter(list[RunMetric])


def exported_record(
    result: ParsedResult, choices: Choices, rehearsed: frozenset[str], now: datetime
) -> RunRecord | None:
    """The record; None if the row is incomplete or invalid, or the user has answers about it.

    `rehearsed`: regions that are rehearsals here, which measurements from elsewhere never join."""
    has_answers = choices.about_all != ImportAnswers() or result.identity in choices.about
    if has_answers or not result.exported.keys() >= NEEDED or not _RUN_ID.fullmatch(result.exported["run_id"]):
        return None
    try:
        return _build_record(result, choices.where, rehearsed, now)
    except (ValueError, ValidationError):  # somebody changed the row
        return None


def _build_record(result: ParsedResult, where: Provenance, rehearsed: frozenset[str], now: datetime) -> RunRecord:
    cells = result.exported
    fields = _spec_fields(cells)
    if cells.get("rehearsal") == "true" or cells["region"] in rehearsed:
        where = Provenance(UNKNOWN_REGION, True)
    elif where == Provenance():
        where = Provenance(cells["region"])
    return RunRecord(
        run=_build_run(cells, RunSpec.model_validate(fields), where),
        workload=_build_facts(cells),
        region=where.region,
        rehearsal=where.rehearsal,
        accelerator=cells.get("accelerator", ""),
        result=_build_result(result),
        imported=Imported(result.location, now, tuple(fields), _read_note(cells), carried=_read_carried_values(cells)),
        described=_read_stated(cells),
        metrics=_read_metrics(cells),
        annotations=_read_set_aside(cells),
    )


def _read_metrics(cells: Cells) -> tuple[RunMetric, ...]:
    metrics = _METRICS.validate_json(cells.get("metrics_json") or "[]")
    names = {metric.name for metric in metrics}
    if len(metrics) > MOST_METRICS or len(names) < len(metrics) or not all(map(_is_storable, metrics)):
        raise ValueError("exported metrics can be stored")
    return tuple(metrics)


def _is_storable(metric: RunMetric) -> bool:
    return not metric_problem(metric) and len(metric.definition) <= _MOST_DEFINITION and metric.definition.isprintable()


def _read_primary(cells: Cells) -> PrimaryMetric | None:
    name = cells.get("primary_metric", "")
    return PrimaryMetric(name, better=Better(cells.get("primary_better", ""))) if name else None


def _read_set_aside(cells: Cells) -> Annotations:
    """Why it was set aside there, as if at its launch: whoever counts it again here decides later."""
    reason = cells.get("set_aside", "")
    if cells.get("validity") != "set_aside" or reason_error(reason):
        return NO_ANNOTATIONS
    who = cells.get("created_by") or cells["region"]
    return Annotations.of(
        [AnnotationChange(_parse_time(cells["created_at_utc"]), who, AnnotationKind.SET_ASIDE, reason)]
    )


def _spec_fields(cells: Cells) -> dict[str, Any]:
    fields: dict[str, Any] = {name: cells[name] for name in _SPEC if cells.get(name)}
    if cells.get("pool_type") == "public":  # known to be none, and not just unknown
        fields["pool_id"] = ""
    if "hyperparameters_json" in cells:
        fields["parameters"] = json.loads(cells["hyperparameters_json"])
    return fields


def _build_run(cells: Cells, spec: RunSpec, where: Provenance) -> Run:
    created_at = _parse_time(cells["created_at_utc"])
    index = cells.get("run_index")
    return Run(
        run_id=cells["run_id"],
        spec=spec,
        profile=where.profile,
        state=RunState(cells["state"]),
        created_at=created_at,
        updated_at=created_at,
        next_step_at=created_at,
        duration_s=_parse_number(cells.get("platform_duration_s")),
        series_index=int(index) if index else None,
        price_per_node_hour=_parse_number(cells.get("price_per_node_hour")),
        currency=cells.get("currency", ""),
        **{name: cells.get(name, "") for name in ("created_by", "job_id", "job_name", "code_sha256", "series_id")},  # type: ignore[arg-type]  # by name
    )


def _build_facts(cells: Cells) -> WorkloadFacts:
    return WorkloadFacts(
        title=cells["model_name"],
        model=cells["model_name"],
        framework=cells.get("framework", ""),
        throughput_definition=cells.get("throughput_definition", ""),
        throughput_unit=cells.get("throughput_unit", ""),
        dataset=cells.get("dataset_name", ""),
        accuracy_target=_parse_number(cells.get("accuracy_target")),
        accuracy_target_source=cells.get("accuracy_target_source", ""),
        speed_parameters=None,
        primary_metric=_read_primary(cells),
    )


def _build_result(result: ParsedResult) -> CollectedResult | None:
    cells = result.exported
    if "ranks_expected" not in cells:  # the run failed before it had a result
        return None
    times = {name: cells.get(column) for name, column in _TIMES.items()}
    values: dict[str, Any] = {name: _parse_number(cells.get(column)) for name, column in _NUMBERS.items()}
    values |= {name: _parse_time(text) if text else None for name, text in times.items()}
    if cells.get("npu_util_source") == "train_result_info":
        values["resource_util_ratio"] = _to_fraction(cells["npu_util_avg_pct"])
    return CollectedResult(
        int(cells["ranks_expected"]),
        (),
        TrainResultInfo(**values),
        result.raw,
        cells.get("synthetic_data") == "true",
        cells.get("dataset_sha256", ""),
        _list_problems(cells),
    )


def _read_carried_values(cells: Cells) -> dict[str, str | int | float | None]:
    """Values that were computed from cards, samples and code, which the row does not contain."""
    missing = [key for key in cells.get("not_measured_fields", "").split(";") if key]
    from_platform = cells.get("npu_util_source") == "platform metrics"
    return {
        **{name: cells.get(name, "") for name in _CARRIED_TEXTS},
        **{name: _parse_number(cells.get(name)) for name in _CARRIED_NUMBERS},
        "not_known": cells.get("not_known", UNKNOWN_SPEC),
        "resolved": _parse_resolved(cells.get("resolved")),
        "formula_id": cells.get("throughput_aggregation", ""),
        "ranks_found": int(cells["ranks_found"]) if "ranks_found" in cells else None,
        "rank_cv": _to_fraction(cells["rank_cv_pct"]) if "rank_cv_pct" in cells else None,
        "npu_util_avg_pct": _parse_number(cells.get("npu_util_avg_pct")) if from_platform else None,
        "not_measured": canonical_json(missing),
    }


def _parse_resolved(text: str | None) -> str | None:
    found = resolved_of(text)
    return None if found == NOTHING_RESOLVED else found.text


def _list_problems(cells: Cells) -> tuple[str, ...]:
    # The other console's "invalid" is trusted, its "valid" is not: the checks of here apply.
    if cells.get("validity") != "invalid":
        return ()
    reason = cells.get("failed_checks") or Message("no check is named")
    return (Message("the console that exported it calls it invalid: {reason}", reason=reason),)


def _read_note(cells: Cells) -> str:
    """The note without the remarks that every export adds."""
    region = cells["region"]
    is_rehearsal = cells.get("rehearsal") == "true"
    added = [f"rehearsal in {region}: not a measurement" if is_rehearsal else f"region {region}"]
    if cells.get("synthetic_data") == "true":
        added.append("synthetic data: accuracy is not a measurement")
    return cells.get("note", "").removesuffix("; ".join(added)).removesuffix("; ")


def _read_stated(cells: Cells) -> Stated | None:
    division = cells.get("division", "")
    fields = {
        "test_id": cells.get("test_id", ""),
        "scenario": cells.get("scenario", ""),
        "test_division": "" if division == "rehearsal" else division,
    }
    values = {name: value for name, value in fields.items() if value}
    return stated_of(values) if values else None


def _parse_time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError("exported times have a zone")
    return time


def _parse_number(text: str | None) -> float | None:
    if text is None:
        return None
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("exported numbers are finite")
    return value


def _to_fraction(percent: str) -> float:
    # Dividing by 100 may be off by one bit from the fraction that was exported.
    value = float(percent)
    near = value / 100
    candidates = (near, math.nextafter(near, math.inf), math.nextafter(near, -math.inf))
    return next((fraction for fraction in candidates if fraction * 100 == value), near)

"""A run that another console exported becomes the same run here: its row stands as it is, nothing is computed again."""

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from aisbench_core.history.found import FoundResult
from aisbench_core.importing.chosen import UNSAID, Choices, Said, Where
from aisbench_core.messages import Message
from aisbench_core.model import (
    CollectedResult,
    Imported,
    Run,
    RunRecord,
    RunSpec,
    RunState,
    Stated,
    TrainResultInfo,
    WorkloadFacts,
    canonical_json,
    stated_of,
)
from aisbench_core.model.columns import KEYS, Kind

NEEDED = frozenset({"run_id", "created_at_utc", "workload", "model_name", "region", "mode", "state", "fingerprint"})
"""Without these a row is read as any table's."""

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
"""What may name a folder of ours."""

_SPEC = ("workload", "framework_version", "mode", "node_count", "cards_per_node", "flavor", "engine_version", "pool_id")
_EXPORTED = {key: key.exported.name or key.name for key in KEYS if key.exported}
_TIMES = {key.stored_name: name for key, name in _EXPORTED.items() if key.kind is Kind.TIME}
_NUMBERS = {"accuracy": "accuracy"} | {
    key.stored_name: name for key, name in _EXPORTED.items() if key.kind is Kind.NUMBER
}
_CARRIED_TEXTS = ("spec_sha256", "fingerprint", "straggler_ranks")
_CARRIED_NUMBERS = ("queue_s", "throughput_cluster", "throughput_per_node", "throughput_per_card")

Cells = Mapping[str, str]


def is_whole(found: FoundResult, choices: Choices) -> bool:
    """Whether the row tells everything, and nobody says otherwise about it."""
    said = choices.about_all != Said() or found.identity in choices.about
    return found.exported.keys() >= NEEDED and bool(_RUN_ID.fullmatch(found.exported["run_id"])) and not said


def exported_record(found: FoundResult, choices: Choices, rehearsed: frozenset[str], now: datetime) -> RunRecord | None:
    """The record; None when a cell holds what cannot be, as in a row that somebody changed.

    `rehearsed`: regions that are rehearsals here, which measurements of elsewhere never join."""
    try:
        return _record(found, choices.where, rehearsed, now)
    except (ValueError, ValidationError):
        return None


def _record(found: FoundResult, where: Where, rehearsed: frozenset[str], now: datetime) -> RunRecord:
    cells = found.exported
    given = _spec(cells)
    spec = RunSpec.model_validate(given)
    place = _where(cells, where, rehearsed)
    return RunRecord(
        run=_run(cells, spec, place),
        workload=_facts(cells),
        region=place.region,
        rehearsal=place.rehearsal,
        accelerator=cells.get("accelerator", ""),
        result=_result(found),
        imported=Imported(f"{found.source} ({found.number})", now, tuple(given), _note(cells), carried=_carried(cells)),
        described=_tester(cells),
    )


def _where(cells: Cells, where: Where, rehearsed: frozenset[str]) -> Where:
    """Where a person says, or else the region of the row; rehearsals stay among rehearsals."""
    if cells.get("rehearsal") == "true" or cells["region"] in rehearsed:
        return Where(UNSAID, True)
    return Where(cells["region"]) if where == Where() else where


def _spec(cells: Cells) -> dict[str, Any]:
    given: dict[str, Any] = {name: cells[name] for name in _SPEC if cells.get(name)}
    if cells.get("pool_type") == "public":
        given["pool_id"] = ""
    if "hyperparameters_json" in cells:
        given["parameters"] = json.loads(cells["hyperparameters_json"])
    return given


def _run(cells: Cells, spec: RunSpec, place: Where) -> Run:
    begun = _time(cells["created_at_utc"])
    index = cells.get("run_index")
    return Run(
        run_id=cells["run_id"],
        spec=spec,
        profile=place.profile,
        state=RunState(cells["state"]),
        created_at=begun,
        created_by=cells.get("created_by", ""),
        updated_at=begun,
        next_step_at=begun,
        job_id=cells.get("job_id", ""),
        job_name=cells.get("job_name", ""),
        code_sha256=cells.get("code_sha256", ""),
        duration_s=_number(cells.get("platform_duration_s")),
        series_id=cells.get("series_id", ""),
        series_index=int(index) if index else None,
    )


def _facts(cells: Cells) -> WorkloadFacts:
    return WorkloadFacts(
        title=cells["model_name"],
        model=cells["model_name"],
        framework=cells.get("framework", ""),
        throughput_definition=cells.get("throughput_definition", ""),
        throughput_unit=cells.get("throughput_unit", ""),
        dataset=cells.get("dataset_name", ""),
        accuracy_target=_number(cells.get("accuracy_target")),
        accuracy_target_source=cells.get("accuracy_target_source", ""),
        speed_parameters=None,
    )


def _result(found: FoundResult) -> CollectedResult | None:
    cells = found.exported
    if "ranks_expected" not in cells:
        return None
    times = {name: cells.get(column) for name, column in _TIMES.items()}
    values: dict[str, Any] = {name: _number(cells.get(column)) for name, column in _NUMBERS.items()}
    values |= {name: _time(text) if text else None for name, text in times.items()}
    if cells.get("npu_util_source") == "train_result_info":
        values["resource_util_ratio"] = _share(cells["npu_util_avg_pct"])
    return CollectedResult(
        int(cells["ranks_expected"]),
        (),
        TrainResultInfo(**values),
        found.raw,
        cells.get("synthetic_data") == "true",
        cells.get("dataset_sha256", ""),
        _objections(cells),
    )


def _carried(cells: Cells) -> dict[str, str | int | float | None]:
    """What was computed from cards, samples and code that are not in the row."""
    missing = [key for key in cells.get("not_measured_fields", "").split(";") if key]
    from_platform = cells.get("npu_util_source") == "platform metrics"
    return {
        **{name: cells.get(name, "") for name in _CARRIED_TEXTS},
        **{name: _number(cells.get(name)) for name in _CARRIED_NUMBERS},
        "formula_id": cells.get("throughput_aggregation", ""),
        "ranks_found": int(cells["ranks_found"]) if "ranks_found" in cells else None,
        "rank_cv": _share(cells["rank_cv_pct"]) if "rank_cv_pct" in cells else None,
        "npu_util_avg_pct": _number(cells.get("npu_util_avg_pct")) if from_platform else None,
        "not_measured": canonical_json(missing),
    }


def _objections(cells: Cells) -> tuple[str, ...]:
    """What the console that exported the row had against it; what it found good is not believed."""
    if cells.get("validity") != "invalid":
        return ()
    return (
        Message(
            "the console that exported it calls it invalid: {reason}",
            reason=cells.get("failed_checks") or Message("no check is named"),
        ),
    )


def _note(cells: Cells) -> str:
    """The note without what an export adds to it anew."""
    region = cells["region"]
    is_rehearsal = cells.get("rehearsal") == "true"
    added = [f"rehearsal in {region}: not a measurement" if is_rehearsal else f"region {region}"]
    if cells.get("synthetic_data") == "true":
        added.append("synthetic data: accuracy is not a measurement")
    return cells.get("note", "").removesuffix("; ".join(added)).removesuffix("; ")


def _tester(cells: Cells) -> Stated | None:
    division = cells.get("division", "")
    said = {
        "test_id": cells.get("test_id", ""),
        "scenario": cells.get("scenario", ""),
        "test_division": "" if division == "rehearsal" else division,
    }
    values = {name: value for name, value in said.items() if value}
    return stated_of(values) if values else None


def _time(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError("a time of an export names its zone")
    return at


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number of an export is finite")
    return value


def _share(percent: str) -> float:
    """The share that was written as this percentage: of the neighbours of a hundredth, the one that gives it again."""
    value = float(percent)
    near = value / 100
    for share in (near, math.nextafter(near, math.inf), math.nextafter(near, -math.inf)):
        if share * 100 == value:
            return share
    return near

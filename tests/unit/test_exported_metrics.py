"""The metrics in a row that a console exported: each name once, or the row was changed."""

import json

import pytest

from aisbench_core.exchange.importing.choices import Choices
from aisbench_core.exchange.importing.exported import exported_record
from aisbench_core.exchange.readers.results import ParsedResult
from aisbench_core.model import RunRecord, TrainResultInfo
from tests import records as a

METRIC = {"name": "mfu", "value": 0.4, "unit": "", "better": "higher", "combined": "first", "definition": "mfu_1"}


def record_of(*metrics: dict[str, object]) -> RunRecord | None:
    row = {
        "run_id": "run-1",
        "created_at_utc": a.T0.isoformat(),
        "workload": "resnet",
        "model_name": "ResNet-50",
        "region": "cn-north-9",
        "mode": "cluster",
        "state": "completed",
        "fingerprint": "f" * 64,
        "metrics_json": json.dumps(metrics),
    }
    row_read = ParsedResult(
        source="runs.csv", number=1, identity="i", values_identity="v", raw="", info=TrainResultInfo(), exported=row
    )
    return exported_record(row_read, Choices(), frozenset(), a.T0)


def test_each_metric_of_an_exported_row_is_imported() -> None:
    record = record_of(METRIC, METRIC | {"name": "hfu"})

    assert record is not None
    assert [metric.name for metric in record.metrics] == ["mfu", "hfu"]


@pytest.mark.parametrize(
    "metrics", [[METRIC] * 3, [METRIC | {"definition": "x" * 1000}], [METRIC | {"definition": "a\nb"}]]
)
def test_a_row_with_repeated_or_malformed_metrics_is_no_exported_one(metrics: list[dict[str, object]]) -> None:
    assert record_of(*metrics) is None

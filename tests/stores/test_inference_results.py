"""Results of inference in a warehouse: ranked by themselves, and in nothing that is about training."""

import io
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.errors import NotAllowed
from aisbench_core.model import Actor, Role, WayIn
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.records.inference_results import csv_text
from aisbench_core.warehouse.tables.store import no_progress
from aisbench_core.warehouse.values.exports import Export, ExportFormat, ExportTable
from aisbench_core.warehouse.values.inference import InferenceResult, InferenceTool, InferenceUnit
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.actors import TESTER
from tests.records import T0

SERVED = InferenceResult(
    tool=InferenceTool.SERVICE, unit=InferenceUnit.TOKENS, source="gsm8k.json", model="qwen", dataset="gsm8k",
    throughput=115.78, requests=8, failed=0, latency_p99_ms=2690.0,
)  # fmt: skip
OFFLINE = replace(SERVED, tool=InferenceTool.OFFLINE, unit=InferenceUnit.SAMPLES, dataset="", throughput=407.0, batch=8)
NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def test_each_benchmark_has_a_ranking_of_its_own_and_failed_requests_have_no_rank(warehouse: Warehouse) -> None:
    faster, failing = replace(SERVED, throughput=120.0), replace(SERVED, throughput=500.0, failed=2)
    unmeasured = replace(SERVED, throughput=None)

    warehouse.inference.add([SERVED, failing, OFFLINE, unmeasured, faster], "ann", T0)

    ranked = [(one.result.tool, one.rank, one.result.throughput) for one in warehouse.inference.list_ranked()]
    assert ranked == [
        (InferenceTool.OFFLINE, 1, 407.0),
        (InferenceTool.SERVICE, 1, 120.0),
        (InferenceTool.SERVICE, 2, 115.78),
        (InferenceTool.SERVICE, None, 500.0),
        (InferenceTool.SERVICE, None, None),
    ]


@pytest.mark.every_store
def test_a_result_is_stored_once_whatever_its_file_is_called_survives_a_rebuild_and_can_be_removed(
    warehouse: Warehouse,
) -> None:
    first = warehouse.inference.add([SERVED, OFFLINE], "ann", T0)
    again = warehouse.inference.add([replace(SERVED, source="copy.json"), SERVED], "bob", NOW)
    warehouse.rebuild([])
    stored = warehouse.inference.list_ranked()

    assert (first, again, len(stored)) == (2, 0, 2)
    assert {one.result for one in stored} == {SERVED, OFFLINE}
    assert {(one.stored_by, one.stored_at) for one in stored} == {("ann", T0)}
    assert warehouse.inference.remove(SERVED.result_id, TESTER)
    assert not warehouse.inference.remove(SERVED.result_id, TESTER)
    assert [one.result for one in warehouse.inference.list_ranked()] == [OFFLINE]


def test_another_persons_result_is_removed_by_leads_only(warehouse: Warehouse) -> None:
    warehouse.inference.add([SERVED], "ann", T0)

    with pytest.raises(NotAllowed):
        warehouse.inference.remove(SERVED.result_id, Actor("bob", frozenset({Role.ENGINEER}), WayIn.CLI))

    assert len(warehouse.inference.list_ranked()) == 1


def test_a_move_takes_them_along(warehouse: Warehouse, tmp_path: Path) -> None:
    warehouse.inference.add([SERVED], "ann", T0)
    target = Warehouse(tmp_path / "target.duckdb")
    target.inference.add([OFFLINE], "bob", NOW)

    warehouse.move_to(target, no_progress)
    warehouse.move_to(target, no_progress)

    assert {one.result for one in target.inference.list_ranked()} == {SERVED, OFFLINE}


def test_the_file_has_every_field_says_the_kind_and_leaves_empty_what_was_not_measured(warehouse: Warehouse) -> None:
    warehouse.inference.add([replace(OFFLINE, model="=cmd|' /C calc'!A0")], "ann", T0)

    head, row = csv_text(warehouse.inference.list_ranked()).splitlines()
    cells = dict(zip(head.split(","), row.split(","), strict=True))

    assert (cells["kind"], cells["rank"], cells["throughput"], cells["unit"]) == (
        "inference",
        "1",
        "407.0",
        "samples/s",
    )
    assert (cells["ttft_p99_ms"], cells["concurrency"], cells["batch"]) == ("", "", "8")
    assert not cells["model"].startswith("=")


def answer_training(warehouse: Warehouse) -> dict[str, Any]:
    """Everything that the warehouse says of training."""
    query = BoardQuery("cn-north-9", include_invalid=True)
    answers: dict[str, Any] = {
        "board": warehouse.board.list_rows(query),
        "runs": warehouse.runs.list_rows(query),
        "regions": warehouse.facets.list_regions(),
        "facets": warehouse.facets.fetch_values("cn-north-9", rehearsal=False),
        "spending": warehouse.spending.facets(),
        "imports": warehouse.imports.page(20, 0),
    }
    for table in ExportTable:
        for kind in (ExportFormat.CSV, ExportFormat.JSON):
            target = io.BytesIO()
            warehouse.export(Export(query, NOW, table, kind), target)
            answers[f"export {table} {kind}"] = target.getvalue()
    with warehouse.cursor() as cur:
        names = cur.execute(
            "select table_name from duckdb_tables() where database_name = current_database()"
        ).fetchall()
        for (name,) in names:
            if name != "inference_results":
                answers[f"table {name}"] = sorted(map(repr, cur.execute(f"select * from {name}").fetchall()))
    return answers


def test_no_table_board_statistic_facet_or_export_of_training_holds_them(warehouse: Warehouse) -> None:
    warehouse.record_many([*a.records([7900, 8000, 8100]), *a.records([9000], "large")])
    before = answer_training(warehouse)

    warehouse.inference.add([SERVED, OFFLINE, replace(SERVED, model="resnet50_v1.5")], "ann", T0)

    assert answer_training(warehouse) == before
    assert len(before) > 12


def test_only_the_code_of_inference_and_of_whole_warehouses_names_their_table() -> None:
    root = Path(__file__).parents[2]
    naming = {
        file.relative_to(root).as_posix()
        for folder in ("aisbench_core", "pages")
        for file in (root / folder).rglob("*.py")
        if "inference_results" in file.read_text("utf-8")
    }

    assert naming == {
        "aisbench_core/interfaces/api/results.py",
        "aisbench_core/interfaces/cli/results/inference.py",
        "aisbench_core/warehouse/facade.py",
        "aisbench_core/warehouse/maintenance/moving.py",
        "aisbench_core/warehouse/open/checks.py",
        "aisbench_core/warehouse/records/inference_results.py",
        "aisbench_core/warehouse/store/foreign/rules.py",
        "aisbench_core/warehouse/tables/schema.py",
        "pages/_ui/inference/board.py",
    }

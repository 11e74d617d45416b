"""Large exports: read part by part, and the same file as if they were read at once."""

import io

import pytest

from aisbench_core.domain.rulesets.ruleset import DEFAULT, Rulesets
from aisbench_core.warehouse.exporting import export
from aisbench_core.warehouse.exporting.parts import list_parts
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.validity.evaluation import Evaluator
from aisbench_core.warehouse.values.exports import Export, ExportFormat
from tests.stores.test_warehouse_export import ALL, NOW, exported, some_runs


@pytest.mark.parametrize("kind", [pytest.param(ExportFormat.CSV, marks=pytest.mark.every_store), ExportFormat.JSON])
def test_a_large_export_is_written_part_by_part_as_if_it_were_one(warehouse: Warehouse, kind: ExportFormat) -> None:
    some_runs(warehouse)
    asked, target = Export(ALL, NOW, format=kind), io.BytesIO()

    with warehouse.cursor() as cur:
        at_once = [len(list_parts(cur, "true", {}, most)) for most in (100, 4, 2)]
        count = export.write(cur, asked, Evaluator(Rulesets().get(DEFAULT)), target, {}, max_runs=2)

    assert at_once == [1, 3, 6]
    assert target.getvalue() == exported(warehouse, kind=kind)
    assert count == 9

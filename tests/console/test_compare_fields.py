"""The fields in which compared runs differ: those that decide speed come first."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import OpenPage
from tests.console.grids import Grid


def test_of_many_differences_those_that_decide_speed_come_first_and_the_rest_is_folded(
    open_page: OpenPage, used: Path
) -> None:
    unlike = replace(a.FACTS, title="BERT", model="BERT", dataset="SQuAD")
    spec: dict[str, Any] = {"priority": 3, "retries": 2, "node_count": 2, "flavor": "f2", "framework_version": "r2"}
    few, many = {"batch_size": 32, "epochs": 2}, {"batch_size": 256, "epochs": 1}
    Warehouse(used / "warehouse.duckdb").record_many([
        a.record("unlike-0", speed_parameters=few),
        a.record("unlike-1", facts=unlike, speed_parameters=many, **spec),
    ])  # fmt: skip

    app = open_page("compare", ids=["unlike-0", "unlike-1"])

    decisive = ["Model", "Data set", "Parameter batch_size", "Parameter epochs", "Framework version"]
    assert Grid(app, "Differences").column("field") == decisive
    (rest,) = [each for each in app.expander if each.label.startswith("Other fields that differ")]
    folded = [
        name.replace("\N{WORD JOINER}", "").replace("\N{NO-BREAK SPACE}", " ") for name in rest.table[0].value["Field"]
    ]
    assert rest.label == f"Other fields that differ ({len(folded)})"
    assert folded[:2] == ["Flavor", "Nodes"]
    assert {"Priority"} <= set(folded)

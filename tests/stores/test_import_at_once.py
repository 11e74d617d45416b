"""Two machines that import the same results into one warehouse at the same time: each result is new to one of them."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aisbench_core.exchange.importing import records, saving
from aisbench_core.exchange.importing.choices import Choices, Saved
from aisbench_core.exchange.readers.results import ParsedResult
from aisbench_core.model import RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests.found_results import found
from tests.records import T0
from tests.sealed_folders import sealed_folders

ALL = BoardQuery("imported", include_invalid=True)


@pytest.mark.every_store
def test_of_two_machines_that_import_at_once_only_one_finds_a_result_new(warehouse: Warehouse, tmp_path: Path) -> None:
    """Both have looked, and found nothing, before either stores."""
    both_looked = threading.Barrier(2, timeout=60)

    def save(machine: str, own: list[str]) -> Saved:
        results = [found(f"{name}.log", job=f"job-{name}") for name in ["a", "b", *own]]

        def record(result: ParsedResult) -> RunRecord:
            if result == results[0]:
                both_looked.wait()
            return records.record_of(result, Choices(), records.Catalogue(()), machine, T0)

        return saving.save_results(results, record, warehouse, sealed_folders(tmp_path / machine / "runs"))

    for machine in ("one", "two"):
        (tmp_path / machine).mkdir()
    with ThreadPoolExecutor(2) as at_once:
        one, two = at_once.map(save, ("one", "two"), (["c"], ["d", "e"]))

    assert sorted([len(one.new), len(two.new)]) in ([1, 4], [2, 3])
    assert (len(one.new) + one.existing, len(two.new) + two.existing) == (3, 4)
    assert warehouse.runs.list_rows(ALL).total == 5
    by = {row.run_id: row.created_by for row in warehouse.runs.list_rows(ALL).rows}
    assert by == {**dict.fromkeys(one.new, "one"), **dict.fromkeys(two.new, "two")}
    kept = {(each.parent.parent.name, each.name) for each in tmp_path.glob("*/runs/*")}
    assert kept == {(machine, run_id) for run_id, machine in by.items()}, "who did not store a run keeps nothing of it"
    assert warehouse.check([]).damages == ()

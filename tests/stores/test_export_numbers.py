"""What exports say of runs together: the number of the report, and whether a series counts."""

from dataclasses import replace
from hashlib import sha256

import pytest

from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.exports import ExportTable
from tests import records as a
from tests.stores.test_warehouse_export import ALL, NOW, exported, rows, some_runs


@pytest.mark.every_store
def test_files_about_the_same_runs_have_one_number_that_anybody_can_count(warehouse: Warehouse) -> None:
    some_runs(warehouse)
    told = rows(exported(warehouse))

    numbers = {row["report_id"] for table in ExportTable for row in rows(exported(warehouse, table=table))}
    printed = warehouse.fetch_reported([row["run_id"] for row in told], NOW).report_id
    fewer = rows(exported(warehouse, replace(ALL, text="often")))[0]["report_id"]

    names = ("record_sha256", "ruleset_id", "validity", "failed_checks", "warned_checks")
    sealed = sorted(sha256("\x1f".join(row[name] for name in names).encode()).hexdigest() for row in told)
    assert numbers == {f"AISB-{sha256(''.join(sealed).encode()).hexdigest()[:12].upper()}"} == {printed}
    assert fewer not in numbers


def test_a_series_says_whether_its_runs_count_also_where_a_filter_leaves_some_out(warehouse: Warehouse) -> None:
    some_runs(warehouse)

    series = {row["series_id"]: row for row in rows(exported(warehouse, table=ExportTable.SERIES))}
    (narrow,) = rows(exported(warehouse, replace(ALL, text="often-1"), ExportTable.SERIES))

    assert series["s-1"]["series_counts"] == "true"
    assert series["s-1"]["series_warned_checks"].split(";")[0] == "V14"
    assert series[""]["series_counts"] == series[""]["series_failed_checks"] == ""
    assert (narrow["runs_valid"], narrow["series_counts"]) == ("1", "true")


def test_images_of_one_series_are_rows_of_their_own(warehouse: Warehouse) -> None:
    for number in range(6):
        made = a.record(f"run-{number}", throughputs=[1000.0 + number] * 8, engine_version=f"cann_{number % 2}")
        warehouse.record(replace(made, run=replace(made.run, series_id="s-1", series_index=number + 1)))

    found = rows(exported(warehouse, table=ExportTable.SERIES))

    assert [(row["image"], row["runs_valid"], row["best"]) for row in found] == [
        ("cann_0", "3", "8032.0"),
        ("cann_1", "3", "8040.0"),
    ]

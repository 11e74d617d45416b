"""Whether two runs read the same data, by what was listed and what jobs reported: rows, scaling and comparisons."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.model import Resolved, ResolvedContent, RunRecord, RunState
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.compared import Comparability
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a


def read(run_id: str, listed: str = "", reported: str = "", path: str = "/data/all/", **changes: object) -> RunRecord:
    """A run that read an input whose objects gave this hash, and whose job reported that one."""
    return read_all(run_id, {"data_url": (path, listed)}, reported, **changes)


def read_all(run_id: str, inputs: Mapping[str, tuple[str, str]], reported: str = "", **changes: object) -> RunRecord:
    """A run that read these inputs, each with its path and the hash of its list, which is empty if it has none."""
    channels = [{"name": name, "path": path} for name, (path, _) in inputs.items()]
    record = a.record(run_id, inputs=channels, **changes)  # type: ignore[arg-type]  # of the spec
    if record.result and reported:
        record = replace(record, result=replace(record.result, dataset_sha256=reported))
    known = {name: ResolvedContent(listed, 2, 9) for name, (_, listed) in inputs.items() if listed}
    return replace(record, resolved=Resolved(known) if known else None)


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


def test_equal_objects_at_two_paths_are_one_row_and_comparable(warehouse: Warehouse) -> None:
    warehouse.record_many([read("here", "aa"), read("there", "aa", path="/copy/")])

    [row] = warehouse.board.list_rows(BoardQuery("cn-north-9")).rows
    comparison = warehouse.runs.compare(["here", "there"])

    assert (row.runs, row.rank, row.not_known) == (2, "1", "")
    assert (comparison.verdict, comparison.unknown) == (Comparability.COMPARABLE, ())


def test_other_objects_at_the_same_path_are_another_row_and_not_comparable(warehouse: Warehouse) -> None:
    warehouse.record_many([read("before", "aa"), read("after", "bb")])

    comparison = warehouse.runs.compare(["before", "after"])

    assert [row.rank for row in warehouse.board.list_rows(BoardQuery("cn-north-9")).rows] == ["1", "1"]
    assert (comparison.verdict, comparison.reasons) == (Comparability.NOT_COMPARABLE, ("inputs.data_url",))


def test_hashes_that_both_jobs_reported_decide_before_lists_and_paths(warehouse: Warehouse) -> None:
    warehouse.record_many(
        [
            read("plain", "aa", reported="d1"),
            read("with a readme", "bb", reported="d1"),
            read("older", reported="d1", path="/old/"),
            read("other", "aa", reported="d2"),
        ]
    )

    for same in ("with a readme", "older"):
        comparison = warehouse.runs.compare(["plain", same])
        assert (comparison.verdict, comparison.unknown) == (Comparability.COMPARABLE, ())
    assert warehouse.runs.compare(["plain", "other"]).reasons == ("dataset_sha256",)


@pytest.mark.parametrize("reported", ["", "d1"])
def test_of_hashes_of_two_kinds_it_is_unknown_whether_the_data_is_the_same(reported: str, warehouse: Warehouse) -> None:
    warehouse.record_many([read("listed", "aa"), read("not listed", reported=reported)])

    comparison = warehouse.runs.compare(["listed", "not listed"])

    assert comparison.verdict is Comparability.COMPARABLE
    assert comparison.unknown == ("data",)
    assert len(warehouse.board.list_rows(BoardQuery("cn-north-9")).rows) == 2


DATA = {"data_url": ("/data/all/", "aa")}


@pytest.mark.parametrize("listed", ["", "cc"])
@pytest.mark.parametrize("reported", ["", "d1"])
def test_an_input_that_only_one_run_has_is_a_difference(reported: str, listed: str, warehouse: Warehouse) -> None:
    more = {**DATA, "ckpt": ("/ckpt/", listed)}
    warehouse.record_many([read_all("without", DATA, reported), read_all("with", more, reported)])

    comparison = warehouse.runs.compare(["without", "with"])

    assert (comparison.verdict, comparison.reasons) == (Comparability.NOT_COMPARABLE, ("inputs.ckpt",))


def test_the_hash_that_jobs_reported_says_nothing_of_further_inputs(warehouse: Warehouse) -> None:
    listed, unlisted = ({**DATA, "ckpt": ("/ckpt/", sha256)} for sha256 in ("cc", ""))
    warehouse.record_many([read_all("listed", listed, "d1"), read_all("unlisted", unlisted, "d1")])

    comparison = warehouse.runs.compare(["listed", "unlisted"])

    assert (comparison.verdict, comparison.unknown) == (Comparability.COMPARABLE, ("data",))
    assert [run.not_known for run in comparison.runs] == ["", "data"]


def test_the_hash_that_a_job_reported_does_not_cover_an_input_and_a_volume(warehouse: Warehouse) -> None:
    share = [{"server_path": "10.0.0.1:/", "local_path": "/mnt/share"}]
    records = [read("input", reported="d1"), read("both", reported="d1", volumes=share), read("listed", "aa", "d1")]
    records.append(read_all("volume", {}, "d1", volumes=share))
    warehouse.record_many(records)

    runs = {record.run.run_id: warehouse.runs.find_row(record.run.run_id) for record in records}

    assert {run_id: run.not_known for run_id, run in runs.items() if run} == {
        "input": "", "both": "data", "listed": "", "volume": "",
    }  # fmt: skip
    assert warehouse.check(records).damages == ()


def test_listed_runs_are_bases_of_scaling(warehouse: Warehouse) -> None:
    warehouse.record_many([read("one", "aa"), read("two", "aa", path="/copy/", node_count=2)])

    curve = warehouse.scaling.find_curve("one")

    assert [point.node_count for point in curve.points] == [1, 2]
    assert curve.left_out == ()


def test_an_attempt_that_failed_early_counts_in_the_row_with_the_same_list(warehouse: Warehouse) -> None:
    early = read("early", "aa", state=RunState.FAILED, with_result=False)
    tenth = read("a tenth", "bb", path="/tenth/", state=RunState.FAILED, with_result=False)
    warehouse.record_many([read("whole", "aa", reported="d1"), early, tenth])

    rows = warehouse.board.list_rows(BoardQuery("cn-north-9", include_invalid=True)).rows

    assert sorted((row.runs, row.incomplete) for row in rows) == [(0, 1), (1, 1)]

"""Sentences that the warehouse stores keep their values: ours is said in Chinese, and theirs stays as it is."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from aisbench_core.base.messages import Message, in_chinese, make_verbatim
from aisbench_core.domain.results.record import read_record, write_record
from aisbench_core.exchange.report.reports import Reports
from aisbench_core.exchange.report.words import ReportLanguage
from aisbench_core.model import AnnotationChange, AnnotationKind, Annotations, RunRecord, RunState
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery, Check
from tests import records as a

NOW = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
QUERY = BoardQuery("cn-north-9", include_invalid=True)
MISSING = Message("{name} is missing", name="all")
IN_CHINESE = "缺少 all"


def ended(run_id: str, detail: str) -> RunRecord:
    """A run that failed and left nothing."""
    record = a.record(run_id, with_result=False, state=RunState.FAILED)
    return replace(record, run=replace(record.run, detail=detail))


def objected(run_id: str, *problems: str) -> RunRecord:
    """A run whose result has these problems."""
    record = a.record(run_id)
    assert record.result
    return replace(record, result=replace(record.result, problems=problems))


def check(warehouse: Warehouse, run_id: str, check_id: str) -> Check:
    row = warehouse.runs.find_row(run_id)
    assert row
    return next(check for check in row.checks if check.id == check_id)


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


def without_data(warehouse: Warehouse) -> None:
    """As versions stored it that did not know the values of sentences."""
    with duckdb.connect(str(warehouse.location)) as con:
        con.execute("update runs set detail_data = null")
        con.execute("update results set problems_data = null")
        for run_id, checks in con.execute("select run_id, checks::VARCHAR from results").fetchall():
            bare = re.sub(r'"data":\{.*?\},"evidence"', '"evidence"', checks)
            con.execute("update results set checks = ? where run_id = ?", [bare, run_id])
        assert con.execute("select count(*) from results where contains(checks::VARCHAR, 'data\"')").fetchall() == [
            (0,)
        ]


def test_how_a_run_ended_is_said_in_chinese_with_what_the_job_said_as_it_is(warehouse: Warehouse) -> None:
    warehouse.record(ended("run-1", MISSING))

    row = warehouse.runs.find_row("run-1")

    assert row
    assert (row.detail, in_chinese(row.detail)) == ("all is missing", IN_CHINESE)
    found = check(warehouse, "run-1", "V01")
    assert [in_chinese(text) for text in (found.expected, found.found, found.evidence)] == ["有结果", "无", IN_CHINESE]


@pytest.mark.parametrize("theirs", ["ValueError: all", "RuntimeError: none", "running", "throughput is missing"])
def test_what_a_job_said_stays_as_it_is(warehouse: Warehouse, theirs: str) -> None:
    warehouse.record(ended("run-1", theirs))
    warehouse.record(objected("run-2", make_verbatim(theirs), MISSING))

    assert in_chinese(check(warehouse, "run-1", "V01").evidence) == theirs
    assert in_chinese(check(warehouse, "run-2", "V01").found) == f"{theirs}；{IN_CHINESE}"


@pytest.mark.parametrize("theirs", ["all", "none", "running"])
def test_the_words_of_a_workload_stay_as_they_are_in_a_report(warehouse: Warehouse, theirs: str) -> None:
    warehouse.record(a.record("run-1", facts=replace(a.FACTS, accuracy_target_source=theirs)))

    report = Reports(warehouse, lambda: NOW).write(["run-1"], ReportLanguage.ZH, full=True)

    assert f"<td>{theirs}</td>" in report


def test_equal_texts_of_two_runs_keep_their_own_values(warehouse: Warehouse) -> None:
    for run_id, detail in (("run-1", "all is missing"), ("run-2", MISSING), ("run-3", "all is missing")):
        warehouse.record(ended(run_id, detail))

    said = [in_chinese(check(warehouse, run_id, "V01").evidence) for run_id in ("run-1", "run-2", "run-3")]

    assert said == ["all is missing", IN_CHINESE, "all is missing"]


def test_every_check_of_a_run_is_said_in_chinese(warehouse: Warehouse) -> None:
    warehouse.record(a.record("run-1", throughputs=[1000.0] * 7 + [500.0]))

    row = warehouse.runs.find_row("run-1")

    assert row
    said = {each.id: tuple(map(in_chinese, (each.expected, each.found, each.evidence))) for each in row.checks}
    assert said["V01"] == ("所有必填字段齐全且在范围内", "齐全", "train_result_info")
    assert said["V03"] == ("8 个 rank", "8 个 rank 中有 8 个", "")
    assert said["V05"][1:] == ("1 个低于", "服务器 0 rank 7：500")
    assert said["V06"] == ("至少 0.759", "0.76", "the workload's manual")


def test_the_values_of_sentences_are_no_part_of_the_hash(warehouse: Warehouse) -> None:
    warehouse.record(ended("run-1", MISSING))
    before = warehouse.runs.find_row("run-1")
    warehouse.record(ended("run-1", str(MISSING)))

    after = warehouse.runs.find_row("run-1")

    assert before
    assert after
    assert before.record_sha256 == after.record_sha256
    assert warehouse.check([], lambda _done, _of: None).damages == ()


def test_sentences_come_back_with_their_values_from_a_folder(warehouse: Warehouse, tmp_path: Path) -> None:
    files = (tmp_path / "record.json", tmp_path / "metrics.jsonl", tmp_path / "events.jsonl")
    record = objected("run-1", MISSING, make_verbatim("all"))
    write_record(replace(record, run=replace(record.run, detail=MISSING)), *files)

    warehouse.rebuild([read_record(*files)])

    row = warehouse.runs.find_row("run-1")
    assert row
    assert in_chinese(row.detail) == IN_CHINESE
    assert in_chinese(check(warehouse, "run-1", "V01").found) == f"{IN_CHINESE}；all"


def test_rows_of_earlier_versions_are_judged_the_same_and_read_as_before(warehouse: Warehouse) -> None:
    warehouse.rebuild([objected("run-1", MISSING), ended("run-2", MISSING), a.record("run-3")])
    without_data(warehouse)

    assert all(run.is_stored for run in warehouse.validate(QUERY).runs)
    assert warehouse.check([], lambda _done, _of: None).damages == ()
    found = check(warehouse, "run-1", "V01")
    assert (found.expected, found.found) == ("every required field, in range", "all is missing")
    assert not isinstance(found.found, Message)


def test_a_chinese_report_says_ours_in_chinese_and_theirs_as_it_is(warehouse: Warehouse) -> None:
    note = AnnotationChange(NOW, "ann", AnnotationKind.NOTE, "running")
    warehouse.rebuild(
        [replace(ended("failed", "ValueError: all"), annotations=Annotations((note,))), objected("x", MISSING)]
    )

    report = Reports(warehouse, lambda: NOW).write(["failed", "x"], ReportLanguage.ZH, full=True)

    assert ">ValueError: all<" in report
    assert "<h3>failed: " in report
    assert f">{IN_CHINESE}<" in report


def test_values_move_along_into_another_warehouse(warehouse: Warehouse, tmp_path: Path) -> None:
    warehouse.rebuild([objected("run-1", MISSING), ended("run-2", MISSING)])
    target = Warehouse(tmp_path / "target.duckdb")

    warehouse.move_to(target, lambda _done, _of: None)

    row = target.runs.find_row("run-2")
    assert row
    assert in_chinese(row.detail) == IN_CHINESE
    assert in_chinese(check(target, "run-1", "V01").found) == IN_CHINESE

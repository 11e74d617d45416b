"""The attempts of a run's job: stored with its record, in SQL, and missing without harm in what is older."""

import json
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.domain.results.record import read_record, write_record
from aisbench_core.model import JobFault, JobTask, RunAttempt, RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.open.reading import make_reader
from tests import records as a

BROKEN = RunAttempt(
    *(1, a.T0, a.T0 + timedelta(minutes=5), JobFault.NODE, "HBM error", "worker-1", "job_reschedule"),
    tasks=(JobTask("worker-0", "", "h0", 0), JobTask("worker-1", "", "h1", 137, "killed")),
    last_event="Training job is restarted.",
    last_words=("step 7", "丢失连接"),
)
AGAIN = RunAttempt(2, a.T0 + timedelta(minutes=6))


@pytest.fixture
def record() -> RunRecord:
    return replace(a.record("r-1"), attempts=(BROKEN, AGAIN))


def test_attempts_are_rows_in_sql_and_recorded_once(record: RunRecord, tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record(record)
    warehouse.record(record)

    with closing(make_reader(warehouse.location)) as opened, opened.cursor() as cur:
        found = cur.execute(
            """select attempt, fault, reason, task, host, exit_code, recovery, last_event, last_words,
            ended_at_utc is null from v_attempts order by attempt"""
        ).fetchall()

    assert found == [
        *[
            (
                1,
                "node_fault",
                "HBM error",
                "worker-1",
                "h1",
                137,
                "job_reschedule",
                BROKEN.last_event,
                "step 7\n丢失连接",
                False,
            )
        ],
        (2, "", "", "", "", None, "", "", "", True),
    ]


def test_a_record_keeps_them_and_one_without_them_is_read_as_before(record: RunRecord, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("record.json", "metrics.jsonl", "events.jsonl")]
    write_record(record, *files)

    again = read_record(*files)
    older = json.loads(files[0].read_text("utf-8"))
    del older["attempts"]
    files[0].write_text(json.dumps(older), "utf-8")

    assert again.attempts == (BROKEN, AGAIN)
    assert read_record(*files) == replace(again, attempts=())


def test_the_hash_of_a_record_is_what_it_was(record: RunRecord, tmp_path: Path) -> None:
    hashes = []
    for number, stored in enumerate((record, replace(record, attempts=()))):
        warehouse = Warehouse(tmp_path / f"{number}.duckdb")
        warehouse.record(stored)
        with warehouse.cursor() as cur:
            hashes += cur.execute("select record_sha256 from runs").fetchall()

    assert len(set(hashes)) == 1

"""The named metrics of runs: stored, hashed, read in SQL, exported and imported back."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.domain.results.record import read_record, write_record
from aisbench_core.domain.rulesets.ruleset import Rulesets
from aisbench_core.exchange.mlflow.exporting import tracked_run
from aisbench_core.model import Better, Combined, MetricSource, RunMetric, RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.open.reading import make_reader
from aisbench_core.warehouse.records.full_runs import iter_full_runs
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a

METRICS = (
    RunMetric("llm/mfu", 0.41, "", Better.HIGHER, Combined.FIRST, "palm", MetricSource.CONSOLE),
    RunMetric("tokens_per_joule", 3.25, "tokens/J", Better.HIGHER, Combined.MEAN),
)


@pytest.fixture
def record() -> RunRecord:
    return replace(a.record("r-1"), metrics=METRICS)


def test_metrics_are_rows_in_sql_and_recorded_once(record: RunRecord, tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record(record)
    warehouse.record(record)

    with closing(make_reader(warehouse.location)) as opened, opened.cursor() as cur:
        found = cur.execute(
            "select name, value, unit, better, combined, definition, source from v_run_metrics order by name"
        ).fetchall()

    assert found == [
        ("llm/mfu", 0.41, "", "higher", "first", "palm", "console"),
        ("tokens_per_joule", 3.25, "tokens/J", "higher", "mean", "", "job"),
    ]


def test_a_record_keeps_them_and_one_without_them_is_read_as_before(record: RunRecord, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("record.json", "metrics.jsonl", "events.jsonl")]
    write_record(record, *files)

    again = read_record(*files)
    older = json.loads(files[0].read_text("utf-8"))
    del older["metrics"]
    files[0].write_text(json.dumps(older), "utf-8")

    assert again.metrics == METRICS
    assert read_record(*files) == replace(again, metrics=())


def test_a_changed_metric_is_found_by_the_check(record: RunRecord, tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb", rulesets=Rulesets())
    warehouse.record_many([record, a.record("r-2")])
    assert warehouse.check([]).damages == ()

    with warehouse.cursor() as cur:
        cur.execute("update run_metrics set value = 0.99 where name = 'llm/mfu'")

    [damage] = warehouse.check([]).damages
    assert damage.where == "runs, run r-1"
    assert "record_sha256" in damage.sentence


def test_a_rebuilt_warehouse_has_them_and_a_removed_run_leaves_none(record: RunRecord, tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.rebuild([record])
    with warehouse.cursor() as cur:
        assert cur.execute("select count(*) from run_metrics").fetchall() == [(2,)]

    warehouse.rebuild([a.record("r-2")])

    with warehouse.cursor() as cur:
        assert cur.execute("select count(*) from run_metrics").fetchall() == [(0,)]


def test_the_time_of_a_row_is_that_of_all_its_runs(record: RunRecord, tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    for number, (productive, lost, interruptions) in enumerate([(80.0, 20.0, 0.0), (40.0, 60.0, 2.0)]):
        parts = {"productive_s": productive, "lost_s/queue": lost, "interruptions": interruptions}
        metrics = tuple(RunMetric(name, value, source=MetricSource.CONSOLE) for name, value in parts.items())
        warehouse.record(replace(a.record(f"r-{number}"), metrics=metrics))
    of_script = (RunMetric("productive_s", 7.5), RunMetric("lost_s/queue", -3.0), RunMetric("interruptions", 9.0))
    warehouse.record(replace(a.record("r-2"), metrics=of_script))

    run, row = warehouse.runs.account_run("r-1"), warehouse.board.account_row("r-1")

    assert run is not None
    assert row is not None
    assert (run.goodput, run.interruptions, run.runs) == (0.4, 2, 1)
    assert (row.goodput, row.interruptions, row.runs, row.wall_s) == (0.6, 2, 2, 200)
    assert row.device_days == pytest.approx(2 * record.run.spec.card_count * 600 / 86400)
    assert warehouse.runs.account_run("r-2") is None


def test_they_are_metrics_in_mlflow(record: RunRecord, tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record(record)

    with closing(make_reader(warehouse.location)) as opened, opened.cursor() as cur:
        [run] = iter_full_runs(cur, BoardQuery(record.region))

    sent = {key: value for key, _, _, value in tracked_run(run).points if key.startswith("metric.")}
    assert sent == {"metric.llm/mfu": 0.41, "metric.tokens_per_joule": 3.25}

"""MLflow's stores: those of others are read honestly, and our runs go there and come back with their numbers.

`tests/stores/mlflow/` holds stores that MLflow itself made: as SQL, and only the tables that runs need.
"""

import sqlite3
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from aisbench_core.config.settings import Settings
from aisbench_core.exchange.importing.choices import Choices, ImportAnswers
from aisbench_core.exchange.mlflow.tracking import SendOutcome, TrackingServer
from aisbench_core.exchange.readers.reading import columns_of, read_path, read_stream
from aisbench_core.exchange.readers.results import ColumnMeaning, ParsedResult, Table, Unread
from aisbench_core.model import (
    AnnotationChange,
    AnnotationKind,
    Annotations,
    MetricSample,
    Mode,
    RunRecord,
    ServerResult,
)
from aisbench_core.warehouse.values.runs import BoardQuery
from aisbench_core.wiring import Core, open_core
from tests import records as a
from tests.actors import named
from tests.mlflow_server import tracking_server
from tests.stored_cards import rank_results_of

STORES = sorted((Path(__file__).parent / "mlflow").glob("*.sql"))
NUMBERS = (
    "throughput", "per_node", "per_card", "throughput_reported", "accuracy", "accuracy_reported", "rank_cv", "mode",
    "straggler_ranks", "npu_util_avg_pct", "ranks_expected", "ranks_found", "node_count", "cards_per_node", "dataset",
    "framework_version", "flavor", "synthetic_data", "ended_at", "created_by",
)  # fmt: skip
QUERY = BoardQuery("cn-north-9", include_invalid=True)


def made(folder: Path, sql: str, name: str = "mlflow.db") -> Path:
    with closing(sqlite3.connect(folder / name)) as con:
        con.executescript(sql)
    return folder / name


def found_in(path: Path, **mapping: str) -> tuple[list[ParsedResult], list[Unread]]:
    told = list(read_path(path, mapping))
    return [each for each in told if isinstance(each, ParsedResult)], [
        each for each in told if isinstance(each, Unread)
    ]


def core_in(folder: Path) -> Core:
    return open_core(Settings(data_dir=folder))


def sent(core: Core, file: Path, *records: RunRecord) -> Path:
    """These runs in a warehouse, and from there in a tracking server's store."""
    core.warehouse.record_many(records)
    export(core, file, QUERY)
    return file


def export(core: Core, file: Path, query: BoardQuery) -> Counter[SendOutcome]:
    with tracking_server(file) as server:
        return core.mlflow.export(query, TrackingServer(server.address, {}))


@pytest.mark.parametrize("store", STORES, ids=lambda store: store.stem)
def test_runs_of_others_are_read_with_what_is_known_and_with_doubts(store: Path, tmp_path: Path) -> None:
    results, unread = found_in(made(tmp_path, store.read_text()))

    first, second, killed = results
    assert (first.model, first.framework, first.framework_version) == ("resnet50", "pytorch", "2.5")
    assert (first.node_count, first.cards_per_node) == (2, 8)
    assert (first.info.throughput_ratio, first.info.accuracy) == (1523.25, 0.7612)
    assert first.info.average_power is None
    assert (first.job_name, first.created_by, first.note) == ("first", "ann", "MLflow experiment resnet speed")
    assert first.started_at is not None
    assert first.ended_at is not None
    assert (first.ended_at - first.started_at).total_seconds() == 600
    assert [(each.name, each.value) for each in first.samples] == [("loss", 2.5), ("loss", 1.25)]
    assert first.problems == second.problems == ()
    assert killed.problems == ("its MLflow status is killed",)
    assert first.parameters == {"batch_size": 256}
    assert [each.reason for each in unread] == ["rows without a throughput or an accuracy: 1 (row 4)"]


@pytest.mark.parametrize("store", STORES, ids=lambda store: store.stem)
def test_importing_a_store_twice_adds_nothing(store: Path, tmp_path: Path) -> None:
    core, file = core_in(tmp_path / "data"), made(tmp_path, store.read_text())

    def imported() -> tuple[int, int]:
        results = (each for each in core.imports.read(file, {}) if isinstance(each, ParsedResult))
        choices = Choices(about_all=ImportAnswers(unit="samples/s"))
        saved = core.imports.save(results, choices, named("ann"))
        return len(saved.new), saved.existing

    assert (imported(), imported()) == ((3, 0), (0, 3))
    page = core.warehouse.runs.list_rows(BoardQuery("imported", include_invalid=True))
    assert {row.throughput for row in page.rows} == {1523.25, 1533.5, 700.0}


def test_columns_are_guessed_shown_and_corrected(tmp_path: Path) -> None:
    file = made(tmp_path, STORES[0].read_text())

    (table,) = columns_of(file)
    results, _ = found_in(file, loss="accuracy", accuracy="")

    assert isinstance(table, Table)
    assert table.source == "mlflow.db!resnet speed"
    assert table.mapping["nodes"] is ColumnMeaning.NODE_COUNT
    assert "batch_size" in table.columns
    assert [each.info.accuracy for each in results] == [None, None, None, 0.5]  # its latest loss is no number


def test_a_store_is_found_in_folders_and_archives(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    file = made(folder, STORES[0].read_text())
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.write(file, "deep/mlflow.db")

    assert len(found_in(folder)[0]) == 3
    assert len([each for each in read_stream(BytesIO(file.read_bytes()), "mlflow.db") if each]) == 4
    assert {each.source for each in found_in(tmp_path / "packed.zip")[0]} == {"packed.zip!deep/mlflow.db!resnet speed"}


def test_databases_that_are_not_understood_are_named(tmp_path: Path) -> None:
    renamed = "alter table latest_metrics rename to elsewhere; update alembic_version set version_num = 'abc';"
    changed = STORES[0].read_text() + renamed
    stranger, newer = made(tmp_path, "create table mine (x int)", "a.db"), made(tmp_path, changed, "b.db")

    assert [each.reason.split(":")[0] for each in found_in(stranger)[1]] == [
        "it is an SQLite database, but not MLflow's"
    ]
    assert "an unknown schema (abc): missing latest_metrics.key, " in found_in(newer)[1][0].reason


def test_a_damaged_database_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mlflow.db"
    file.write_bytes(b"SQLite format 3\0" + b"x" * 4096)

    assert "cannot be read as an SQLite database" in found_in(file)[1][0].reason


def rows(file: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(file)) as con:
        return con.execute(sql).fetchall()


def test_a_run_says_in_mlflow_what_was_measured_and_nothing_else(tmp_path: Path) -> None:
    file = sent(core_in(tmp_path / "data"), tmp_path / "out.db", a.record(throughputs=[1000.0] * 7 + [500.0]))

    latest: dict[object, object] = dict(rows(file, "select key, value from latest_metrics"))  # type: ignore[arg-type]
    assert latest["throughput"] == 7500
    assert latest["rank_throughput.server_0"] == 500
    assert "max_power_w" not in latest
    assert rows(file, "select count(*) from metrics where key = 'rank_throughput.server_0'") == [(8,)]
    assert rows(file, "select name, status, user_id, end_time - start_time from runs") == [
        ("run-1", "FINISHED", "ann", 600_000)
    ]
    assert ("node_count", "1") in rows(file, "select key, value from params")
    assert rows(file, "select name from experiments order by experiment_id") == [
        ("Default",),
        ("AISBench mindspore_resnet (cn-north-9)",),
    ]


def test_a_run_says_in_mlflow_what_it_was_asked_to_do_and_on_what(tmp_path: Path) -> None:
    core = core_in(tmp_path / "data")
    run = a.run("asked", a.spec(parameters={"batch_size": 32, "graph": True, "net": "resnet 50"}))
    annotations = Annotations(tuple(AnnotationChange(a.T0, "ann", AnnotationKind.TAG, tag) for tag in ("golden", "q4")))

    file = sent(core, tmp_path / "out.db", replace(a.record("asked"), run=run, annotations=annotations))

    asked = "select key, value from params where key like 'parameters.%' order by key"
    assert rows(file, asked) == [
        ("parameters.batch_size", "32"),
        ("parameters.graph", "true"),
        ("parameters.net", "resnet 50"),
    ]
    assert {
        ("aisbench.tags", "golden, q4"),
        ("aisbench.system.number_of_nodes", "1"),
        ("aisbench.tester.test_mode", "training"),
    } <= set(rows(file, "select key, value from tags"))


def test_odd_contents_of_one_run_keep_no_other_from_being_written(tmp_path: Path) -> None:
    core, file = core_in(tmp_path / "data"), tmp_path / "out.db"
    odd = {"k" * 300 + "1": 1, "k" * 300 + "2": 2, "quoted": 'it\'s "so"', "long": "y" * 10_000}
    core.warehouse.record_many([a.record("odd", parameters=odd), *(a.record(f"run-{number}") for number in range(4))])
    with core.warehouse.cursor() as cur:
        for number, cell in enumerate(["null", "[1]", '{"parameters": [1]}', '{"parameters": {"a": {"b": [null]}}}']):
            cells = "spec = $1, system = $1, tester = $1, tags = $1"
            cur.execute(f"update runs set {cells} where run_id = $2", [cell, f"run-{number}"])

    assert export(core, file, QUERY) == {SendOutcome.NEW: 5}

    told = "select name, key, substr(value, 1, 16), length(value) from params join runs using (run_uuid)"
    assert rows(file, f"{told} where key like 'parameters.%' order by name, key") == [
        ("odd", "parameters." + "k" * 239, "2", 1),
        ("odd", "parameters.long", "y" * 16, 6000),
        ("odd", "parameters.quoted", 'it\'s "so"', 9),
        ("run-3", "parameters.a", '{"b": [null]}', 13),
    ]


def several() -> Iterator[RunRecord]:
    """Runs with everything that can be measured: cards, servers, samples, power, times."""
    whole = a.record("whole", throughputs=[1000.1] * 7 + [999.9], samples=(MetricSample(a.T0, 0, "npuUtil", 93.5),))
    assert whole.result is not None
    info = replace(
        whole.result.info,
        average_power=250.5,
        max_power=300.0,
        total_start_time=a.T0,
        total_end_time=a.T0.replace(hour=9),
    )
    yield replace(whole, result=replace(whole.result, info=info))
    single = a.record("single", mode=Mode.SINGLE_SERVER, node_count=2)
    assert single.result is not None
    servers = (ServerResult(0, 8000.0, 0.76), ServerResult(1, 8000.0, 0.77))
    yield replace(single, result=replace(single.result, server_results=servers))
    yield a.record("rehearsed", rehearsal=True)
    yield a.record("synthetic", synthetic_data=True)


def test_numbers_come_back_as_they_went(tmp_path: Path) -> None:
    here, there = core_in(tmp_path / "here"), core_in(tmp_path / "there")
    sent(here, tmp_path / "out.db", *several())

    results = [each for each in there.imports.read(tmp_path / "out.db", {}) if isinstance(each, ParsedResult)]
    there.imports.save(results, Choices(there.imports.where(region="cn-north-9")), named("bob"))

    back = {each.job_id: each for each in there.warehouse.runs.list_rows(replace(QUERY, region="cn-north-9")).rows}
    for before in here.warehouse.runs.list_rows(QUERY).rows:
        after = back[before.job_id]
        for name in NUMBERS:
            assert getattr(after, name) == getattr(before, name), (before.run_id, name)
        assert rank_results_of(there.warehouse, after.run_id) == rank_results_of(here.warehouse, before.run_id)
        assert there.warehouse.cards.find_servers(after.run_id) == here.warehouse.cards.find_servers(before.run_id)
    with there.warehouse.cursor() as cur:
        cur.execute("select average_power, max_power, total_end_time from results where max_power is not null")
        assert cur.fetchall() == [(250.5, 300.0, a.T0.replace(hour=9, tzinfo=None))]
    assert not any(row.rehearsal for row in back.values())


def test_rehearsals_stay_rehearsals_on_their_way(tmp_path: Path) -> None:
    here, there = core_in(tmp_path / "here"), core_in(tmp_path / "there")
    here.warehouse.record_many(several())
    export(here, tmp_path / "out.db", replace(QUERY, rehearsal=True))

    (found,), _ = found_in(tmp_path / "out.db")
    there.imports.save([found], Choices(there.imports.where(region="cn-north-9")), named("bob"))

    assert rows(tmp_path / "out.db", "select name from experiments where experiment_id = 1") == [
        ("AISBench mindspore_resnet (cn-north-9, rehearsals)",)
    ]
    (row,) = there.warehouse.runs.list_rows(BoardQuery("imported", include_invalid=True)).rows
    assert row.rehearsal


def test_a_run_that_comes_back_to_where_it_was_made_is_here_already(tmp_path: Path) -> None:
    core = core_in(tmp_path / "data")
    sent(core, tmp_path / "out.db", a.record())

    results = [each for each in core.imports.read(tmp_path / "out.db", {}) if isinstance(each, ParsedResult)]
    saved = core.imports.save(results, Choices(), named("ann"))

    assert (saved.new, saved.existing) == ((), 1)

"""A check computes again what is stored: a changed cell is named, an honest run, wherever it came from, never is."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.domain.results.record import read_record, read_stated
from aisbench_core.exchange.importing.choices import Choices
from aisbench_core.exchange.readers.reading import read_path
from aisbench_core.exchange.readers.results import ParsedResult
from aisbench_core.model import (
    AnnotationChange,
    AnnotationKind,
    Annotations,
    MetricSample,
    RunRecord,
    RunState,
    stated_of,
)
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.maintenance.stored_runs import CHUNK
from tests import records as a
from tests.actors import TESTER, named
from tests.stores.test_export_round_trip import Console, many_kinds
from tests.stores.test_mlflow import core_in, sent


def some() -> list[RunRecord]:
    """Runs of every kind: measured, failed, remarked on, described, with samples, alone on servers."""
    noted = AnnotationChange(a.T0, "somebody", AnnotationKind.NOTE, "looks slow")
    tagged = AnnotationChange(a.T0, "somebody", AnnotationKind.TAG, "nightly")
    samples = tuple(MetricSample(a.T0, node, "npuUtil", value) for node, value in ((0, 90.1), (1, 91.7), (1, 400.0)))
    return [
        a.record("plain"),
        a.record("slow", throughputs=[1000.0] * 7 + [900.1]),
        a.record("single", mode="single_server", node_count=2, throughputs=[900.3] * 8 + [1100.7] * 8),
        a.record("failed", state=RunState.FAILED, with_result=False),
        replace(a.record("remarked"), annotations=Annotations.of([noted, tagged])),
        replace(a.record("described"), described=stated_of({"division": "open", "test_id": "T-7", "cooling": "air"})),
        a.record("sampled", samples=samples),
        *many_kinds(),
    ]


@pytest.mark.every_store
def test_runs_of_every_kind_are_sound(warehouse: Warehouse) -> None:
    records = some()
    warehouse.record_many(records)

    assert warehouse.check(records).damages == ()
    assert warehouse.check([]).damages == ()


@pytest.mark.parametrize(
    ("statement", "column"),
    [
        (
            "update results set throughput_cluster = throughput_cluster * 1.01 where run_id = 'plain'",
            "throughput_cluster",
        ),
        ("update results set throughput_per_node = 1 where run_id = 'plain'", "throughput_per_node"),
        ("update results set throughput_per_card = 1 where run_id = 'single'", "throughput_per_card"),
        ("update results set rank_cv = 0 where run_id = 'slow'", "rank_cv"),
        ("update results set straggler_ranks = '' where run_id = 'slow'", "straggler_ranks"),
        ("update results set ranks_found = 7 where run_id = 'plain'", "ranks_found"),
        pytest.param(
            *("update rank_results set throughput = 2000 where run_id = 'plain' and rank = 0", "throughput_cluster"),
            marks=pytest.mark.every_store,
        ),
        ("update results set accuracy_measured = 0.99 where run_id = 'plain'", "accuracy_measured"),
        ("update results set npu_util_avg_pct = 100 where run_id = 'sampled'", "npu_util_avg_pct"),
        ("update results set npu_util_avg_pct = 100 where run_id = 'plain'", "npu_util_avg_pct"),
        ("update results set validity = 'valid' where run_id = 'failed'", "validity"),
        ("update results set failed_checks = 'V05' where run_id = 'plain'", "failed_checks"),
        ("update runs set fingerprint = md5('') where run_id = 'plain'", "fingerprint"),
        ("update runs set model = 'another' where run_id = 'plain'", "fingerprint"),
        ("update runs set flavor = 'larger' where run_id = 'plain'", "flavor"),
        ("update runs set node_count = 9 where run_id = 'plain'", "node_count"),
        ("update runs set queue_s = 1e6 where run_id = 'plain'", "queue_s"),
        ("update runs set spec = '{}' where run_id = 'plain'", "spec_sha256"),
        ("update runs set tags = '[\"best\"]' where run_id = 'remarked'", "tags"),
        ("update runs set note = 'all well' where run_id = 'remarked'", "note"),
    ],
)
def test_a_cell_that_others_contradict_is_named_with_its_run(warehouse: Warehouse, statement: str, column: str) -> None:
    warehouse.record_many(some())
    with warehouse.cursor() as cur:
        cur.execute(statement)

    damages = warehouse.check([], mend=True).damages

    [run_id] = re.findall("run_id = '([a-z]+)'", statement)
    assert {each.where.rpartition(" ")[2] for each in damages} == {run_id}
    assert [each for each in damages if column in each.sentence]
    assert all("rebuild" in each.hint for each in damages)


@pytest.mark.parametrize(
    "statement",
    [
        "update results set accuracy = accuracy / 2, accuracy_measured = accuracy / 2 where run_id = 'plain'",
        "update results set raw = 'another' where run_id = 'plain'",
        "update runs set created_by = 'somebody else' where run_id = 'plain'",
        "update runs set duration_s = 1 where run_id = 'plain'",
        pytest.param(
            "update runs set ended_at = ended_at + interval 1 microsecond where run_id = 'plain'",
            marks=pytest.mark.every_store,
        ),
        'update runs set system = \'{"cooling":"water","division":"open"}\' where run_id = \'described\'',
        "update runs set detail = 'x' where run_id = 'failed'",
    ],
)
def test_a_cell_that_nothing_follows_from_is_seen_by_the_hash_and_named_by_the_folder(
    warehouse: Warehouse, statement: str
) -> None:
    records = some()
    warehouse.record_many(records)
    with warehouse.cursor() as cur:
        cur.execute(statement)
    [run_id] = re.findall("run_id = '([a-z]+)'", statement)
    [column] = re.findall("set ([a-z_]+)", statement)

    alone, beside = warehouse.check([]).damages, warehouse.check(records).damages

    assert [
        each for each in alone if "its cells do not give its record_sha256" in each.sentence and run_id in each.where
    ]
    assert [each for each in beside if f"what its folder says: {column}" in each.sentence and run_id in each.where]


def test_runs_that_were_exported_and_imported_are_sound(tmp_path: Path) -> None:
    there, here = Console(tmp_path / "there"), Console(tmp_path / "here")
    there.warehouse.record_many(some())

    here.take(there.exported())
    again = Console(tmp_path / "again")
    again.take(here.exported())

    for console in (here, again):
        kept = [record_in(console, folder.name) for folder in sorted(console.runs.iterdir())]
        assert len(kept) > 8
        assert console.warehouse.check(kept).damages == ()


def record_in(console: Console, run_id: str) -> RunRecord:
    folder = RunFolder(console.runs / run_id)
    return replace(read_record(folder.record, folder.metrics, folder.events), described=read_stated(folder.path))


def test_a_changed_cell_of_an_imported_run_is_seen(tmp_path: Path) -> None:
    there, here = Console(tmp_path / "there"), Console(tmp_path / "here")
    there.warehouse.record_many(some())
    here.take(there.exported())
    with here.warehouse.cursor() as cur:
        cur.execute("update results set throughput_cluster = 99999 where run_id = 'plain'")

    [damage] = here.warehouse.check([], mend=True).damages

    assert damage.where == "runs, run plain"
    assert "its cells do not give its record_sha256" in damage.sentence


def test_runs_that_went_through_mlflow_are_sound(tmp_path: Path) -> None:
    there, here = core_in(tmp_path / "there"), core_in(tmp_path / "here")
    store = sent(there, tmp_path / "store.db", *some())

    here.imports.save(
        (each for each in read_path(store) if isinstance(each, ParsedResult)), Choices(), named("importer")
    )

    checked = here.storage.check(TESTER)
    assert checked.runs > 8
    assert checked.damages == ()


def test_progress_is_told(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record_many([a.record(f"run-{number}") for number in range(CHUNK + 1)])
    told: list[tuple[int, int]] = []

    checked = warehouse.check([], lambda done, of: told.append((done, of)))

    assert checked.damages == ()
    assert told == [(CHUNK, CHUNK + 1), (CHUNK + 1, CHUNK + 1)]

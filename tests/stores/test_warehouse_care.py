"""A warehouse is looked after: checked, and made small again; a file and a team's alike."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.base.private_files import draft_of
from aisbench_core.model import RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.processes import FORKED
from tests.sandbox_process import SandboxProcess
from tests.team_warehouse import TeamWarehouse, with_many_samples

BOARD = BoardQuery("cn-north-9", include_invalid=True)
NOW = timedelta(0)


def everything(warehouse: Warehouse) -> list[object]:
    """Every cell of runs and cards, as text."""
    with warehouse.cursor() as cur:
        rows = cur.execute("select * from runs join results using (run_id) order by run_id").fetchall()
        cards = cur.execute("select * from rank_results order by run_id, server, rank").fetchall()
        samples = cur.execute("select * from metric_samples order by run_id, at_utc, node, value").fetchall()
    return [rows, cards, samples]


def some(warehouse: Warehouse) -> list[RunRecord]:
    """Five usual runs and one with many samples, recorded."""
    records = [*a.records([8000.0, 8100.0, 8200.0, 8300.0, 8400.0]), with_many_samples("long")]
    for record in records:
        warehouse.record(record)
    return records


# --- check --------------------------------------------------------------------------------------------


def test_a_healthy_warehouse_has_no_damage(warehouse: Warehouse) -> None:
    records = some(warehouse)

    checked = warehouse.check(records)

    assert checked.damages == ()
    assert (checked.runs, checked.compared) == (6, 6)
    assert checked.rows == 6 * (1 + 1 + 8) + 600


@pytest.mark.parametrize(
    ("statement", "where", "sentence"),
    [
        pytest.param(
            *("insert into runs select * from runs where run_id = 'run-0'", "run-0", "there 2 times"),
            marks=pytest.mark.every_store,
        ),
        ("insert into results select * from results where run_id = 'run-0'", "run-0", "2 results"),
        ("delete from results where run_id = 'run-0'", "run-0", "no result row"),
        pytest.param(
            *("delete from rank_results where run_id = 'run-0' and rank = 3", "run-0", "fewer cards"),
            marks=pytest.mark.every_store,
        ),
        ("delete from runs where run_id = 'run-0'", "run-0", "no such run"),
        ("update runs set record_sha256 = '' where run_id = 'run-0'", "run-0", "differs from what its folder says"),
        pytest.param(
            *("delete from metric_samples where value < 3", "long", "differs from what its folder says"),
            marks=pytest.mark.every_store,
        ),
    ],
)
def test_damage_is_found_and_named(warehouse: Warehouse, statement: str, where: str, sentence: str) -> None:
    records = some(warehouse)
    with warehouse.cursor() as cur:
        cur.execute(statement)

    damages = warehouse.check(records).damages

    assert [each for each in damages if sentence in each.sentence and where in each.where and each.hint]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        pytest.param(*("ruleset_id = 'kind/1'", "a ruleset that is not known: kind/1"), marks=pytest.mark.every_store),
        ("ruleset_sha256 = repeat('0', 64)", "other rules of ruleset aisbench/1"),
    ],
)
def test_a_verdict_of_rules_that_are_not_known_is_named(warehouse: Warehouse, change: str, sentence: str) -> None:
    records = some(warehouse)
    with warehouse.cursor() as cur:
        cur.execute(f"update results set {change} where run_id in ('run-0', 'run-1')")

    (damage,) = warehouse.check(records).damages

    assert damage.where == "results, run run-0 and 1 more"
    assert sentence in damage.sentence
    assert "aisbench validate --store" in damage.hint


def test_a_run_that_only_its_folder_knows_is_named(warehouse: Warehouse) -> None:
    damages = warehouse.check([a.record("lost")]).damages

    assert [(each.where, each.sentence) for each in damages] == [
        ("run lost", "is in its folder, but not in the warehouse")
    ]


@pytest.mark.postgres
def test_a_file_that_is_missing_on_obs_is_named_and_one_that_nobody_needs_too(
    team: TeamWarehouse, obs: SandboxProcess
) -> None:
    warehouse = team.open()
    some(warehouse)
    (stored,) = list_parquet(team, obs)
    stored.with_name("of-a-dead-writer.parquet").write_bytes(stored.read_bytes())
    lake = Lake(team.location, 60)

    assert [file.rpartition("/")[2] for file in lake.loose_files(NOW)] == ["of-a-dead-writer.parquet"]
    stored.unlink()
    (damage,) = team.open().check([]).damages
    assert damage.where == "metric_samples"
    assert "cannot be read" in damage.sentence


def list_parquet(team: TeamWarehouse, obs: SandboxProcess) -> list[Path]:
    """The files of a team's warehouse, as the sandbox keeps objects."""
    return [file for file in (obs.data_dir / "obs").rglob("*.parquet") if team.database in file.parts]


# --- compact ------------------------------------------------------------------------------------------


@pytest.mark.every_store
def test_compacting_changes_nothing_that_is_asked(warehouse: Warehouse) -> None:
    some(warehouse)
    before, page = everything(warehouse), warehouse.board.list_rows(BOARD)

    warehouse.compact()
    warehouse.compact()

    assert everything(warehouse) == before
    assert warehouse.board.list_rows(BOARD) == page
    warehouse.record(a.record("afterwards"))
    assert warehouse.runs.find_row("afterwards") is not None


def test_compacting_a_file_gives_room_back(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.rebuild([with_many_samples(f"run-{number}") for number in range(90)])
    warehouse.rebuild([a.record("kept")])

    done = warehouse.compact()

    assert done.after.bytes < done.before.bytes / 2
    assert warehouse.runs.list_rows(BOARD).total == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["warehouse.duckdb", "warehouse.duckdb.queue"]


@pytest.mark.parametrize(
    "write", [lambda warehouse: warehouse.compact(), lambda warehouse: warehouse.record(a.record("next"))]
)
def test_what_a_killed_process_was_about_to_put_in_its_place_is_no_damage_and_goes_with_the_next_write(
    tmp_path: Path, write: Callable[[Warehouse], object]
) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record(a.record())
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(60)
    ours, alive = draft_of(tmp_path / "warehouse.duckdb").name, {f".{os.getppid()}.1.", f".{os.getpid()}.7."}
    for name in ("warehouse.duckdb", "warehouse.duckdb.20260301", "taken.duckdb"):
        for by in (f".{ended.pid}.140408223226752.", *alive):
            draft = re.sub(r"\.\d+\.\d+\.(?=new)", by, ours.replace("warehouse.duckdb", name))
            (tmp_path / draft).write_text("half", "utf-8")
    elsewhere = f".warehouse.duckdb.0badcafe.{ended.pid}.1.new"
    (tmp_path / elsewhere).write_text("half", "utf-8")

    damages = warehouse.check([]).damages
    write(Warehouse(tmp_path / "warehouse.duckdb"))

    assert damages == ()
    left = {file.name for file in tmp_path.glob(".*")}
    assert len(left) == 7
    assert elsewhere in left, "nobody here knows whether its writer lives"
    assert all(any(by in name for by in alive) for name in left - {elsewhere}), "who lives may go on"


def test_a_file_takes_less_than_half_of_what_the_engine_would_take(tmp_path: Path) -> None:
    warehouse, plain = Warehouse(tmp_path / "warehouse.duckdb"), tmp_path / "plain.duckdb"
    warehouse.rebuild([a.record(f"run-{number}", node_count=number % 8 + 1) for number in range(1000)])
    with warehouse.cursor() as cur:
        cur.execute(f"attach '{plain}' as plain")
        cur.execute("copy from database warehouse to plain")
        cur.execute("detach plain")

    done = warehouse.compact()

    assert done.after.bytes < plain.stat().st_size / 2
    assert done.after.bytes <= done.before.bytes


def test_a_file_is_compacted_while_others_record(tmp_path: Path) -> None:
    file = tmp_path / "warehouse.duckdb"
    Warehouse(file).record(a.record("first"))
    writers = [FORKED.Process(target=record_some, args=(file, number)) for number in range(2)]
    for writer in writers:
        writer.start()

    while any(writer.is_alive() for writer in writers):
        Warehouse(file).compact()

    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert Warehouse(file).runs.list_rows(BOARD).total == 41
    assert Warehouse(file).check([]).damages == ()


def record_some(file: Path, process: int) -> None:
    warehouse = Warehouse(file, patience_s=60)
    for number in range(20):
        warehouse.record(a.record(f"run-{process}-{number}"))


@pytest.mark.postgres
def test_compacting_a_team_s_warehouse_makes_few_files_and_removes_old_ones(
    team: TeamWarehouse, obs: SandboxProcess
) -> None:
    warehouse = team.open()
    for number in range(4):
        warehouse.record(with_many_samples(f"run-{number}"))
    before = everything(warehouse)
    lake = Lake(team.location, 60)

    first = lake.compact(NOW)
    second = lake.compact(NOW)

    assert first.flushed >= 4 * 10
    assert first.before.files == 4
    assert first.removed + second.removed >= 4
    assert len(list_parquet(team, obs)) == second.after.files <= 8
    assert everything(warehouse) == before


@pytest.mark.postgres
def test_files_that_somebody_may_still_read_are_kept_for_a_while(team: TeamWarehouse) -> None:
    warehouse = team.open()
    for number in range(2):
        warehouse.record(with_many_samples(f"run-{number}"))

    with team.open().cursor() as reader:
        reader.execute("select count(*) from runs").fetchall()
        warehouse.compact()
        warehouse.compact()
        found = reader.execute("select count(*) from metric_samples").fetchall()

    assert found == [(1200,)]
    assert team.open().check([]).damages == ()

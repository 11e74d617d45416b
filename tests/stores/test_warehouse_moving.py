"""A warehouse is copied into another one, from a file to a team's and back."""

import multiprocessing.queues
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aisbench_core.base.errors import WarehouseError
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.store.file_store import FileStore
from aisbench_core.warehouse.store.lake import Lake
from tests import records as a
from tests.actors import named
from tests.postgres_server import PostgresServer
from tests.processes import FORKED
from tests.stores.test_warehouse_care import BOARD, everything, some
from tests.team_warehouse import TeamWarehouse, with_many_samples


def silent(_done: int, _of: int) -> None:
    """Nobody watches."""


@pytest.fixture(params=["to the team", "to a file"])
def ways(request: pytest.FixtureRequest, team: TeamWarehouse, tmp_path: Path) -> tuple[Warehouse, Warehouse]:
    """From where to where."""
    file = Warehouse(tmp_path / "warehouse.duckdb")
    return (file, team.open()) if request.param == "to the team" else (team.open(), file)


@pytest.mark.postgres
def test_everything_is_copied_and_others_stay(ways: tuple[Warehouse, Warehouse]) -> None:
    source, target = ways
    records = some(source)
    source.mark_baseline(["run-0"], None, named("ann"), datetime(2026, 3, 1, tzinfo=UTC))
    target.record(a.record("run-0", engine_version="old"))
    target.record(a.record("of somebody else"))

    moved = source.move_to(target, silent)
    again = source.move_to(target, silent)

    assert (moved.runs, moved.copied, again.copied) == (6, 6, 0)
    assert target.check(records).damages == ()
    assert target.runs.list_rows(BOARD).total == 7
    assert target.runs.find_row("run-0") == source.runs.find_row("run-0")
    assert target.trends.list_baselines() == source.trends.list_baselines() != []


def test_many_runs_are_copied_some_at_a_time_and_each_of_them_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FileStore, "runs_per_copy", 3)
    source, target = Warehouse(tmp_path / "source.duckdb"), Warehouse(tmp_path / "target.duckdb")
    source.rebuild([with_many_samples(f"run-{number}") for number in range(7)])
    told: list[tuple[int, int]] = []

    moved = source.move_to(target, lambda done, of: told.append((done, of)))

    assert (moved.runs, moved.copied) == (7, 7)
    assert told == [(number, 7) for number in range(1, 8)]  # each has more samples than three runs should have rows
    assert everything(source) == everything(target)
    assert source.board.list_rows(BOARD) == target.board.list_rows(BOARD)


def test_runs_that_are_forgotten_while_others_are_copied_stop_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FileStore, "runs_per_copy", 2)
    source, target = Warehouse(tmp_path / "source.duckdb"), Warehouse(tmp_path / "target.duckdb")
    records = [a.record(f"run-{number}") for number in range(8)]
    source.rebuild(records)

    def forget(done: int, _of: int) -> None:
        if done == 2:
            source.rebuild(records[:2])

    source.move_to(target, forget)

    ids = [record.run.run_id for record in records]
    copied = target.runs.select_recorded(ids)
    assert {"run-0", "run-1"} <= copied <= {"run-0", "run-1", "run-2", "run-3"}  # two are read while two are written
    assert target.check([each for each in records if each.run.run_id in copied]).damages == ()


@pytest.mark.postgres
def test_there_and_back_again_is_the_same(team: TeamWarehouse, tmp_path: Path) -> None:
    first, last = Warehouse(tmp_path / "first.duckdb"), Warehouse(tmp_path / "last.duckdb")
    some(first)

    first.move_to(team.open(), silent)
    team.open().move_to(last, silent)

    assert everything(first) == everything(last)
    assert first.board.list_rows(BOARD) == last.board.list_rows(BOARD)


@pytest.mark.postgres
def test_a_move_that_was_killed_is_carried_on(team: TeamWarehouse, tmp_path: Path) -> None:
    file = tmp_path / "warehouse.duckdb"
    Warehouse(file).rebuild(a.records([8000.0] * 450))
    told = FORKED.Queue()
    mover = FORKED.Process(target=move_and_tell, args=(file, team, told))
    mover.start()
    assert told.get(timeout=60) == 200

    mover.kill()
    mover.join(60)
    moved = Warehouse(file).move_to(team.open(), silent)

    assert moved.runs == 450
    assert moved.copied <= 250
    assert team.open().runs.list_rows(BOARD).total == 450
    assert team.open().check([]).damages == ()


def move_and_tell(file: Path, team: TeamWarehouse, told: "multiprocessing.queues.Queue[int]") -> None:
    Lake.runs_per_copy = 200  # in a process of its own
    Warehouse(file).move_to(team.open(), lambda done, _of: told.put(done))


@pytest.mark.postgres
def test_a_move_without_a_catalogue_says_so_and_changes_nothing(
    team: TeamWarehouse, tmp_path: Path, postgres: PostgresServer
) -> None:
    source = Warehouse(tmp_path / "warehouse.duckdb")
    some(source)
    before = everything(source)
    postgres.kill()
    try:
        with pytest.raises(WarehouseError, match="check that PostgreSQL runs"):
            source.move_to(team.open(), silent)
    finally:
        postgres.resume()

    assert everything(source) == before
    assert source.move_to(team.open(), silent).runs == 6

"""Many writers of one team's warehouse, and the death of each part of it: nothing is lost, doubled or half."""

import multiprocessing
import threading
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import duckdb
import pytest

from aisbench_core.base.errors import WarehouseError
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.postgres_server import PostgresServer
from tests.processes import FORKED
from tests.sandbox_process import SandboxProcess
from tests.team_warehouse import TeamWarehouse, with_many_samples

pytestmark = pytest.mark.postgres

BOARD = BoardQuery("cn-north-9")
PROCESSES, RUNS = 4, 8
"""500 runs each, which take minutes, are recorded by tests/bench/test_team_writers.py."""
CARDS = 8
TRIES = 600
ENDLESS = 100_000
PACE_S = 1.0


class Recorded(NamedTuple):
    """What a writer noted after the warehouse had taken a run, in seconds of the machine's clock."""

    run_id: str
    start: float
    end: float


def write(team: TeamWarehouse, name: str, count: int, notes: Path, tries: int = 1, long: bool = False) -> None:
    """A process that records runs one after the other; what fails is tried again, as the follower does."""
    warehouse = team.open()
    warehouse.facets.list_regions()
    with notes.open("a", buffering=1) as acknowledged:
        for number in range(count):
            record = with_many_samples(f"{name}-{number}") if long else a.record(f"{name}-{number}")
            start = time.monotonic()
            for left in reversed(range(tries)):
                try:
                    warehouse.record(record)
                    break
                except WarehouseError:
                    if not left:
                        raise
                    time.sleep(0.05)
            acknowledged.write(f"{record.run.run_id} {start} {time.monotonic()}\n")


def read(notes: Path) -> list[Recorded]:
    """What was noted so far, in whole lines."""
    text = notes.read_text() if notes.exists() else ""
    lines = [line.split() for line in text[: text.rfind("\n") + 1].splitlines()]
    return [Recorded(run_id, float(start), float(end)) for run_id, start, end in lines]


class Writers:
    """Some writing processes, each with how many runs it records, and what they noted."""

    def __init__(self, team: TeamWarehouse, folder: Path, counts: Mapping[str, int], *how: object) -> None:
        self.notes = {name: folder / f"{name}.txt" for name in counts}
        self.processes = {
            name: FORKED.Process(target=write, args=(team, name, count, self.notes[name], *how))
            for name, count in counts.items()
        }
        for process in self.processes.values():
            process.start()

    def noted(self, name: str = "") -> list[Recorded]:
        """By one of them, or by all."""
        return [each for of, notes in self.notes.items() if name in ("", of) for each in read(notes)]

    def wait_for(self, count: int) -> None:
        """Until so many runs were recorded by each."""
        until = time.monotonic() + 300
        while min(len(self.noted(name)) for name in self.notes) < count:
            assert time.monotonic() < until, "the writers do not come on"
            time.sleep(0.02)

    def end(self) -> list[int | None]:
        """Their exit codes, when they are done."""
        for process in self.processes.values():
            process.join(900)
        return [process.exitcode for process in self.processes.values()]


def assert_whole(warehouse: Warehouse) -> int:
    """At one moment every run is there once, with all its rows; returns how many runs there are."""
    with warehouse.cursor() as cur:
        [(runs, different)] = cur.execute("select count(*), count(distinct run_id) from runs").fetchall()
        results = cur.execute("select count(*), count(distinct run_id) from results").fetchall()
        [(cards, of)] = cur.execute("select count(*), count(distinct run_id) from rank_results").fetchall()
    assert (runs, runs, runs, runs * CARDS) == (different, *results[0], cards)
    assert of == runs
    return int(runs)


def look_until(end: threading.Event, warehouse: Warehouse, seen: list[int]) -> None:
    """A reader who looks again and again: never half a run, never fewer than before."""
    while not end.wait(PACE_S):
        seen.append(assert_whole(warehouse))
        assert warehouse.board.list_rows(BOARD).total <= 1


def most_waited_for(recorded: list[Recorded]) -> int:
    """How many runs of others were taken, at most, while one writer waited for its turn."""
    return max(
        sum(other.end > one.start and other.end < one.end for other in recorded if other is not one) for one in recorded
    )


def record_at_once(team: TeamWarehouse, folder: Path, count: int) -> list[Recorded]:
    """Let four processes record so many runs each, with somebody looking all the time: none is lost, twice or half."""
    warehouse = team.open()
    warehouse.facets.list_regions()
    end, seen, wrong = threading.Event(), [0], []

    def look() -> None:
        try:
            look_until(end, warehouse, seen)
        except BaseException as error:
            wrong.append(error)

    reader = threading.Thread(target=look)
    reader.start()

    writers = Writers(team, folder, {f"w{number}": count for number in range(PROCESSES)})
    codes = writers.end()
    end.set()
    reader.join(60)

    recorded = writers.noted()
    assert codes == [0] * PROCESSES
    assert wrong == []
    assert all(before <= after for before, after in pairwise(seen))
    assert assert_whole(team.open()) == len(recorded) == PROCESSES * count
    return recorded


def test_four_processes_record_at_once_and_nobody_is_passed_over(team: TeamWarehouse, tmp_path: Path) -> None:
    recorded = record_at_once(team, tmp_path, RUNS)

    # One turn each is what a line means; a writer who comes back quickly may be counted twice. Seconds: tests/bench.
    assert most_waited_for(recorded) <= 2 * PROCESSES


def test_the_turn_of_a_writer_that_is_killed_goes_to_the_next(team: TeamWarehouse) -> None:
    team.open().record(a.record("before"))
    half = FORKED.Event()
    writer = FORKED.Process(target=write_half, args=(team, half))
    writer.start()
    assert half.wait(60)

    writer.kill()
    team.open().record(a.record("after"))

    writer.join(60)
    assert assert_whole(team.open()) == 2
    assert team.open().check([]).damages == ()


def write_half(team: TeamWarehouse, half: "multiprocessing.synchronize.Event") -> None:
    def stop_there(cur: duckdb.DuckDBPyConnection) -> None:
        cur.execute("insert into runs (run_id) values ('half')")
        half.set()
        threading.Event().wait(60)

    Lake(team.location, 60).write(stop_there)


def test_writers_that_are_killed_lose_nothing_that_was_acknowledged(team: TeamWarehouse, tmp_path: Path) -> None:
    writers = Writers(team, tmp_path, {"victim": ENDLESS, "other": 10})
    writers.wait_for(3)

    writers.processes["victim"].kill()
    codes = writers.end()

    found = assert_whole(team.open())
    assert codes[1] == 0
    assert len(writers.noted("other")) == 10
    assert len(writers.noted()) <= found <= len(writers.noted()) + 1
    assert all(team.open().runs.find_row(each.run_id) for each in writers.noted("victim")[-1:])
    assert team.open().check([]).damages == ()


@pytest.mark.parametrize("who", ["postgresql", "obs"])
def test_writers_outlive_the_death_of_what_they_write_to(
    team: TeamWarehouse, tmp_path: Path, postgres: PostgresServer, obs: SandboxProcess, who: str
) -> None:
    server = postgres if who == "postgresql" else obs
    writers = Writers(team, tmp_path, {"one": 8, "two": 8}, TRIES, who == "obs")
    writers.wait_for(3)

    server.kill()
    server.resume()
    codes = writers.end()

    assert codes == [0, 0]
    assert assert_whole(team.open()) == len(writers.noted()) == 16
    assert team.open().check([]).damages == ()

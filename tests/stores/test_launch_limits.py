"""Limits of launches per person: they hold however many threads and processes launch at once."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.base.errors import TooManyRuns
from aisbench_core.config.settings import HOME
from aisbench_core.model import Run, RunState
from aisbench_core.store.ledger.database.address import LedgerAddress
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.limits import LaunchLimits
from tests import records as a
from tests.actors import named
from tests.series_bench import SPEC, SeriesBench


def new(run_id: str, by: str = "ann", minute: float = 0) -> Run:
    at = a.T0 + timedelta(minutes=minute)
    return replace(a.run(run_id), state=RunState.PREPARING, created_by=by, created_at=at, version=0)


@pytest.fixture
def ledger(ledger_location: Path | LedgerAddress) -> Ledger:
    return Ledger(ledger_location)


@pytest.mark.every_store
def test_a_person_has_so_many_active_runs_at_once_and_others_have_their_own(ledger: Ledger) -> None:
    check = LaunchLimits(at_once=2).require_room
    first = ledger.add(new("one"), check=check)
    ledger.add(new("two"), check=check)

    with pytest.raises(TooManyRuns, match=r"ann has as many active runs as `runs_at_once` allows \(2\)"):
        ledger.add(new("three"), check=check)

    ledger.add(new("of bob", by="bob"), check=check)
    ledger.advance(first, replace(first, state=RunState.STOPPED))
    ledger.add(new("three"), check=check)
    assert not ledger.find("four")
    assert ledger.count() == 4


@pytest.mark.every_store
def test_a_person_launches_so_many_runs_within_an_hour_and_is_told_when_the_next_may_be(ledger: Ledger) -> None:
    check = LaunchLimits(per_hour=2).require_room
    for minute in (0, 10):
        ledger.add(replace(new(f"at-{minute}", minute=minute), state=RunState.COMPLETED), check=check)

    with pytest.raises(TooManyRuns, match="`launches_per_hour` allows") as refused:
        ledger.add(new("at-59", minute=59), check=check)

    assert "the next one can be launched at 09:00:00 UTC" in str(refused.value)
    ledger.add(new("at-61", minute=61), check=check)
    with pytest.raises(TooManyRuns, match="09:10:00 UTC"):
        ledger.add(new("at-62", minute=62), check=check)


def test_no_limit_is_the_default_and_a_repeated_launch_is_none_at_all(ledger: Ledger) -> None:
    for number in range(30):
        ledger.add(new(f"run-{number}"), check=LaunchLimits().require_room)

    ledger.add(new("first", by="bob"), token="pressed", check=LaunchLimits(at_once=1).require_room)
    again = ledger.add(new("second", by="bob"), token="pressed", check=LaunchLimits(at_once=1).require_room)

    assert again.run_id == "first"


LAUNCHES = """
import sys
from pathlib import Path
from aisbench_core.store.ledger.ledger import Ledger
from tests.stores.test_launch_limits import race
from tests.team_ledger import location_of
race(Ledger(location_of(sys.argv[1], Path(sys.argv[2]))), sys.argv[3])
"""


def race(ledger: Ledger, name: str) -> None:
    """Eight threads, each of which tries to launch five runs of ann."""
    check = LaunchLimits(per_hour=9, at_once=7).require_room

    def launch(thread: int) -> None:
        for number in range(5):
            with suppress(TooManyRuns):
                ledger.add(new(f"{name}-{thread}-{number}"), check=check)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(launch, range(8)))


def test_racing_threads_and_processes_never_exceed_it(ledger: Ledger, ledger_url: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", LAUNCHES, ledger_url, str(tmp_path / "data" / "ledger.sqlite3")]
    others = [subprocess.Popen([*command, name], cwd=HOME) for name in ("b", "c", "d")]

    race(ledger, "a")

    assert [other.wait(60) for other in others] == [0, 0, 0]
    assert ledger.count() == 7


def test_a_refused_launch_leaves_no_folder_and_cells_of_a_series_wait_for_room(tmp_path: Path) -> None:
    bench = SeriesBench.on(tmp_path / "data", runs_at_once=1)
    first = bench.core.runs.launch(SPEC, "quiet", named("tester"))
    series = bench.launch(repeats=1)

    with pytest.raises(TooManyRuns):
        bench.core.runs.launch(SPEC, "quiet", named("tester"))
    bench.admit()

    folders = {path.name for path in bench.core.settings.runs_dir.iterdir()}
    assert folders == {first.run_id}
    assert "as many active runs as `runs_at_once` allows (1)" in bench.look(series).series.launch_error
    bench.end(first)
    bench.clock.move(3600)
    assert [run.series_id for run in bench.admit()] == [series.series_id]

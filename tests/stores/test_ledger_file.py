"""The ledger's file: brought up to date, shared by processes and threads, and quick after a long history."""

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from aisbench_core.base.errors import AisbenchError, DamagedLedger, StaleRun
from aisbench_core.model import ACTIVE, TERMINAL, Event, Level, Run, RunSort, RunState
from aisbench_core.store.ledger.ledger import Ledger
from tests import records as a
from tests.processes import FORKED

PROCESSES, THREADS, MOVES = 4, 4, 5
MOST_TRIES = 5000
SINCE = datetime(2024, 1, 1, tzinfo=UTC)  # after all of the history that is made up


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "ledger.sqlite3"


@pytest.fixture
def ledger(file: Path) -> Ledger:
    return Ledger(file)


def run(run_id: str = "r-1", state: RunState = RunState.QUEUED, minutes: int = 0, **changes: object) -> Run:
    """A run that was launched some minutes after the first."""
    created = a.T0 + timedelta(minutes=minutes)
    made = replace(a.run(run_id), state=state, created_at=created, version=0)
    return replace(made, **changes)  # type: ignore[arg-type]  # the names are Run's own


def event(message: str, run_id: str = "r-1") -> Event:
    return Event(run_id, a.T0, "console", Level.INFO, message, "tester")


def ids(runs: list[Run]) -> list[str]:
    return [one.run_id for one in runs]


# --- the file -------------------------------------------------------------------------------------------


def schema_version(file: Path) -> int:
    with sqlite3.connect(file) as con:
        return int(con.execute("pragma user_version").fetchone()[0])


def test_a_ledger_of_a_newer_version_is_refused_and_left_as_it_is(file: Path) -> None:
    Ledger(file).add(run())
    with sqlite3.connect(file) as con:
        con.execute("pragma user_version = 99")

    with pytest.raises(AisbenchError, match="written by a newer version") as refused:
        Ledger(file).page()

    assert "update this console" in str(refused.value)
    assert schema_version(file) == 99


def test_a_file_that_is_no_ledger_is_refused_by_its_first_use_and_left_as_it_is(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"this is not a database" * 100)
    ledger = Ledger(file)

    with pytest.raises(DamagedLedger, match=r"ledger\.sqlite3 cannot be used: file is not a database") as refused:
        ledger.add(run())

    assert "move ledger.sqlite3 with its -wal and -shm files" in refused.value.hint
    assert file.read_bytes() == b"this is not a database" * 100


def test_a_log_whose_ledger_is_gone_is_not_dropped_in_silence(file: Path) -> None:
    Ledger(file).add(run())
    log = file.with_name(f"{file.name}-wal")
    with sqlite3.connect(file) as con:
        con.execute("update runs set detail = 'only in the log'")
        con.commit()
        content = log.read_bytes()
        file.unlink()

        with pytest.raises(DamagedLedger, match="it is missing or empty, but its log"):
            Ledger(file).count()
        assert content
        assert log.read_bytes() == content
    con.close()


# --- many at once ---------------------------------------------------------------------------------------


def open_ledger(file: Path) -> None:
    """Make the file, at the same time as others."""
    Ledger(file).count()


def count_up(file: Path, process: int) -> None:
    """Threads that all move the same run, launch with the same token, and write down what they did."""
    ledger = Ledger(file)

    def work(thread: int) -> None:
        me = f"{process}-{thread}"
        ledger.add(run(f"r-{me}"), event("launched", f"r-{me}"), token="the same dialog")
        for number in range(MOVES):
            count_one(ledger, f"{me}-{number}")

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))


def count_one(ledger: Ledger, what: str) -> None:
    """Count the run's attempts up by one, however often somebody else is first."""
    for _ in range(MOST_TRIES):
        seen = ledger.get("counted")
        try:
            ledger.advance(seen, replace(seen, attempts=seen.attempts + 1), event(what, "counted"))
        except StaleRun:
            continue
        return
    raise AssertionError("others were always first")


def test_processes_and_threads_lose_no_change_and_launch_a_token_once(file: Path) -> None:
    starting = [FORKED.Process(target=open_ledger, args=(file,)) for _ in range(2)]
    for process in starting:
        process.start()
    Ledger(file).add(run("counted"))
    processes = [FORKED.Process(target=count_up, args=(file, number)) for number in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in [*starting, *processes]:
        process.join(120)

    ledger = Ledger(file)
    changes = PROCESSES * THREADS * MOVES
    assert [process.exitcode for process in [*starting, *processes]] == [0] * (PROCESSES + 2)
    assert ledger.get("counted").attempts == ledger.get("counted").version == changes
    assert len({one.message for one in ledger.events("counted")}) == len(ledger.events("counted")) == changes
    assert ledger.count() == 2, "the counted run, and one for the token"


def test_a_reader_is_not_kept_waiting_by_a_writer(file: Path, ledger: Ledger) -> None:
    ledger.add(run())
    with sqlite3.connect(file, isolation_level=None) as writer:
        writer.execute("begin immediate")
        writer.execute("update runs set detail = 'unfinished'")

        assert ledger.get("r-1").detail == run().detail
        writer.execute("rollback")


# --- a long history -------------------------------------------------------------------------------------


class Metered(Ledger):
    """Counts the work of SQLite, in units of ten steps of its machine."""

    steps = 0

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        with super().connection() as con:
            assert isinstance(con, sqlite3.Connection)
            con.set_progress_handler(self._count, 10)
            yield con

    def _count(self) -> int:
        self.steps += 1
        return 0

    def cost(self, ask: Callable[[], object]) -> int:
        """How much work a question is."""
        self.steps = 0
        ask()
        return self.steps


def lengthen(file: Path, runs: int) -> None:
    """Make up a history: copies of the first run, in every state that is an end."""
    with sqlite3.connect(file) as con:
        columns = [row[1] for row in con.execute("pragma table_info(runs)")]
        made = {
            "run_id": "printf('h-%07d', n)",
            "created_at": "strftime('%Y-%m-%dT%H:%M:%S', 1700000000 + n, 'unixepoch') || '.000000+00:00'",
            "state": "case n % 3 when 0 then 'completed' when 1 then 'failed' else 'stopped' end",
        }
        values = ", ".join(made.get(name, name) for name in columns)
        con.execute(
            "with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ?)"  # columns of ours
            f" insert or ignore into runs ({', '.join(columns)})"
            f" select {values} from numbers, runs where run_id = 'r-1'",
            [runs],
        )


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda ledger: ledger.active(), id="active"),
        pytest.param(lambda ledger: ledger.page(), id="all"),
        pytest.param(lambda ledger: ledger.page(ACTIVE), id="active page"),
        pytest.param(lambda ledger: ledger.page(TERMINAL), id="ended page"),
        pytest.param(lambda ledger: ledger.page([RunState.STOPPED], offset=20), id="stopped, later page"),
        pytest.param(lambda ledger: ledger.page(TERMINAL, "resnet"), id="text that is found"),
        pytest.param(lambda ledger: ledger.page(TERMINAL, people=("ann",)), id="of a person"),
        pytest.param(lambda ledger: ledger.page(TERMINAL, since=SINCE), id="since a time"),
        pytest.param(lambda ledger: ledger.count(TERMINAL, people=("ann",), since=SINCE), id="count since a time"),
        pytest.param(lambda ledger: ledger.get("r-"), id="unique beginning"),
        pytest.param(lambda ledger: ledger.events("h-0000050"), id="events"),
    ],
)
def test_a_question_about_a_page_costs_the_same_after_a_long_history(
    file: Path, ask: Callable[[Ledger], object]
) -> None:
    ledger = Metered(file)
    ledger.add(run("r-1"))
    lengthen(file, 500)
    ledger.note(event("launched", "h-0000050"))
    short = ledger.cost(lambda: ask(ledger))
    lengthen(file, 10_000)

    assert ledger.count() == 10_001
    assert ledger.cost(lambda: ask(ledger)) <= short * 1.2 + 5


class Overheard(Ledger):
    """Remembers what SQLite is asked."""

    def __init__(self, path: Path) -> None:
        self.asked: list[str] = []
        super().__init__(path)

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        with super().connection() as con:
            assert isinstance(con, sqlite3.Connection)
            con.set_trace_callback(self.asked.append)
            yield con


@pytest.mark.parametrize("states", [TERMINAL, ACTIVE])
def test_to_sort_a_long_history_only_an_index_is_read_until_it_is_known_which_runs_stand_on_the_page(
    file: Path, states: frozenset[RunState]
) -> None:
    ledger = Overheard(file)
    for sort in RunSort:
        ledger.page(states, sort=sort, descending=True)
        ledger.page(states, sort=sort, descending=False)
        ledger.page(states, sort=sort, people=("ann",), since=SINCE)

    with sqlite3.connect(file) as con:
        asked = [each for each in ledger.asked if each.startswith("select * from runs")]
        steps = {str(row[3]) for each in asked for row in con.execute(f"explain query plan {each}")}

    whole = {step for step in steps if step.startswith(("SCAN runs", "SEARCH runs")) and "COVERING" not in step}
    assert len(asked) == 3 * len(RunSort)
    assert whole == {"SEARCH runs USING INDEX sqlite_autoindex_runs_1 (run_id=?)"}


def test_a_launch_that_was_confirmed_outlives_a_power_cut(ledger: Ledger) -> None:
    with ledger.transaction() as con:
        [synchronous] = con.execute("pragma synchronous").fetchone()

    assert synchronous == 2  # FULL: a commit waits for the disk

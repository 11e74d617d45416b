"""The ledger: nobody's change is lost, nothing is written twice, and a long history costs nothing."""

import multiprocessing
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.errors import AisbenchError, RunNotFound, StaleRun
from aisbench_core.model import ACTIVE, TERMINAL, Event, Level, Progress, Run, RunState
from aisbench_core.running.ledger import Ledger
from aisbench_core.running.ledger_schema import MIGRATIONS
from tests import records as a

PROCESS = multiprocessing.get_context("forkserver").Process
PROCESSES, THREADS, MOVES = 4, 4, 5
MOST_TRIES = 5000


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


# --- one run --------------------------------------------------------------------------------------------


def test_a_run_comes_back_as_it_was_written(ledger: Ledger) -> None:
    full = run(
        verdict=RunState.FAILED,
        attempts=3,
        detail="quotes \"' and 中文 \u2028 %_",
        started_at=a.T0,
        duration_s=0.1 + 0.2,
    )
    bare = run("r-2", verdict=None, job_id="", submitted_at=None, started_at=None, ended_at=None, duration_s=None)

    for written in (full, bare):
        ledger.add(written)
        assert ledger.get(written.run_id) == written


def test_the_same_id_is_written_once(ledger: Ledger) -> None:
    ledger.add(run())

    with pytest.raises(AisbenchError, match="cannot be used: UNIQUE"):
        ledger.add(run())


def test_advancing_replaces_a_run_and_counts_its_version(ledger: Ledger) -> None:
    before = ledger.add(run())

    after = ledger.advance(before, before.to(RunState.RUNNING), event("running"))

    assert after == replace(before, state=RunState.RUNNING, version=1)
    assert ledger.get("r-1") == after
    assert ledger.events("r-1") == [event("running")]


def test_the_second_to_advance_the_same_version_is_told_and_changes_nothing(ledger: Ledger) -> None:
    seen = ledger.add(run())
    winner = ledger.advance(seen, seen.to(RunState.STOPPING), event("stopping"))

    with pytest.raises(StaleRun, match="changed by somebody else"):
        ledger.advance(seen, seen.to(RunState.RUNNING), event("running"))

    assert ledger.get("r-1") == winner
    assert ledger.events("r-1") == [event("stopping")]


def test_a_run_that_nobody_launched_cannot_be_advanced(ledger: Ledger) -> None:
    with pytest.raises(StaleRun):
        ledger.advance(run(), run(state=RunState.RUNNING))

    assert ledger.count() == 0


def test_the_same_token_launches_once_and_no_token_always(ledger: Ledger) -> None:
    first = ledger.add(run("r-1"), event("launched"), token="a-dialog")
    again = ledger.add(run("r-2"), event("launched", "r-2"), token="a-dialog")
    for number in (3, 4):
        ledger.add(run(f"r-{number}"))

    assert again == first
    assert ledger.count() == 3
    assert ledger.events("r-2") == []


def test_a_token_gives_the_run_as_it_is_now(ledger: Ledger) -> None:
    first = ledger.add(run(), token="a-dialog")
    ledger.advance(first, first.to(RunState.RUNNING))

    assert ledger.add(run("r-2"), token="a-dialog").state is RunState.RUNNING


# --- finding --------------------------------------------------------------------------------------------


def test_a_run_is_found_by_a_beginning_that_no_other_shares(ledger: Ledger) -> None:
    for run_id in ("r20260301-aa", "r20260301-ab", "r20260302-aa", "r20260302-aab"):
        ledger.add(run(run_id))

    assert ledger.get("r20260301-ab").run_id == "r20260301-ab"
    assert ledger.get("r20260302-aa").run_id == "r20260302-aa", "the whole id wins over a beginning"
    with pytest.raises(RunNotFound, match="several runs start with 'r20260301'"):
        ledger.get("r20260301")


@pytest.mark.parametrize("run_id", ["", "x", "%", "r_1", "r-1x", "R-1", "' or 1 = 1 --", "中", "\U0010ffff"])
def test_a_run_that_is_not_there_is_said_to_be_unknown(ledger: Ledger, run_id: str) -> None:
    ledger.add(run("r-1"))

    with pytest.raises(RunNotFound, match="there is no run"):
        ledger.get(run_id)


def test_pages_are_newest_first_and_leave_nothing_out(ledger: Ledger) -> None:
    states = [RunState.COMPLETED, RunState.FAILED, RunState.STOPPED, RunState.RUNNING]
    for number in range(20):
        ledger.add(run(f"r-{number:02}", states[number % 4], minutes=number // 2))

    pages = [ledger.page(TERMINAL, limit=4, offset=offset) for offset in range(0, 20, 4)]

    ended = [f"r-{number:02}" for number in reversed(range(20)) if number % 4 != 3]
    assert ids([one for page in pages for one in page]) == ended
    assert ledger.count(TERMINAL) == len(ended)
    assert ids(ledger.page(limit=3)) == ["r-19", "r-18", "r-17"]
    assert ids(ledger.page([RunState.FAILED], limit=2, offset=1)) == ["r-13", "r-09"]
    assert ledger.page([]) == []
    assert ledger.count([]) == 0


def test_active_runs_come_oldest_first(ledger: Ledger) -> None:
    for number, state in enumerate(RunState):
        ledger.add(run(f"r-{number}", state, minutes=-number))

    assert {one.state for one in ledger.active()} == ACTIVE
    assert ids(ledger.active()) == [f"r-{number}" for number in reversed(range(len(ACTIVE)))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("RESNET", ["r-2", "r-1"]),
        ("r-2", ["r-2"]),
        ("100%", ["r-1"]),
        ("quota_", []),
        ("Bob", ["r-2"]),
        ("中文", ["r-2"]),
        ("' or '1'='1", []),
        ("", ["r-2", "r-1"]),
    ],
)
def test_text_is_looked_for_as_it_is_written(ledger: Ledger, text: str, found: list[str]) -> None:
    ledger.add(run("r-1", detail="100% done"))
    ledger.add(run("r-2", minutes=1, created_by="bob", detail="quota 中文"))

    assert ids(ledger.page(text=text)) == found
    assert ids(ledger.page(ACTIVE, text)) == found
    assert ledger.count(text=text) == len(found)


# --- what belongs to a run ------------------------------------------------------------------------------


def test_events_are_kept_in_their_order_for_each_run(ledger: Ledger) -> None:
    ledger.add(run(), event("launched"))
    ledger.note(event("second"))
    ledger.note(event("of another", "r-2"))
    ledger.note(event("second"))

    assert [one.message for one in ledger.events("r-1")] == ["launched", "second", "second"]


def test_progress_belongs_to_the_state_that_the_run_is_in(ledger: Ledger) -> None:
    before = ledger.add(run(state=RunState.UPLOADING))
    for done in (1, 2):
        ledger.set_progress(Progress("r-1", RunState.UPLOADING, done, 4, "files", a.T0))

    assert ledger.progress("r-1") == Progress("r-1", RunState.UPLOADING, 2, 4, "files", a.T0)
    ledger.advance(before, before.to(RunState.SUBMITTING))
    assert ledger.progress("r-1") is None
    assert ledger.progress("r-2") is None


def test_drafts_are_kept_replaced_and_dropped(ledger: Ledger) -> None:
    ledger.save_draft("me", "first", a.T0)
    ledger.save_draft("me", "工作量: second\n", a.T0)

    assert ledger.draft("me") == "工作量: second\n"
    ledger.drop_draft("me")
    ledger.drop_draft("me")
    assert ledger.draft("me") is None


def test_the_last_beat_says_who_follows(ledger: Ledger) -> None:
    assert ledger.last_beat() is None

    for number in range(3):
        ledger.beat(f"process {number}", a.T0 + timedelta(seconds=number))

    beat = ledger.last_beat()
    assert beat is not None
    assert (beat.who, beat.at) == ("process 2", a.T0 + timedelta(seconds=2))
    assert beat.is_fresh(beat.at + timedelta(seconds=9))
    assert not beat.is_fresh(beat.at + timedelta(seconds=10))


# --- the file -------------------------------------------------------------------------------------------


def schema_version(file: Path) -> int:
    with sqlite3.connect(file) as con:
        return int(con.execute("pragma user_version").fetchone()[0])


def test_a_ledger_of_an_older_version_is_brought_up_to_date_with_its_runs(file: Path) -> None:
    file.parent.mkdir()
    with sqlite3.connect(file, isolation_level=None) as con:
        MIGRATIONS[0](con)
        con.execute("pragma user_version = 1")
        fresh = Ledger(file.with_name("fresh.sqlite3"))
        fresh.add(run())
        con.execute("attach ? as fresh", [str(file.with_name("fresh.sqlite3"))])
        con.execute("insert into main.runs select * from fresh.runs")

    ledger = Ledger(file)

    assert schema_version(file) == len(MIGRATIONS)
    assert ids(ledger.page()) == ["r-1"]


def test_a_ledger_of_a_newer_version_is_refused_and_left_as_it_is(file: Path) -> None:
    Ledger(file).add(run())
    with sqlite3.connect(file) as con:
        con.execute("pragma user_version = 99")

    with pytest.raises(AisbenchError, match="written by a newer version") as refused:
        Ledger(file)

    assert "update this console" in str(refused.value)
    assert schema_version(file) == 99


def test_a_file_that_is_no_ledger_is_refused_in_one_sentence(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"this is not a database" * 100)

    with pytest.raises(AisbenchError, match=r"the ledger ledger\.sqlite3 cannot be used: file is not a database"):
        Ledger(file)


# --- many at once ---------------------------------------------------------------------------------------


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
    starting = [PROCESS(target=Ledger, args=(file,)) for _ in range(2)]
    for process in starting:
        process.start()
    Ledger(file).add(run("counted"))
    processes = [PROCESS(target=count_up, args=(file, number)) for number in range(PROCESSES)]
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
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with super()._connection() as con:
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
            "with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ?)"  # noqa: S608  # columns of ours
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

"""The ledger: nobody's change is lost, nothing is written twice, and a long history costs nothing."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.base.errors import AisbenchError, RunNotFound, StaleRun
from aisbench_core.model import ACTIVE, TERMINAL, Event, Level, Progress, Run, RunSort, RunState, StopCause, StopKind
from aisbench_core.store.ledger.database.address import LedgerAddress
from aisbench_core.store.ledger.ledger import Ledger
from tests import records as a


@pytest.fixture
def ledger(ledger_location: Path | LedgerAddress) -> Ledger:
    return Ledger(ledger_location)


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


@pytest.mark.every_store
def test_a_run_comes_back_as_it_was_written(ledger: Ledger) -> None:
    full = run(
        final_state=RunState.FAILED,
        attempts=3,
        detail="quotes \"' and 中文 \u2028 %_",
        stop_cause=StopCause(StopKind.STALL, 75),
        started_at=a.T0,
        duration_s=0.1 + 0.2,
    )
    bare = run("r-2", final_state=None, job_id="", submitted_at=None, started_at=None, ended_at=None, duration_s=None)

    for written in (full, bare):
        ledger.add(written)
        assert ledger.get(written.run_id) == written


@pytest.mark.every_store
def test_the_same_id_is_written_once(ledger: Ledger) -> None:
    ledger.add(run())

    with pytest.raises(AisbenchError, match=r"cannot be used: .*(UNIQUE|unique)"):
        ledger.add(run())


def test_advancing_replaces_a_run_and_counts_its_version(ledger: Ledger) -> None:
    before = ledger.add(run())

    after = ledger.advance(before, before.to(RunState.RUNNING), event("running"))

    assert after == replace(before, state=RunState.RUNNING, version=1)
    assert ledger.get("r-1") == after
    assert ledger.events("r-1") == [event("running")]


@pytest.mark.every_store
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


@pytest.mark.every_store
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


@pytest.mark.every_store
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


@pytest.mark.every_store
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


@pytest.mark.every_store
def test_a_page_of_one_workload_has_no_run_that_only_mentions_it(ledger: Ledger) -> None:
    first, other = run("r-1").spec.workload, replace(run("r-2", minutes=1), spec=a.spec(workload="another"))
    ledger.add(run("r-1"))
    ledger.add(replace(other, created_by=first))
    ledger.add(run("r-3", RunState.FAILED, minutes=2))

    assert ids(ledger.page(workload=first)) == ["r-3", "r-1"]
    assert ids(ledger.page(TERMINAL, workload=first, sort=RunSort.WORKLOAD)) == ["r-3"]
    assert ids(ledger.page(workload="another", limit=1)) == ["r-2"]
    assert ledger.page(workload="anoth") == []


@pytest.mark.every_store
def test_a_page_has_the_runs_of_some_people_since_a_time(ledger: Ledger) -> None:
    for number, who in enumerate(("ann", "bob", "ann", "cy")):
        ledger.add(run(f"r-{number}", minutes=number, created_by=who))
    since = run("r-1", minutes=1).created_at

    assert ids(ledger.page(people=("ann",))) == ["r-2", "r-0"]
    assert ids(ledger.page(ACTIVE, people=("ann", "cy"), since=since, sort=RunSort.BY, descending=False)) == [
        "r-2",
        "r-3",
    ]
    assert ids(ledger.page(since=since)) == ["r-3", "r-2", "r-1"]
    assert ledger.count(ACTIVE, people=("ann",), since=since) == 1
    assert ledger.page(people=("an",)) == []
    assert ledger.list_people() == ["ann", "bob", "cy"]


def test_active_runs_come_oldest_first(ledger: Ledger) -> None:
    for number, state in enumerate(RunState):
        ledger.add(run(f"r-{number}", state, minutes=-number))

    assert {one.state for one in ledger.active()} == ACTIVE
    assert ids(ledger.active()) == [f"r-{number}" for number in reversed(range(len(ACTIVE)))]


@pytest.mark.every_store
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


def test_a_run_is_found_by_the_name_that_it_was_given_last(ledger: Ledger) -> None:
    ledger.add(run("r-1"))
    ledger.add(run("r-2", minutes=1))
    ledger.set_name("r-1", "Nightly of the new driver")
    ledger.set_name("r-1", "Nightly 24.1")

    assert ids(ledger.page(text="nightly")) == ids(ledger.page(ACTIVE, "24.1")) == ["r-1"]
    assert ledger.count(text="driver") == 0
    ledger.set_name("r-1", "")
    assert ledger.count(text="nightly") == 0


# --- what belongs to a run ------------------------------------------------------------------------------


@pytest.mark.every_store
def test_events_are_kept_in_their_order_for_each_run(ledger: Ledger) -> None:
    ledger.add(run(), event("launched"))
    ledger.note(event("second"))
    ledger.note(event("of another", "r-2"))
    ledger.note(event("second"))

    assert [one.message for one in ledger.events("r-1")] == ["launched", "second", "second"]


@pytest.mark.every_store
def test_progress_belongs_to_the_state_that_the_run_is_in(ledger: Ledger) -> None:
    before = ledger.add(run(state=RunState.UPLOADING))
    for done in (1, 2):
        ledger.set_progress(Progress("r-1", RunState.UPLOADING, done, 4, "files", a.T0))

    assert ledger.progress("r-1") == Progress("r-1", RunState.UPLOADING, 2, 4, "files", a.T0)
    ledger.advance(before, before.to(RunState.SUBMITTING))
    assert ledger.progress("r-1") is None
    assert ledger.progress("r-2") is None


@pytest.mark.every_store
def test_drafts_are_kept_replaced_and_dropped(ledger: Ledger) -> None:
    ledger.save_draft("me", "first", a.T0)
    ledger.save_draft("me", "工作量: second\n", a.T0)

    assert ledger.draft("me") == "工作量: second\n"
    ledger.drop_draft("me")
    ledger.drop_draft("me")
    assert ledger.draft("me") is None


@pytest.mark.every_store
def test_the_last_beat_says_who_follows(ledger: Ledger) -> None:
    assert ledger.last_beat() is None

    for number in range(3):
        ledger.beat(f"process {number}", a.T0 + timedelta(seconds=number))

    beat = ledger.last_beat()
    assert beat is not None
    assert (beat.who, beat.at) == ("process 2", a.T0 + timedelta(seconds=2))
    assert beat.is_fresh(beat.at + timedelta(seconds=9))
    assert not beat.is_fresh(beat.at + timedelta(seconds=10))


@pytest.mark.every_store
def test_runs_are_sorted_over_all_pages_and_what_has_no_value_comes_last(ledger: Ledger) -> None:
    for name, seconds in (("a", 30.0), ("b", None), ("c", 10.0), ("d", 20.0)):
        ledger.add(run(name, RunState.FAILED, duration_s=seconds))

    def sorted_by(sort: RunSort, *, down: bool, offset: int = 0) -> list[str]:
        return ids(ledger.page(TERMINAL, "", 2, offset, sort, down))

    assert sorted_by(RunSort.RAN_FOR, down=True) == ["a", "d"]
    assert sorted_by(RunSort.RAN_FOR, down=True, offset=2) == ["c", "b"]
    assert sorted_by(RunSort.RAN_FOR, down=False) == ["c", "d"]
    assert sorted_by(RunSort.ID, down=False) == ["a", "b"]
    assert sorted_by(RunSort.LAUNCHED, down=False) == ["d", "c"]

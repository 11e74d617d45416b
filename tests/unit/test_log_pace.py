"""Logs that do not grow are asked for ever more seldom, and many logs take turns."""

from datetime import UTC, datetime, timedelta

import pytest

from aisbench_core.running.logs import QUIET_SECONDS, REQUESTS_PER_SECOND, LogPace

START = datetime(2026, 3, 1, tzinfo=UTC)


def requests(pace: LogPace, runs: int, *, seconds: int, grew: bool) -> int:
    """How many are made for so many runs, looked at once a second."""
    made = 0
    for second in range(seconds):
        now = START + timedelta(seconds=second)
        for run in map(str, range(runs)):
            if pace.is_due(run, now):
                pace.start_pause(run, now, grew=grew)
                made += 1
    return made


def test_a_log_that_grows_is_fetched_at_every_look() -> None:
    assert requests(LogPace(5.0), 1, seconds=3600, grew=True) == 720


def test_a_log_that_is_quiet_is_asked_for_once_a_minute() -> None:
    assert requests(LogPace(5.0), 1, seconds=3600, grew=False) <= 3600 / QUIET_SECONDS + 5


def test_a_log_that_grows_again_is_fetched_at_every_look_again() -> None:
    pace = LogPace(5.0)
    requests(pace, 1, seconds=600, grew=False)

    pace.start_pause("0", START, grew=True)

    assert not pace.is_due("0", START + timedelta(seconds=4))
    assert pace.is_due("0", START + timedelta(seconds=5))


@pytest.mark.slow
@pytest.mark.parametrize("runs", [50, 200])
def test_many_logs_that_grow_take_turns(runs: int) -> None:
    made = requests(LogPace(5.0), runs, seconds=3600, grew=True)

    assert made <= 3600 * REQUESTS_PER_SECOND + runs


def test_a_clock_that_jumps_back_holds_no_log_up() -> None:
    pace = LogPace(5.0)
    pace.start_pause("0", START, grew=True)

    assert pace.is_due("0", START - timedelta(days=1))


def test_event_files_that_nobody_has_seen_yet_are_looked_for_seldom() -> None:
    pace = LogPace(15.0, quiet_seconds=900)
    at = START
    polls = []
    for second in range(3600):
        at = START + timedelta(seconds=second)
        if pace.is_due("0", at):
            polls.append(second)
            pace.start_pause("0", at, grew=False, factor=20)

    assert polls == [0, 15, 315, 1215, 2115, 3015]


def test_jobs_that_have_ended_take_no_turns() -> None:
    pace = LogPace(5.0)
    requests(pace, 200, seconds=1, grew=True)
    for run in range(1, 200):
        pace.forget(str(run))

    assert pace.is_due("0", START + timedelta(seconds=5))

"""The stall guard: healthy jobs are never called stalled, ones that hang soon are, and an outage is no stall."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import TypeAdapter

from aisbench_core.domain.liveness.stalls import (
    FEWEST_PAUSES,
    KNOWN_RUNS,
    RECENT_PAUSES,
    STALL_MINUTES,
    START,
    UNKNOWN_MINUTES,
    Observation,
    Pauses,
    Watch,
    begin_watch,
    due_at,
    end_watch,
    is_saved,
    limits_of,
    sign_of_life,
    update_watch,
)
from aisbench_core.domain.results.utilisation import measured_until
from aisbench_core.model import MetricSample
from tests.stall_traces import campaign

T0 = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)
LIMITS = limits_of(10, [])
FIRST = Observation(T0, 1, 100)


def polled(watch: Watch, minutes: int, log_bytes: int = 100, **found: object) -> Watch:
    """The watch after so many minutes of polls that all find the same."""
    for _ in range(minutes):
        now = watch.observed_at + timedelta(minutes=1)
        watch = update_watch(watch, replace(FIRST, at=now, log_bytes=log_bytes, **found), LIMITS)  # type: ignore[arg-type]
    return watch


@pytest.fixture
def watch() -> Watch:
    return begin_watch(FIRST, T0)


def test_simulated_jobs_are_warned_of_when_they_hang_and_never_else() -> None:
    """`tests/bench/test_stalls.py` does the same with 1,000 and 200."""
    healthy, delays = 0, []
    for trace, followed in campaign(seed=11, configurations=6, runs=8, hangs=3):
        if trace.hangs_s is None:
            healthy += 1
            assert followed.warnings == 0, trace
        else:
            assert followed.stalled_s is not None, trace
            delays.append(followed.stalled_s - trace.last_sign_s - followed.limit_s)

    assert (healthy, len(delays)) == (48, 18)
    assert max(delays) <= 60.0


def test_a_job_without_a_sign_of_life_is_stalled_after_the_limit_and_once(watch: Watch) -> None:
    still_healthy, stalled, later = polled(watch, 9), polled(watch, 10), polled(watch, 30)

    assert still_healthy.stalled_at is None
    assert stalled.stalled_at == later.stalled_at == T0 + timedelta(minutes=10)
    assert due_at(still_healthy, LIMITS) == T0 + timedelta(minutes=10)


@pytest.mark.parametrize(
    "sign", [{"log_bytes": 101}, {"computed_at": T0 + timedelta(minutes=8), "measured_at": T0 + timedelta(minutes=8)}]
)
def test_each_sign_of_life_ends_a_pause(watch: Watch, sign: dict[str, object]) -> None:
    quiet = polled(watch, 9)

    assert polled(polled(quiet, 1, **sign), 3, **sign).stalled_at is None  # type: ignore[arg-type]


def test_a_written_object_is_a_sign_of_life(watch: Watch) -> None:
    quiet = polled(watch, 9, objects="1 object")

    assert polled(quiet, 5, objects="2 objects").stalled_at is None
    assert polled(quiet, 5, objects="1 object").stalled_at is not None


def test_growth_clears_a_stall_and_another_one_is_a_new_one(watch: Watch) -> None:
    stalled = polled(watch, 12)
    goes_on = polled(stalled, 1, log_bytes=200)
    again = polled(goes_on, 11, log_bytes=200)

    assert goes_on.stalled_at is None
    assert again.stalled_at is not None
    assert stalled.stalled_at is not None
    assert again.stalled_at > stalled.stalled_at


def test_an_outage_is_no_stall(watch: Watch) -> None:
    quiet = polled(watch, 8)
    after_outage = update_watch(quiet, replace(FIRST, at=quiet.observed_at + timedelta(hours=3)), LIMITS)

    assert after_outage.stalled_at is None
    assert polled(after_outage, 2).stalled_at is not None, "the time before it still counts"


def test_another_attempt_begins_anew(watch: Watch) -> None:
    assert polled(polled(watch, 12), 1, attempt=2).stalled_at is None


def test_a_clock_that_is_set_back_warns_of_nothing(watch: Watch) -> None:
    back = update_watch(polled(watch, 9), replace(FIRST, at=T0 - timedelta(hours=1)), LIMITS)

    assert back.stalled_at is None


def test_what_is_not_measured_now_is_held_against_pauses_without_measurements(watch: Watch) -> None:
    """Cards that compute may be the only sign of life of an evaluation; without them it needs the longer limit."""
    evaluated = replace(watch, silent=replace(watch.silent, pauses=Pauses(40 * 60.0, 40 * 60.0)))

    limits = limits_of(None, [evaluated] * KNOWN_RUNS)

    assert limits.silent.start_s == 40 * 60 * 1.5 + 120
    assert limits.quiet.start_s == STALL_MINUTES * 60
    assert limits.of(watch) == limits.silent.start_s
    measured = replace(watch, measured_at=T0)
    assert limits.of(measured) == limits.quiet.start_s


def test_a_configuration_is_known_after_some_completed_runs(watch: Watch) -> None:
    unknown, known = limits_of(None, [watch] * (KNOWN_RUNS - 1)), limits_of(None, [watch] * KNOWN_RUNS)

    assert unknown.quiet == Pauses(UNKNOWN_MINUTES * 60, UNKNOWN_MINUTES * 60)
    assert known.quiet == Pauses(STALL_MINUTES * 60, STALL_MINUTES * 60)
    assert limits_of(7, []).quiet == Pauses(7 * 60, 7 * 60), "who writes the manifest knows"


def test_the_last_pause_of_a_completed_run_is_learnt_too(watch: Watch) -> None:
    """Such as an evaluation after the last epoch, after which nothing is logged."""
    done = end_watch(polled(watch, 9), T0 + timedelta(minutes=10))

    assert done.silent.pauses.start_s == 600


def test_processors_count_only_where_no_card_is_measured() -> None:
    cards = [MetricSample(T0, 0, "npuUtil", 0.0), MetricSample(T0, 0, "cpuUsage", 90.0)]
    later = [MetricSample(T0 + timedelta(minutes=1), 1, "npuUtil", 60.0)]

    assert measured_until(cards) == (None, T0)
    assert measured_until([*cards, *later]) == (later[0].at, later[0].at)
    assert measured_until([replace(cards[0], value=-1.0), cards[1]]) == (T0, T0)
    assert measured_until([]) == (None, None)


def test_a_pause_of_three_times_the_longest_one_before_deserves_a_look(watch: Watch) -> None:
    trains = replace(watch, started_at=T0 - START)
    lively = polled(polled(trains, 1, log_bytes=200), 1, log_bytes=300)

    quiet = [polled(lively, minutes, log_bytes=300) for minutes in (0, 3, 4)]

    assert [each.is_unusual for each in quiet] == [False, False, True]
    assert {each.current.longest_s for each in quiet} == {90.0}
    assert not polled(trains, 9).is_unusual, "before its first pause ended, no pause is long"


def test_a_banner_before_a_compilation_makes_no_pause_of_a_start_long(watch: Watch) -> None:
    compiles = chatty(watch, 1, every_s=20)

    assert not any(polled(compiles, minutes, log_bytes=101).is_unusual for minutes in range(2, 60))


def test_a_pause_that_earlier_runs_had_as_well_is_not_unusual(watch: Watch) -> None:
    trains = replace(chatty(watch, 20), started_at=T0 - START)
    evaluated = replace(watch, silent=replace(watch.silent, pauses=Pauses(later_s=200.0)))
    learnt = limits_of(10, [evaluated])

    quiet = [learnt.note_pause(polled(trains, minutes, log_bytes=120)) for minutes in (3, 4)]

    assert polled(trains, 3, log_bytes=120).is_unusual
    assert [each.is_unusual for each in quiet] == [False, True]


def chatty(watch: Watch, lines: int, every_s: float = 5.0) -> Watch:
    """The watch of a job whose log grows with each poll, every so many seconds."""
    for _ in range(lines):
        at = watch.observed_at + timedelta(seconds=every_s)
        watch = update_watch(watch, replace(FIRST, at=at, log_bytes=watch.log_bytes + 1), LIMITS)
    return watch


def test_after_a_long_compilation_a_pause_is_held_against_the_typical_one(watch: Watch) -> None:
    trains = chatty(polled(watch, 8), 20)
    quiet = [polled(trains, minutes, log_bytes=trains.log_bytes) for minutes in (7, 8, 9)]

    assert {each.current.longest_s for each in quiet} == {485.0}
    assert {each.current.typical_s for each in quiet} == {5.0}
    assert [each.is_unusual for each in quiet] == [False, False, True], "longer than ever, 100 times the typical pause"


def test_the_typical_pause_is_the_median_of_the_newest_ones_and_few_have_none(watch: Watch) -> None:
    assert chatty(watch, FEWEST_PAUSES - 1).current.typical_s is None
    assert chatty(watch, FEWEST_PAUSES).current.typical_s == 5.0
    later = chatty(chatty(watch, 1000), 40, every_s=20)
    assert later.current.typical_s == 20.0, "what is usual now"
    assert len(later.current.recent) == RECENT_PAUSES


def test_typical_pauses_are_kept_over_a_restart_of_the_follower_and_of_the_job(watch: Watch) -> None:
    stored = TypeAdapter(Watch)
    trains = chatty(watch, 30)

    later = chatty(stored.validate_json(stored.dump_json(trains)), 1)
    again = polled(later, 1, attempt=2)

    assert len(later.current.recent) == 31
    assert again.current.typical_s == 5.0


def test_a_silence_that_becomes_unusual_is_stored_at_once(watch: Watch) -> None:
    trains = chatty(watch, 10)
    quiet = update_watch(trains, replace(FIRST, at=trains.observed_at + timedelta(seconds=110), log_bytes=110), LIMITS)
    overdue = update_watch(quiet, replace(FIRST, at=quiet.observed_at + timedelta(seconds=10), log_bytes=110), LIMITS)

    assert is_saved(replace(overdue, observed_at=quiet.observed_at), overdue)
    assert not is_saved(overdue, quiet)
    assert not is_saved(chatty(overdue, 1), overdue)


def test_a_line_of_progress_is_newer_than_the_watch_that_was_stored_last(watch: Watch) -> None:
    printed = T0 + timedelta(minutes=7)

    assert sign_of_life(watch, printed).at == printed
    assert sign_of_life(watch, None).at == T0


def test_a_silence_deserves_a_look_from_three_times_the_longest_pause_of_the_run_on(watch: Watch) -> None:
    quiet = replace(watch.current, pauses=Pauses(later_s=20.0))
    life = sign_of_life(replace(watch, silent=quiet, quiet=quiet), None)
    unknown = sign_of_life(watch, None)

    assert not life.is_long(T0 + timedelta(seconds=59))
    assert life.is_long(T0 + timedelta(seconds=60))
    assert not unknown.is_long(T0 + timedelta(hours=1)), "without a pause before, nobody knows what is long"


def test_what_pages_show_of_a_lively_job_is_never_older_than_a_minute(watch: Watch) -> None:
    soon, later = (replace(watch, observed_at=T0 + timedelta(seconds=seconds)) for seconds in (59, 60))

    assert is_saved(soon, watch)
    assert not is_saved(later, watch)

"""What a job's time was spent on: parts of a known life are found, and the parts of any life add up."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aisbench_core.domain.goodput.account import TimeAccount, make_account
from aisbench_core.domain.goodput.metrics import goodput_metrics
from aisbench_core.domain.goodput.spans import TimeCause, TimeSpan, paint_time, sum_causes
from aisbench_core.domain.goodput.timeline import divide_time
from aisbench_core.model import PhaseName, PhaseSpan, Run, RunAttempt, StepTime
from tests import records as a

INIT, COMPILE, DATA, TRAIN, EVAL, SAVE, LOAD = PhaseName


def at(seconds: float) -> datetime:
    return a.T0 + timedelta(seconds=seconds)


def job(ended: float, started: float = 30) -> Run:
    return a.run(submitted_at=at(0), started_at=at(started), ended_at=at(ended))


def phases_of(began: float, *marks: tuple[PhaseName | None, float], rank: int = 0) -> list[PhaseSpan]:
    """The phases of a process, each with the second when it begins; None ends the last one."""
    ends = [*(second for _, second in marks[1:]), None]
    return [
        PhaseSpan(0, rank, rank, at(began), name, at(second), None if end is None else at(end))
        for (name, second), end in zip(marks, ends, strict=True)
        if name
    ]


def steps_of(began: float, first: int, *ends: float, seconds: float = 1) -> list[StepTime]:
    return [
        StepTime(0, 0, 0, at(began), number, at(end), seconds, 16, None) for number, end in enumerate(ends, start=first)
    ]


def parts(spans: Sequence[TimeSpan]) -> dict[str, float]:
    return {cause.value: time.total_seconds() for cause, time in sum_causes(spans).items()}


def test_the_time_of_a_quiet_job_is_divided_by_its_phases() -> None:
    phases = phases_of(
        50, (INIT, 50), (COMPILE, 60), (DATA, 80), (TRAIN, 85), (EVAL, 185), (TRAIN, 195), (SAVE, 200), (None, 204)
    )

    assert parts(divide_time(job(210), [], phases, [])) == {
        "training": 105, "queue": 30, "start": 30, "compile": 20, "evaluation": 10, "end": 6, "data": 5, "checkpoint": 4
    }  # fmt: skip


def test_what_is_repeated_after_a_restart_was_rolled_back() -> None:
    lives = [
        *phases_of(30, (INIT, 30), (TRAIN, 40), (SAVE, 45), (TRAIN, 46)),
        *phases_of(70, (INIT, 70), (LOAD, 74), (COMPILE, 76), (TRAIN, 79), (None, 99)),
    ]
    steps = [*steps_of(30, 1, 41, 42, 43, 44, 45, 47, 48), *steps_of(70, 6, *range(80, 100))]
    died = RunAttempt(1, at(30), at(50), fault="job_failed", recovery="restart")

    found = parts(divide_time(job(100), [died, RunAttempt(2, at(60), at(100))], lives, steps))

    # Steps 6 and 7, and what the process did until it died; then it was scheduled, and prepared itself for 9 s.
    assert found == {
        "training": 25, "queue": 30, "restart": 29, "start": 10, "rolled_back": 4, "checkpoint": 1, "end": 1
    }  # fmt: skip
    metrics = {metric.name: metric.value for metric in goodput_metrics(job(100), [], lives, steps)}
    assert metrics["goodput"] == pytest.approx(0.25)
    assert metrics["interruptions"] == 1
    assert {name: value for name, value in metrics.items() if name.startswith("recovery_s/")} == {
        "recovery_s/t0_rollback": 2, "recovery_s/t1_scheduling": 22, "recovery_s/t2_init": 4, "recovery_s/t3_load": 2,
        "recovery_s/t4_compile": 3,
    }  # fmt: skip


def test_steps_without_numbers_say_nothing_of_a_rollback() -> None:
    steps = [replace(step, is_counted=True) for step in [*steps_of(30, 1, 41, 42), *steps_of(50, 3, 61, 62)]]

    metrics = {metric.name: metric for metric in goodput_metrics(job(70), [], [], steps)}
    numbered = {metric.name: metric for metric in goodput_metrics(job(70), [], [], steps_of(30, 1, 41, 42))}

    assert "recovery_s/t1_scheduling" in metrics
    assert "recovery_s/t0_rollback" not in metrics
    assert metrics["goodput"].definition == "ettr/rollback_not_measured", "it is in no ranking with measured ones"
    assert numbered["goodput"].definition == "ettr"


def test_phases_of_a_restart_without_steps_say_nothing_of_a_rollback() -> None:
    lives = [*phases_of(30, (TRAIN, 30)), *phases_of(70, (TRAIN, 79), (None, 99))]

    metrics = {metric.name: metric for metric in goodput_metrics(job(100), [], lives, [])}

    assert metrics["productive_s"].definition == "ettr/rollback_not_measured"
    assert "recovery_s/t0_rollback" not in metrics


def test_a_pause_that_nothing_explains_is_a_stall_and_an_evaluation_is_none() -> None:
    phases = phases_of(30, (TRAIN, 30), (EVAL, 60), (TRAIN, 90), (None, 130))
    ends = [*range(31, 61), *range(91, 101), *range(121, 131)]

    assert parts(divide_time(job(130), [], phases, steps_of(30, 1, *ends))) == {
        "training": 50, "queue": 30, "evaluation": 30, "stalled": 20
    }  # fmt: skip


def test_steps_alone_tell_training_from_preparation() -> None:
    assert parts(divide_time(job(60), [], [], steps_of(35, 1, *range(41, 59)))) == {
        "queue": 30, "training": 18, "start": 10, "end": 2
    }  # fmt: skip


def test_time_that_no_rank_reported_is_not_divided() -> None:
    assert divide_time(job(100), [], [], []) == []
    assert list(goodput_metrics(job(100), [], [], [])) == []
    assert divide_time(a.run(ended_at=None), [], phases_of(30, (TRAIN, 30)), []) == []


@pytest.mark.parametrize("error", [-7200, -200, 200, 7200])
def test_a_clock_that_disagrees_with_the_platforms_gives_no_account(error: float) -> None:
    phases = phases_of(40 + error, (TRAIN, 50 + error), (None, 990 + error))

    assert list(goodput_metrics(job(1000), [], phases, [])) == []
    assert list(goodput_metrics(job(1000), [], [], steps_of(40 + error, 1, 50 + error, 990 + error))) == []


def test_a_training_that_reports_no_steps_lasts_until_its_job_ends() -> None:
    assert parts(divide_time(job(100), [], phases_of(30, (TRAIN, 40)), [])) == {
        "training": 60, "queue": 30, "start": 10
    }  # fmt: skip


def test_the_first_rank_speaks_for_all() -> None:
    both = [*phases_of(30, (TRAIN, 40), (None, 90), rank=1), *phases_of(30, (TRAIN, 50), (None, 90))]

    assert parts(divide_time(job(90), [], both, []))["training"] == 40


@given(
    st.lists(st.sampled_from(PhaseName), min_size=1, max_size=30),
    st.lists(st.floats(min_value=-50, max_value=250), min_size=31, max_size=31),
    st.lists(st.floats(min_value=-50, max_value=250), max_size=30),
    st.integers(min_value=0, max_value=3),
)
def test_the_parts_of_any_life_add_up_to_its_time(
    names: list[PhaseName], times: list[float], ends: list[float], restarts: int
) -> None:
    """Clocks of nodes may be wrong by a minute, and processes may die at any time."""
    edges, phases = sorted(times), []
    for number, (name, second) in enumerate(zip(names, edges, strict=False)):
        began = edges[number * (restarts + 1) // len(names)]
        phases += phases_of(began, (name, second), *([(None, edges[number + 1])] if number % 3 else []))
    steps = steps_of(edges[0], 1, *sorted(ends))

    spans = divide_time(job(200), [RunAttempt(1, at(30), at(100))], phases, steps)

    assert spans[0].began == at(0)
    assert spans[-1].ended == at(200)
    assert all(before.ended == after.began for before, after in pairwise(spans))
    assert sum(parts(spans).values()) == pytest.approx(200)


def test_paint_covers_what_was_painted_before() -> None:
    spans = [
        TimeSpan(at(0), at(9), TimeCause.END),
        TimeSpan(at(2), at(6), TimeCause.TRAINING),
        TimeSpan(at(4), at(5), TimeCause.DATA),
    ]

    painted = paint_time(at(0), at(9), spans)

    assert [(span.cause.value, (span.ended - span.began).seconds) for span in painted] == [
        ("end", 2), ("training", 2), ("data", 1), ("training", 1), ("end", 3)
    ]  # fmt: skip
    with pytest.raises(ValueError, match="must cover"):
        paint_time(at(0), at(9), spans[1:])


def test_an_account_is_read_back_from_metrics() -> None:
    phases = phases_of(50, (INIT, 50), (TRAIN, 60), (None, 90))
    metrics = goodput_metrics(job(100), [], phases, [])

    account = make_account(((metric.name, metric.value) for metric in metrics), device_days=100)

    assert account is not None
    assert (account.goodput, account.wall_s, account.interruptions) == (0.3, 100, 0)
    assert account.parts == {
        TimeCause.TRAINING: 30, TimeCause.QUEUE: 30, TimeCause.START: 30, TimeCause.END: 10
    }  # fmt: skip
    assert make_account([("tokens_per_s", 3.0)]) is None


@pytest.mark.parametrize(
    ("count", "lower", "upper"), [(0, 0, 3.689), (1, 0.0253, 5.572), (3, 0.6187, 8.767), (10, 4.795, 18.390)]
)
def test_the_interval_of_a_rate_is_the_exact_one(count: int, lower: float, upper: float) -> None:
    """Garwood's table, as in Johnson, Kotz and Kemp."""
    account = TimeAccount(1, {TimeCause.TRAINING: 1.0}, count, device_days=1000)

    assert account.interruption_rate == pytest.approx((count, lower, upper), rel=1e-3)
    assert TimeAccount(1, {TimeCause.TRAINING: 1.0}, count).interruption_rate is None

"""What a script reports while it trains: printed by the reporter, read from a log, and compared with other trials."""

import json
from pathlib import Path

import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aisbench_core.domain.results.progress import ProgressPoint, read_progress, seconds_in, target_message
from aisbench_core.model import Event, Level, ParameterSearch, Range
from aisbench_core.running.series.early_stop import FEWEST_TRIALS, slower_than_most
from aisbench_core.running.series.search_plans import count_combinations, list_limits
from tests.records import T0


def line(**values: float) -> str:
    return f"aisbench: progress {json.dumps(values)}\n"


def written(tmp_path: Path, text: str) -> Path:
    log = tmp_path / "worker-0.log"
    log.write_text(text, "utf-8")
    return log


def test_progress_is_read_from_among_other_lines_and_only_when_it_is_whole(tmp_path: Path) -> None:
    text = (
        "epoch 1\n"
        + line(step=1, seconds=2.5, throughput=100.0, accuracy=0.5)
        + "[worker-0] "
        + line(step=2, seconds=4)
    )
    log = written(tmp_path, text + line(step=3, seconds=6).rstrip("\n"))

    assert read_progress(log) == (ProgressPoint(1, 2.5, 100.0, 0.5), ProgressPoint(2, 4.0))
    with log.open("a", encoding="utf-8") as file:
        file.write("\n")
    assert [point.step for point in read_progress(log)] == [1, 2, 3], "a log that grew is read again"


def test_a_log_that_is_not_there_has_no_progress(tmp_path: Path) -> None:
    assert read_progress(tmp_path / "worker-0.log") == ()


@pytest.mark.parametrize(
    "text",
    [
        "aisbench: progress {\n",
        "aisbench: progress {}\n",
        'aisbench: progress {"step": "many", "seconds": 1}\n',
        'aisbench: progress {"step": 1, "seconds": NaN}\n',
        'aisbench: progress {"step": 1, "seconds": 1, "throughput": Infinity}\n',
        'aisbench: progress {"step": 1e999, "seconds": 1}\n',
        "aisbench: progress {" + '{"step":' * 10_000 + "\n",
    ],
)
def test_what_a_job_writes_in_its_likeness_is_no_progress(tmp_path: Path, text: str) -> None:
    log = written(tmp_path, text + line(step=1, seconds=1))

    assert read_progress(log) == (ProgressPoint(1, 1.0),)


def test_of_a_job_that_was_started_again_only_the_last_start_counts(tmp_path: Path) -> None:
    log = written(tmp_path, line(step=1, seconds=5) + line(step=2, seconds=9) + line(step=1, seconds=3))

    assert [point.seconds for point in read_progress(log)] == [3.0]


def test_the_first_report_at_or_above_the_target_is_when_it_was_reached() -> None:
    points = [ProgressPoint(1, 2.0, 10.0, 0.7), ProgressPoint(2, 4.25, 10.0, 0.95), ProgressPoint(3, 6.0, 10.0, 0.96)]

    message = target_message(points, 0.95)

    assert message == "reached the target accuracy of 0.95 after 4.25 s of its script, at step 2 with 0.95"
    assert seconds_in(Event("r1", T0, "follower", Level.INFO, message)) == 4.25
    assert seconds_in(Event("r1", T0, "follower", Level.INFO, "something else")) is None
    assert target_message(points, 0.99) is None
    assert target_message([ProgressPoint(1, 2.0, 10.0)], 0.5) is None


speeds = st.dictionaries(st.integers(1, 6), st.integers(1, 1000).map(float), min_size=1)


@given(own=speeds, ended=st.lists(speeds, min_size=FEWEST_TRIALS, max_size=8))
def test_a_trial_is_stopped_where_the_median_pruner_of_optuna_would(
    own: dict[int, float], ended: list[dict[int, float]]
) -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = optuna.pruners.MedianPruner(n_startup_trials=FEWEST_TRIALS, n_min_trials=FEWEST_TRIALS)
    study = optuna.create_study(direction="maximize", pruner=pruner)
    study.add_trials([optuna.trial.create_trial(value=1.0, intermediate_values=values) for values in ended])
    running = optuna.trial.create_trial(state=optuna.trial.TrialState.RUNNING, intermediate_values=own)

    assert (slower_than_most(own, ended) is not None) == pruner.prune(study, running)


def test_too_few_trials_are_no_evidence() -> None:
    fast = {1: 900.0}

    assert slower_than_most({1: 1.0}, [fast] * (FEWEST_TRIALS - 1)) is None
    assert slower_than_most({}, [fast] * FEWEST_TRIALS) is None
    assert slower_than_most({2: 1.0}, [fast] * FEWEST_TRIALS) is None, "nobody else has come to step 2"


def test_the_limits_of_a_space_have_every_end_and_every_listed_value() -> None:
    space = ParameterSearch(
        space={"batch": Range(low=16, high=64, integer=True), "rate": Range(low=0.1, high=0.5), "kind": ("a", "b", "c")}
    ).space

    checked = list_limits(space)

    assert {choice["batch"] for choice in checked} == {16, 64}
    assert {choice["rate"] for choice in checked} == {0.1, 0.5}
    assert {choice["kind"] for choice in checked} == {"a", "b", "c"}
    assert {"batch": 64, "rate": 0.5, "kind": "c"} in checked
    assert count_combinations(space) is None
    assert count_combinations({name: space[name] for name in ("batch", "kind")}) == 49 * 3

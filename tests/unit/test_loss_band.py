"""The band behind the loss: quartiles of earlier runs at the same step, and nothing where too few are known."""

from datetime import timedelta

import pytest

from aisbench_core.model import TrainingPoint
from aisbench_core.running.progress.loss_band import MOST_STEPS, LossBand, loss_band
from tests import records as a


def point(step: int | None, loss: float | None, epoch: int | None = None) -> TrainingPoint:
    return TrainingPoint(a.T0 + timedelta(seconds=step or epoch or 0), step=step, loss=loss, epoch=epoch)


def training(*losses: float, every: int = 10) -> list[TrainingPoint]:
    return [point(every * number, loss) for number, loss in enumerate(losses, 1)]


def band(*trainings: list[TrainingPoint]) -> LossBand:
    found = loss_band(trainings)
    assert found is not None
    return found


def test_the_band_is_the_middle_half_at_each_step() -> None:
    found = band(*(training(8.0 + by, 4.0 + by) for by in (0, 1, 2, 3, 4)))

    assert (found.runs, found.steps) == (5, (10, 20))
    assert (found.lower, found.upper) == ((9, 5), (11, 7))


def test_between_two_steps_the_band_is_interpolated_and_outside_there_is_none() -> None:
    found = band(*(training(8.0 + by, 4.0 + by) for by in (0, 1, 2, 3, 4)))

    assert found.at(point(15, 0.1)) == (7, 9)
    assert found.at(point(9, 0.1)) is None
    assert found.at(point(21, 0.1)) is None
    assert found.at(point(None, 0.1)) is None


def test_runs_that_say_their_loss_at_other_steps_count() -> None:
    found = band(training(10, 5, every=10), training(10, 5, every=10), [point(5, 10), point(25, 2)])

    assert found.at(point(15, 0.1)) == pytest.approx((6.75, 7.5))


def test_where_fewer_than_three_runs_say_a_loss_there_is_no_band() -> None:
    found = band(training(3, 2, 1), training(3, 2, 1), training(3, 2))

    assert found.steps == (10, 20)


@pytest.mark.parametrize(
    "trainings",
    [
        [],
        [training(3, 2), training(3, 2)],
        [training(3, 2), training(3, 2), []],
        [training(3, 2), training(3, 2), [point(10, None), point(20, None)]],
        [training(3, 2), training(3, 2), [point(10, 3.0)]],
        [training(3, 2), training(3, 2), [point(1000, 3.0), point(1010, 3.0)]],
    ],
)
def test_too_few_runs_have_no_band(trainings: list[list[TrainingPoint]]) -> None:
    found = loss_band(trainings)

    assert found is None


def test_without_steps_epochs_count() -> None:
    epochs = [[point(None, 2.0, epoch=1), point(None, 1.0, epoch=2)] for _ in range(3)]

    found = band(*epochs)

    assert found.is_by_epoch
    assert found.at(point(None, 0.1, epoch=2)) == (1, 1)


def test_of_a_restarted_training_the_last_word_on_a_step_counts() -> None:
    restarted = [*training(3, 2), *training(5, 4)]

    found = band(restarted, restarted, restarted)

    assert found.lower == (5, 4)


def test_a_long_training_has_a_band_of_few_steps_with_its_last_one() -> None:
    long = training(*(1 / number for number in range(1, 2001)))

    found = band(long, long, long)

    assert len(found.steps) <= MOST_STEPS + 1
    assert (found.steps[0], found.steps[-1]) == (10, 20_000)

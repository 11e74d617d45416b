"""Which progress bars are the training, and what a job does while others move."""

import pytest

from aisbench_core.domain.progress.bars import Stage, read_label, read_rate
from aisbench_core.domain.progress.patterns import parse_time
from aisbench_core.model import TrainingPoint
from tests.unit.test_progress_styles import last_point


def bar(label: str, of: str, unit: str = "it/s") -> str:
    done, total = (int(number) for number in of.split("/"))
    return f"{label}{': ' if label else ''}{100 * done // total:3}%|##  | {of} [00:10<00:10,  1.00{unit}]\n"


def told(lines: str, **parameters: int) -> TrainingPoint:
    point = last_point(lines, parameters)
    assert point == last_point(lines, parameters, each=1), "however the log is read"
    return point


@pytest.mark.parametrize(
    "label",
    [
        *("", "Train", "Training", "Training Progress", "train loop", "Epoch", "Steps", "Iteration", "iter 7", "Step"),
        *(
            "[rank0]",
            "2026-01-03 10:11:12,345 - INFO - Training",
            "(Trainer pid=12, ip=10.0.0.1) Training",
            "训练",
            "0: ",
        ),
    ],
)
def test_a_bar_without_a_name_or_called_a_training_may_be_one(label: str) -> None:
    assert read_label(label, "it").stage == ""


@pytest.mark.parametrize(
    ("label", "unit", "stage"),
    [
        ("Map (num_proc=8)", " examples", Stage.PREPARING),
        ("Tokenizing train dataset", "it", Stage.PREPARING),
        ("Training data", "it", Stage.PREPARING),
        ("Loading checkpoint shards", "it", Stage.PREPARING),
        ("model.safetensors", "MB", Stage.PREPARING),
        ("", "B", Stage.PREPARING),
        ("加载数据", "it", Stage.PREPARING),
        ("Sanity Checking DataLoader 0", "it", Stage.CHECKING),
        ("Validation DataLoader 0", "it", Stage.EVALUATING),
        ("Running Evaluation", "it", Stage.EVALUATING),
        ("Epoch 3 [val]", "it", Stage.EVALUATING),
        ("Eval", "it", Stage.EVALUATING),
        ("验证", "it", Stage.EVALUATING),
        ("Predicting DataLoader 0", "it", Stage.PREDICTING),
        ("Rollout", "it", Stage.PREDICTING),
        ("Saving model", "it", Stage.SAVING),
        ("Quantizing weights", "it", Stage.OTHER),
    ],
)
def test_other_bars_are_stages(label: str, unit: str, stage: Stage) -> None:
    assert read_label(label, unit.strip()).stage == stage


def test_no_stage_is_a_share_of_the_training() -> None:
    prepared = told(bar("Map", "500/500", " examples/s") + bar("Loading checkpoint shards", "4/4", "s/it"))

    assert (prepared.stage, prepared.step, prepared.share) == ("preparing", None, None)


def test_a_bar_of_another_total_within_a_training_is_its_evaluation_until_the_training_goes_on() -> None:
    evaluates = bar("", "400/2000") + bar("", "25/25")

    assert (told(evaluates).step, told(evaluates).steps, told(evaluates).stage) == (400, 2000, "evaluating")
    assert told(evaluates + bar("", "401/2000")).stage == ""


def test_what_ended_before_the_training_began_is_not_the_training() -> None:
    point = told(bar("", "8/8") + bar("", "30/600"))

    assert (point.step, point.steps, point.stage) == (30, 600, "")


def test_an_evaluation_after_each_epoch_does_not_count_as_an_epoch() -> None:
    epoch = bar("", "1/80") + bar("", "80/80") + bar("", "1/20") + bar("", "20/20")

    point = told(epoch * 3 + bar("", "8/80"), epochs=5)

    assert (point.epoch, point.step, point.steps, point.share) == (4, 248, 400, 0.62)


def test_two_processes_that_draw_the_same_bar_do_not_count_an_epoch_twice() -> None:
    steps = [bar("", f"{step}/40") for step in range(1, 41)]
    first = "".join(steps)
    late = steps[0] + steps[39] + steps[1]  # the second process ends its epoch after the first began another

    assert told(first + late, epochs=3).step == 42


def test_a_bar_for_all_epochs_is_known_by_the_parameter_by_steps_or_by_fractions_of_an_epoch() -> None:
    assert told(bar("", "30/600"), num_train_epochs=3).steps == 600
    assert told(bar("", "30/600"), epochs=3, max_steps=600).steps == 600
    assert told(bar("", "30/600") + "{'loss': 1.5, 'epoch': 0.15}\n", epochs=3).steps == 600
    assert told(bar("", "30/600"), epochs=3).steps == 1800
    assert told(bar("Training Progress", "30/600"), epochs=3).steps == 600


def test_a_bar_that_counts_epochs_has_them_as_its_total() -> None:
    point = told(bar("Epochs", "3/12", "s/it"))

    assert (point.step, point.epoch, point.epochs, point.share) == (None, 4, 12, 0.25)


def test_a_training_that_goes_on_in_another_bar_is_followed() -> None:
    point = told(bar("Training", "100/100") + bar("Training", "5/250"))

    assert (point.step, point.steps) == (5, 250)


@pytest.mark.parametrize("of", ["1/0", "0/0", "7/5"])
def test_a_bar_that_no_training_can_have_says_nothing(of: str) -> None:
    point = last_point(f" 50%|##| {of} [00:01<00:01, 1.0it/s]\n", {})

    assert (point.step, point.share) == (None, None)


@pytest.mark.parametrize(
    ("rate", "read"),
    [
        (" 2.50it/s", (0.4, "it")),
        (" 4.00s/it", (4.0, "it")),
        ("5,000.0 examples/s", (0.0002, "examples")),
        ("0.00it/s", (None, "it")),
        ("?it/s", (None, "")),
    ],
)
def test_a_rate_is_a_time_and_a_unit(rate: str, read: tuple[float | None, str]) -> None:
    assert read_rate(rate) == read


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1 day, 2:03:04", 93784.0),
        ("26:03:04", 93784.0),
        ("03:04", 184.0),
        ("15h 30m", 55800.0),
        ("12s", 12.0),
        ("?", None),
        ("", None),
    ],
)
def test_what_is_left_is_read_as_it_is_printed(text: str, seconds: float | None) -> None:
    assert parse_time(text) == seconds


def test_a_bar_of_all_epochs_follows_a_larger_one_without_a_name_that_ended() -> None:
    lines = bar("", "5000/5000") + bar("", "0/100") + bar("", "10/100") + "{'loss': 1.0, 'epoch': 0.3}\n"

    point = told(lines, num_train_epochs=3)

    assert (point.step, point.steps, point.share, point.stage) == (10, 100, 0.1, "")


def test_a_bar_of_all_epochs_that_begins_anew_after_a_restart_is_no_second_epoch() -> None:
    lines = (
        bar("", "290/300") + "{'loss': 1.0, 'epoch': 2.9}\n" + "".join(bar("", f"{step}/300") for step in (0, 101, 105))
    )

    point = told(lines, num_train_epochs=3)

    assert (point.step, point.steps, point.share) == (105, 300, 0.35)

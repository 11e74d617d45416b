"""When a training ends: by its speed after the warm-up, and nothing while that is not known."""

import math
import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aisbench_core.domain.progress.estimate import remaining_seconds
from aisbench_core.domain.progress.patterns import ProgressPatterns
from aisbench_core.domain.progress.points import add_points, read_points
from aisbench_core.domain.progress.tracking import MAX_POINTS, Tracker
from aisbench_core.model import Mode, TrainingPoint
from tests.records import T0, spec


def points(shares: Iterable[tuple[float, float]]) -> list[TrainingPoint]:
    return [TrainingPoint(T0 + timedelta(seconds=second), share=share) for second, share in shares]


def left(shares: Sequence[tuple[float, float]], after: float = 0.0) -> float | None:
    return remaining_seconds(points(shares), T0 + timedelta(seconds=shares[-1][0] + after))


def test_a_steady_training_ends_when_its_speed_says() -> None:
    assert left([(100 + 10 * step, step / 10) for step in range(1, 6)]) == pytest.approx(50)
    assert left([(100 + 10 * step, step / 10) for step in range(1, 6)], after=8) == pytest.approx(42)


def test_the_compilation_before_the_first_step_counts_neither_before_nor_between_the_first_points() -> None:
    compiled = [(0, 0.0), *((600 + 10 * step, step / 100) for step in range(1, 5))]

    assert left(compiled) == pytest.approx(960)


def test_a_training_that_became_slower_ends_later() -> None:
    fast = [(float(step), step / 100) for step in range(1, 21)]
    slow = [(20 + 4 * (step - 20), step / 100) for step in range(21, 61)]

    assert left([*fast, *slow]) == pytest.approx(160, rel=0.05)


def test_evaluations_between_epochs_are_part_of_the_time() -> None:
    shares = [(epoch * 100 + 6 * step, (epoch * 10 + step) / 100) for epoch in range(6) for step in range(1, 11)]

    assert left(shares) == pytest.approx(400, rel=0.15)


@pytest.mark.parametrize("shares", [[(0, 0.1)], [(0, 0.1), (10, 0.2)], [(0, 0.5), (10, 0.5), (20, 0.5)]])
def test_a_few_points_tell_nothing(shares: list[tuple[float, float]]) -> None:
    assert left(shares) is None


def test_nothing_is_known_of_a_training_that_fell_silent_and_of_one_without_an_end() -> None:
    steady = [(10.0 * step, step / 100) for step in range(1, 20)]

    assert left(steady, after=115) is not None
    assert left(steady, after=125) is None
    assert remaining_seconds([TrainingPoint(T0, step=4)], T0) is None


def test_a_training_that_was_restarted_is_measured_from_its_restart() -> None:
    before = [(10.0 * step, step / 10) for step in range(1, 9)]
    again = [(200 + 20.0 * step, step / 10) for step in range(1, 5)]

    assert left([*before, *again]) == pytest.approx(120)


def test_a_training_that_takes_longer_than_its_speed_said_has_no_known_end() -> None:
    steady = [(10.0 * step, step / 10) for step in range(1, 8)]

    assert left(steady, after=20) == pytest.approx(10)
    assert left(steady, after=31) is None


def test_what_the_log_says_is_left_counts_until_the_speed_is_known() -> None:
    said = [TrainingPoint(T0, 5, 100, share=0.05, left_s=300.0)]

    assert remaining_seconds(said, T0 + timedelta(seconds=20)) == 280.0
    assert remaining_seconds(said, T0 + timedelta(seconds=130)) is None, "it is too old"


def test_a_finished_training_has_nothing_left() -> None:
    assert left([(0, 0.5), (5, 0.9), (10, 1.0)], after=9_999) == 0.0


def track(text: str, **changes: object) -> list[TrainingPoint]:
    tracker = Tracker(spec(**changes), batch=32.0)
    return tracker.add(ProgressPatterns().readings(text.encode()), T0, T0 + timedelta(seconds=60))


def test_steps_of_an_epoch_become_steps_of_the_training() -> None:
    last = track("Epoch: [1][ 50/100]\tTime 0.5\tLoss 2.5\n", parameters={"epochs": 4})[-1]

    assert (last.step, last.steps, last.epoch, last.epochs, last.share) == (150, 400, 2, 4, 0.375)


def test_epochs_alone_are_a_share_of_the_parameter() -> None:
    last = track("epoch 3/4 loss 1.0\n")[-1]

    assert (last.step, last.epoch, last.share) == (None, 3, 0.75)


def test_the_cards_that_print_nothing_are_taken_to_be_as_fast_as_the_first() -> None:
    text = 'aisbench: progress {"step": 5, "of": 9, "throughput": 100}\n'

    assert (track(text)[-1].throughput, track(text)[-1].cards) == (800.0, 1)
    assert track(text, mode=Mode.SINGLE_SERVER, node_count=2)[-1].throughput == 800.0


def test_where_the_reporter_speaks_other_lines_do_not_count() -> None:
    text = 'epoch 3/4 loss 9.0\naisbench: progress {"step": 5, "of": 10, "loss": 1.5}\nepoch 4/4 loss 9.0\n'

    assert [(point.step, point.share, point.loss) for point in track(text)] == [(5, 0.5, 1.5)]


def test_the_time_of_a_step_and_the_batch_are_a_throughput() -> None:
    assert track("per step time: 500 ms\n")[-1].throughput == 512.0
    assert track("iteration 5/ 10 | elapsed time per iteration (ms): 250.0 | global batch size: 16 |\n")[
        -1
    ].throughput == pytest.approx(64.0)


def test_a_log_that_grows_fast_adds_a_few_points_between_the_times_of_reading() -> None:
    found = track("".join(f"epoch: 1 step: {step}, loss is 2.{step}\n" for step in range(500)))

    assert len(found) == MAX_POINTS
    assert [point.at for point in found] == sorted(point.at for point in found)
    assert T0 < found[0].at < found[-1].at == T0 + timedelta(seconds=60)


def test_a_training_that_calls_its_first_epoch_0_begins_at_its_first_step() -> None:
    """As the progress bar of PyTorch Lightning."""
    lines = "Epoch 0:  29%|###   | 29/100 [00:03<00:07, 9.40it/s, v_num=0, train_loss=0.5]\r"
    later = lines + "Epoch 3:  50%|#####   | 50/100 [00:05<00:05, 9.40it/s, v_num=0, train_loss=0.1]\n"

    first, last = track(lines, parameters={"epochs": 10})[-1], track(later, parameters={"epochs": 10})[-1]

    assert (first.step, first.steps, first.epoch, first.share) == (29, 1000, 1, 0.029)
    assert (last.step, last.epoch, last.share) == (350, 4, 0.35)


def test_styles_that_count_from_0_and_from_1_in_one_log_agree() -> None:
    """A bar of PyTorch Lightning beside the script's own lines and torchvision's."""
    bar = "Epoch 0: 100%|#####     | 100/100 [00:03<00:00, 9.40it/s]\n"
    lines = {
        "epoch 3/10 loss 0.5\n": 3,
        "Epoch: [2][ 50/100]\tTime 0.5\tLoss 2.5\n": 3,
        "Epoch 2:  50%|#####     | 50/100 [00:03<00:03, 9.40it/s]\n": 3,
    }

    for line, epoch in lines.items():
        assert track(bar + line, parameters={"epochs": 10})[-1].epoch == epoch, line


HOSTILE = [
    "epoch: 0 step: -5, loss is -1e400",
    "epoch -3/4 loss 1.0",
    "epoch 0/0 loss nan",
    "epoch 99999999999999999999/4 loss 1",
    "iteration 120/ 100 | elapsed time per iteration (ms): 1e-320 | global batch size: 99999999999999 | lm loss: 1e308",
    "iteration 0/ 0 |",
    "steps: 99999999999999 loss: inf iter time (s): 1e300 samples/sec: 1e308",
    "steps: 5 loss: -0 iter time (s): 0 samples/sec: -64",
    "{'loss': 1e308, 'epoch': -0.5}",
    "{'loss': 1e308, 'epoch': 1e300}",
    " 50%|#####     | 500/0 [10:00<10:00,  1e-320it/s]",
    "Epoch 0: 101%|#####     | 101/100 [10:00<10:00,  1.20s/it]",
    'aisbench: progress {"step": -71, "of": 1000, "epoch": -1, "throughput": 1e308, "loss": -1e308}',
    'aisbench: progress {"step": 7, "of": 1e14, "epoch": 3, "epochs": 2, "throughput": 1e-300}',
    'aisbench: progress {"step": NaN, "of": Infinity, "epoch": 1e400}',
]


def check(points: list[TrainingPoint]) -> None:
    for point in points:
        assert point.plausible == point
        assert point.step is None or 0 <= point.step <= (point.steps or point.step)
        assert point.epoch is None or 1 <= point.epoch <= (point.epochs or point.epoch)
        assert point.share is None or 0 <= point.share <= 1
        for measured in (point.loss, point.throughput, point.step_s):
            assert measured is None or math.isfinite(measured)
    left = remaining_seconds(points, T0 + timedelta(seconds=61))
    assert left is None or T0 + timedelta(seconds=left) > T0 - timedelta(seconds=1)


@pytest.mark.parametrize("line", HOSTILE)
def test_no_number_that_a_log_prints_is_a_position_that_no_training_can_have(line: str) -> None:
    check(track(f"{line}\n"))
    check(track(f"epoch 2/4 loss 1.0\n{line}\nepoch: 3 step: 10, loss is 2\n{line}\n"))


@given(st.lists(st.sampled_from([*HOSTILE, "epoch 2/4 loss 1.0", "epoch: 1 step: 9, loss is 2"]), max_size=20))
def test_no_order_of_hostile_lines_is_a_position_either(lines: list[str]) -> None:
    check(track("\n".join(lines) + "\n"))


@given(st.text(alphabet="0123456789-+.eEnaif", min_size=1, max_size=25), st.data())
def test_no_number_in_a_known_line_is_a_position_either(number: str, data: st.DataObject) -> None:
    line = data.draw(st.sampled_from([line for line in HOSTILE if line[-1] != "|"]))
    check(track(re.sub(r"(?<=[ :/])[-\d][\d.e-]*", number, line) + "\n"))


def test_a_stored_point_that_no_training_can_have_is_read_without_its_numbers(tmp_path: Path) -> None:
    """Files of earlier versions have them."""
    file = tmp_path / "progress.jsonl"
    add_points([TrainingPoint(T0, -71, 1000, 0, 10, -0.071, 0.5, 1e300, -8, -1.0)], file, 0)

    assert read_points(file) == [TrainingPoint(T0, None, 1000, None, 10, None, 0.5)]

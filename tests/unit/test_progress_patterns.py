"""What lines of well-known frameworks say of a training's progress, and patterns that workloads may not have."""

import time

import pytest

from aisbench_core.domain.progress.patterns import MAX_PATTERN, ProgressPatterns, pattern_problem
from aisbench_core.domain.progress.reading import Reading
from aisbench_core.domain.progress.styles import ProgressStyle, expand_pattern, shipped_styles

LINES = [
    (
        "epoch: 1 step: 100, loss is 2.3",
        {"epoch": 1, "step": 100, "loss": 2.3},
    ),
    (
        "Train epoch time: 5643.231 ms, per step time: 9.022 ms",
        {"step_s": 0.009022},
    ),
    (
        "2026-01-03 10:11:12,345 - mindformers[callback.py:316] - INFO - { Epoch:[  1/  2], step:[   20/ 6500], "
        "loss: 10.661, per_step_time: 1230ms, lr: 1e-05, overflow cond: False, loss_scale: 1.0 }",
        {"epoch": 1, "epochs": 2, "step": 20, "steps": 6500, "loss": 10.661, "step_s": 1.23},
    ),
    (
        "Epoch: [0][ 10/391]\tTime  0.123 ( 0.456)\tData  0.001 ( 0.002)\tLoss 6.9e+00 (7.0e+00)\tAcc@1   0.00",
        {"epoch": 1, "step": 10, "steps": 391, "step_s": 0.123, "loss": 6.9},
    ),
    (
        "Epoch: [2]  [ 10/1252]  eta: 0:12:34  lr: 0.1  img/s: 123.4  loss: 6.93 (7.01)  time: 0.41  data: 0.01",
        {"epoch": 3, "step": 10, "steps": 1252, "loss": 6.93, "step_s": 0.41},
    ),
    (
        " [2026-01-03 10:11:12] iteration      100/    1000 | consumed samples:         1600 | elapsed time per "
        "iteration (ms): 250.0 | learning rate: 1.500E-04 | global batch size:    16 | lm loss: 9.12E+00 | loss scale",
        {"step": 100, "steps": 1000, "step_s": 0.25, "batch": 16.0, "loss": 9.12},
    ),
    (
        "steps: 10 loss: 2.5 iter time (s): 0.5 samples/sec: 64.0",
        {"step": 10, "loss": 2.5, "step_s": 0.5, "samples_per_s": 64.0},
    ),
    (
        "{'loss': 2.25, 'grad_norm': 1.5, 'learning_rate': 4.9e-05, 'epoch': 0.12}",
        {"loss": 2.25, "epochs_done": 0.12},
    ),
    (
        "Epoch 3/10:  10%|█         | 39/391 [00:05<00:47,  8.00it/s, loss=2.31]",
        {"epoch": 3, "epochs": 10, "step": 39, "steps": 391, "step_s": 0.125, "loss": 2.31},
    ),
    (
        " 50%|█████     | 500/1000 [10:00<10:00,  1.20s/it]",
        {"step": 500, "steps": 1000, "step_s": 1.2},
    ),
    (
        "rank 0: epoch 3/40 loss 0.1234 accuracy 0.9100 1234.5 samples/s",
        {"epoch": 3, "epochs": 40, "loss": 0.1234},
    ),
    (
        'aisbench: progress {"step": 120, "seconds": 9.5, "throughput": 910.5, "of": 1000, "epoch": 2, "stage": "a"}',
        {"step": 120, "steps": 1000, "epoch": 2, "card_throughput": 910.5, "stage": "a"},
    ),
]


def said(reading: Reading) -> dict[str, object]:
    return {name: getattr(reading, name) for name in reading.__slots__ if getattr(reading, name) is not None}


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_a_line_of_a_well_known_framework_says_how_far_it_is(line: str, expected: dict[str, object]) -> None:
    (reading,) = ProgressPatterns().readings(f"[INFO] start\n{line}\nnothing here\n".encode())

    assert {name: said(reading)[name] for name in expected} == pytest.approx(expected)


def test_all_lines_of_a_mixed_log_are_read_in_their_order() -> None:
    text = "".join(f"{line}\n" for line, _ in LINES).encode()

    readings = ProgressPatterns().readings(text)

    assert [reading.offset for reading in readings] == sorted(reading.offset for reading in readings)
    assert len(readings) == len(LINES)


def test_a_bar_that_overwrites_itself_is_read_without_line_ends() -> None:
    text = b"".join(b"\r %d%%|##| %d/100 [00:01<00:01, 10.0it/s]" % (each, each) for each in range(1, 100))

    assert [reading.step for reading in ProgressPatterns().readings(text)] == [*range(1, 100)]


@pytest.mark.parametrize(
    "line",
    [
        "epoch: one step: two, loss is nan",
        "downloading  10%| of the file",
        'aisbench: progress {"step": "many", "loss": [1]}',
        "aisbench: progress [1]",
        "aisbench: progress {",
        "iteration 5 of the garbage collector",
    ],
)
def test_other_lines_say_nothing_of_steps(line: str) -> None:
    assert [reading.step for reading in ProgressPatterns().readings(line.encode()) if reading.step is not None] == []


def test_a_loss_that_is_no_number_is_not_measured() -> None:
    (reading,) = ProgressPatterns().readings(b'aisbench: progress {"step": 3, "loss": NaN}\n')

    assert (reading.step, reading.loss) == (3, None)


def test_a_workloads_own_pattern_comes_first() -> None:
    own = ProgressPatterns([r"epoch: (?P<step>\d+) step"])

    (reading,) = own.readings(b"epoch: 7 step: 100, loss is 2.3\n")

    assert (reading.step, reading.epoch) == (7, None)


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        (r"step (?P<step>\d+", "is not an RE2 pattern: missing )"),
        (r"(?P<step>\d+) \1", "is not an RE2 pattern: invalid escape sequence"),
        (r"step (?P<number>\d+)", "has unknown groups: number; known: batch"),
        (r"step \d+", "has no named group"),
        ("a" * 501, "must have at most 500 letters, and has 501"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_the_reason(pattern: str, problem: str) -> None:
    assert str(pattern_problem(pattern)).startswith(problem)


@pytest.mark.parametrize("style", shipped_styles(), ids=lambda style: style.name)
def test_the_patterns_of_the_styles_can_be_used(style: ProgressStyle) -> None:
    for line in style.lines:
        for pattern in (line.pattern, *line.also, *style.also):
            expanded = expand_pattern(pattern)
            assert len(expanded) > MAX_PATTERN or not pattern_problem(expanded) or "(?P<" not in expanded


@pytest.mark.parametrize("unit", ["0", "{'loss': 1,", "epoch: 1 step: ", " 1%|", "iteration 1/2 |", "Epoch: [0][1/2]"])
def test_no_log_makes_reading_slow(unit: str) -> None:
    """Eight times the text takes about eight times as long: 64 times would be quadratic."""
    patterns = ProgressPatterns([r"(?:a*)*(?P<step>\d+)b", r"(?P<loss>\d+)*x"])
    short, long = (unit.encode() * (size // len(unit)) for size in (32 * 1024, 256 * 1024))

    def cost(text: bytes) -> float:
        start = time.thread_time()
        patterns.readings(text)
        return time.thread_time() - start

    assert min(cost(long) for _ in range(3)) <= 24 * max(0.002, min(cost(short) for _ in range(3)))


def test_a_line_is_read_whatever_lines_of_its_letters_came_before() -> None:
    patterns = ProgressPatterns()

    assert patterns.readings(b"st3ep 1/10 loss 2.5 fast\n") == []
    assert [reading.step for reading in patterns.readings(b"step 31/10 loss 2.5 fast\nstep 3/10 loss 2.5 fast\n")] == [
        31,
        3,
    ]


def test_lines_without_progress_cost_next_to_nothing() -> None:
    patterns = ProgressPatterns()

    def cost(line: str) -> float:
        text = (line + "\n").encode() * 2000
        start = time.thread_time()
        patterns.readings(text)
        return time.thread_time() - start

    known = min(cost(" 50%|###   | 500/1000 [10:00<10:00,  1.20s/it]") for _ in range(3))
    other = min(cost("10:11:12 [INFO] a library says hello from /a/b.py and rank 3") for _ in range(3))

    assert 20 * other <= known

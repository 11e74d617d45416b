"""No text that a log may hold gives a position that no training can have, an error, or a slow reading.

`FUZZED_LINES=10000000 python -m pytest tests/unit/test_progress_fuzz.py` reads ten million lines, in some minutes."""

import math
import os
import random
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest

from aisbench_core.domain.progress.estimate import remaining_seconds
from aisbench_core.domain.progress.patterns import ProgressPatterns
from aisbench_core.domain.progress.points import ReadSoFar
from aisbench_core.domain.progress.styles import shipped_styles
from aisbench_core.domain.progress.tracking import Tracker
from aisbench_core.model import RunState, TrainingPoint
from aisbench_core.running.progress.watch import to_progress
from tests.records import T0, run, spec

LINES = int(os.environ.get("FUZZED_LINES", "100000"))
SEED = int(os.environ.get("FUZZED_SEED", "31"))

EXAMPLES = [line for style in shipped_styles() for example in style.examples for line in example.lines.splitlines()]
TEXTS = [text for style in shipped_styles() for line in style.lines for text in line.has]
NUMBERS = [
    *("0", "-1", "-71", "1", "2", "10", "100", "1,000", "12,345,678", "1e3", "1e308", "1e-320", "1e400", "nan", "inf"),
    *("-inf", "-0", "0.0", "1.5", ".5", "5.", "99999999999999999999", "9" * 400, "1000000000000", "1_000", "0x10", "½"),
    *("+3", "3-4", "1:02:03", "1 day, 2:03:04", "99:99:99", "-1:00", "?", "", "10k", "3.5M", "٣", "一百"),
]
PIECES = [
    *(
        " ",
        "\t",
        ", ",
        ": ",
        " - ",
        "|",
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        "/",
        "=",
        "\r",
        "\x1b[31m",
        "\x1b[A",
        "\x08",
        "\0",
    ),
    *("'", '"', "%", "%|", "it/s", "s/it", "ms/step", "━━━", "epoch", "Epoch", "step", "loss", "第", "步", "轮", "eta"),
]
PARAMETERS = [
    {}, {"epochs": 10}, {"num_train_epochs": 3}, {"max_steps": 1000}, {"epochs": 1, "steps": 5}, {"epoch_size": 90},
    {"epochs": -3}, {"max_epochs": 10**15}, {"epochs": True, "max_steps": 1e300}, {"epochs": 0.5},
]  # fmt: skip


def change(line: str, dice: random.Random) -> str:
    """A line of a framework as it might be printed by accident, or by an enemy."""
    kind = dice.random()
    if kind < 0.5:  # other numbers
        parts = []
        for part in split_numbers(line):
            is_number = part[:1].isdigit()
            parts.append(dice.choice(NUMBERS) if is_number and dice.random() < 0.4 else part)
        return "".join(parts)
    if kind < 0.6:
        return line[: dice.randrange(len(line) + 1)]
    if kind < 0.75:
        at = dice.randrange(len(line) + 1)
        return line[:at] + dice.choice(PIECES) * dice.choice((1, 1, 2, 30)) + line[at:]
    if kind < 0.85:
        return line + dice.choice(("", " ", "\r", ", ")) + dice.choice(EXAMPLES)
    return "".join(dice.choice((dice.choice(PIECES), dice.choice(NUMBERS), dice.choice(TEXTS))) for _ in range(12))


def split_numbers(line: str) -> Iterator[str]:
    """A line in pieces: digits, and what is between them."""
    start = 0
    for at in range(1, len(line) + 1):
        if at == len(line) or line[at].isdigit() != line[start].isdigit():
            yield line[start:at]
            start = at


def check(points: list[TrainingPoint]) -> None:
    for point in points:
        assert point.plausible == point
        assert point.step is None or 0 <= point.step <= (point.steps or point.step)
        assert point.epoch is None or 1 <= point.epoch <= (point.epochs or point.epoch)
        assert point.share is None or 0 <= point.share <= 1
        for measured in (point.loss, point.throughput, point.step_s, point.left_s):
            assert measured is None or math.isfinite(measured)
        progress = to_progress(run(state=RunState.RUNNING), point)
        assert progress is None or 0 <= progress.done <= (progress.total or progress.done)
        assert progress is None or 0 <= progress.fraction <= 1
    left = remaining_seconds(points, T0 + timedelta(seconds=61))
    assert left is None or 0 <= left < 1e10


@pytest.mark.slow
def test_no_text_gives_a_position_that_no_training_can_have() -> None:
    dice, patterns, read = random.Random(SEED), ProgressPatterns(), 0
    while read < LINES:
        tracker = Tracker(spec(parameters=dice.choice(PARAMETERS)), dice.choice((None, 32.0)), None, ReadSoFar())
        points: list[TrainingPoint] = []
        several = [dice.choice(EXAMPLES) for _ in range(3)]  # a log has few kinds of lines
        for _ in range(4):
            lines = [change(dice.choice(several), dice) for _ in range(60)]
            text = "\n".join(lines)
            points += tracker.add(patterns.readings(text.encode("utf-8", "replace")), T0, T0 + timedelta(seconds=60))
            read += len(lines)
        check(points)


@pytest.mark.parametrize(
    "unit", [*sorted({*TEXTS}), "1", "1,", "1 day, ", " 1%|", "Epoch 1/2 ", "━", "step: 1 loss", "\x1b["]
)
def test_no_line_of_64_kb_is_read_slowly(unit: str) -> None:
    """Four times the text takes about four times as long: 16 times would be quadratic."""
    patterns, piece = ProgressPatterns(), unit.encode()

    def cost(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.thread_time()
        patterns.readings(text)
        return time.thread_time() - start

    assert min(cost(64 * 1024) for _ in range(2)) <= 12 * max(0.002, min(cost(16 * 1024) for _ in range(2)))

"""Patterns that find the progress of a training in its log: the reporter's, well-known styles, and a workload's own.

RE2 matches in linear time, whatever the pattern and the log.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import re2

from aisbench_core.base.messages import Hint, Message

MAX_PATTERNS = 16
MAX_PATTERN = 500  # letters

REPORTED = b"aisbench: progress "
"""How a line of the reporter begins; an object in JSON follows."""

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False  # they are raised as well
_OPTIONS.max_mem = 1 << 20
_OPTIONS.never_nl = True  # a match is part of a line

# A match may look at the rest of its line: in an endless line of matches each would.
MAX_LINE = 1000

_N = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_REST = r"[^\r\n]*?"

# Every log is searched for these, by the name of what prints such lines. All of them were copied from logs.
STYLES: Mapping[str, str] = {
    "MindFormers": rf"[Ee]poch:\[\s*(?P<epoch>\d+)/\s*(?P<epochs>\d+)\],\s*step:\[\s*(?P<step>\d+)/\s*(?P<steps>\d+)\]"
    rf"(?:,\s*loss:\s*\[?(?P<loss>{_N})\]?)?(?:{_REST}per_step_time:\s*(?P<step_ms>{_N})\s*ms)?",
    "MindSpore LossMonitor": rf"epoch:\s*(?P<epoch>\d+)\s+step:\s*(?P<step>\d+),\s*loss is\s*(?P<loss>{_N})",
    "MindSpore TimeMonitor": rf"per step time:\s*(?P<step_ms>{_N})\s*ms",
    "torchvision": r"Epoch:\s*\[(?P<epoch_from_0>\d+)\]\s*\[\s*(?P<step>\d+)/(?P<steps>\d+)\]\s+eta:"
    rf"(?:{_REST}\bloss:\s+(?P<loss>{_N}))?(?:{_REST}\btime:\s+(?P<step_s>{_N}))?",
    "PyTorch examples": r"Epoch:\s*\[(?P<epoch_from_0>\d+)\]\s*\[\s*(?P<step>\d+)/(?P<steps>\d+)\]"
    rf"(?:{_REST}\b[Tt]ime:?\s+(?P<step_s>{_N}))?(?:{_REST}\b[Ll]oss:?\s+(?P<loss>{_N}))?",
    "Megatron": r"iteration\s+(?P<step>\d+)/\s*(?P<steps>\d+)\s*\|"
    rf"(?:{_REST}elapsed time per iteration \(ms\):\s*(?P<step_ms>{_N}))?"
    rf"(?:{_REST}global batch size:\s*(?P<batch>\d+))?(?:{_REST}\blm loss:\s*(?P<loss>{_N}))?",
    "DeepSpeed": rf"steps:\s*(?P<step>\d+)\s+loss:\s*(?P<loss>{_N})\s+iter time \(s\):\s*(?P<step_s>{_N})"
    rf"(?:\s+samples/sec:\s*(?P<throughput>{_N}))?",
    "Hugging Face Trainer": rf"\{{'loss':\s*'?(?P<loss>{_N})'?,{_REST}'epoch':\s*'?(?P<epochs_done>{_N})'?",
    "tqdm": r"(?:[Ee]poch:?\s*(?P<epoch>\d+)(?:/(?P<epochs>\d+))?[^\r\n%|]{0,40})?"
    r"\d+%\|[^|\r\n]*\|\s*(?P<step>\d+)/(?P<steps>\d+)\s*\[[^\]\r\n,]*,"
    rf"\s*(?:(?P<steps_per_s>{_N})it/s|(?P<step_s>{_N})s/it)?(?:[^\]\r\n]*?\bloss=(?P<loss>{_N}))?",
    "epoch of epochs": rf"\b[Ee]poch\s+(?P<epoch>\d+)/(?P<epochs>\d+)\b(?:{_REST}\bloss:?\s+(?P<loss>{_N}))?",
}

_NUMBERS = (
    *("step", "steps", "epoch", "epoch_from_0", "epochs", "epochs_done", "loss", "throughput", "card_throughput"),
    *("step_s", "step_ms", "steps_per_s", "batch"),
)
GROUPS = frozenset({*_NUMBERS, "stage"})
"""The names that groups of a pattern may have."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one match says; None is not said. `offset`: bytes from the start of the text.

    `epoch`: from 1. A step beside an epoch is one of that epoch, and so are `steps`; without an epoch, of the training
    (`whole` says so where both are known). `epochs_done`: of the training, with a fraction. `throughput`: of the whole
    job; `card_throughput`: of one card. `batch`: samples of the whole job per step. `style`: which pattern matched;
    those of one style count alike."""

    offset: int
    step: int | None = None
    steps: int | None = None
    epoch: int | None = None
    epochs: int | None = None
    epochs_done: float | None = None
    loss: float | None = None
    throughput: float | None = None
    card_throughput: float | None = None
    step_s: float | None = None
    batch: float | None = None
    stage: str = ""
    whole: bool = False
    style: str = field(default="", compare=False)


def pattern_problem(pattern: str) -> Hint:
    """What is wrong with a workload's pattern; empty if it can be used."""
    if len(pattern) > MAX_PATTERN:
        return Message("must have at most {most} letters, and has {length}", most=MAX_PATTERN, length=len(pattern))
    try:
        names = set(re2.compile(pattern, _OPTIONS).groupindex)
    except re2.error as error:
        why = error.args[0]
        return Message(
            "is not an RE2 pattern: {why}", why=why.decode("utf-8", "replace") if isinstance(why, bytes) else why
        )
    if unknown := names - GROUPS:
        return Message(
            "has unknown groups: {unknown}; known: {known}",
            unknown=", ".join(sorted(unknown)),
            known=", ".join(sorted(GROUPS)),
        )
    if not names:
        return Message("has no named group such as (?P<step>\\d+)")
    return ""


class ProgressPatterns:
    """All patterns for the logs of one workload: its own, and the well-known styles."""

    def __init__(self, own: Sequence[str] = ()) -> None:
        """`own`: patterns without a problem."""
        patterns = {**{f"own {number}": pattern for number, pattern in enumerate(own)}, **STYLES}
        self._patterns = {
            style: re2.compile(f"(?m){pattern}".encode(), _OPTIONS) for style, pattern in patterns.items()
        }

    def readings(self, text: bytes) -> list[Reading]:
        """Everything that the text says, in its order; where two patterns match the same, the first counts."""
        text = b"\n".join(line[:MAX_LINE] for line in text.replace(b"\r", b"\n").split(b"\n"))
        found: dict[int, Reading] = {reading.offset: reading for reading in iterate_reported(text)}
        for style, pattern in self._patterns.items():
            for match in pattern.finditer(text):
                line = _line_start(text, match.start())
                if line not in found and (reading := _to_reading(match.groupdict(), line, style)):
                    found[line] = reading
        return [found[line] for line in sorted(found)]


def iterate_reported(text: bytes) -> Iterator[Reading]:
    """The reporter's lines in a text; what only looks like one is none."""
    at = text.find(REPORTED)
    while at >= 0:
        start = at + len(REPORTED)
        end = text.find(b"\n", start)
        end = len(text) if end < 0 else end
        with suppress(ValueError, TypeError, AttributeError, RecursionError):
            yield _of_reporter(json.loads(text[start:end]), _line_start(text, at))
        at = text.find(REPORTED, end)


def _of_reporter(line: Mapping[str, Any], offset: int) -> Reading:
    """A line of `aisbench_report.progress`. Raises ValueError and others where it is damaged."""
    numbers = {
        name: _parse_number(line.get(name, "")) for name in ("step", "of", "epoch", "epochs", "loss", "throughput")
    }
    return Reading(
        offset,
        step=_to_whole(numbers["step"]),
        steps=_to_whole(numbers["of"]),
        epoch=_to_whole(numbers["epoch"]),
        epochs=_to_whole(numbers["epochs"]),
        loss=numbers["loss"],
        card_throughput=_above_zero(numbers["throughput"]),
        stage=str(line.get("stage", ""))[:40],
        whole=True,
    )


def _to_reading(groups: Mapping[Any, bytes | None], offset: int, style: str) -> Reading | None:
    """A match as a reading; None if it says nothing, or only what is no number."""
    texts = {
        _decode_name(name): value.decode("utf-8", "replace") for name, value in groups.items() if value is not None
    }
    numbers = {name: number for name in _NUMBERS if (number := _parse_number(texts.get(name, ""))) is not None}
    if not numbers and "stage" not in texts:
        return None
    epoch = numbers.get("epoch")
    if epoch is None and "epoch_from_0" in numbers:
        epoch = numbers["epoch_from_0"] + 1
    return Reading(
        offset,
        step=_to_whole(numbers.get("step")),
        steps=_to_whole(numbers.get("steps")),
        epoch=_to_whole(epoch),
        epochs=_to_whole(numbers.get("epochs")),
        epochs_done=numbers.get("epochs_done"),
        loss=numbers.get("loss"),
        throughput=_above_zero(numbers.get("throughput")),
        card_throughput=_above_zero(numbers.get("card_throughput")),
        step_s=_above_zero(_step_seconds(numbers)),
        batch=_above_zero(numbers.get("batch")),
        stage=texts.get("stage", "")[:40],
        style=style,
    )


def _step_seconds(numbers: Mapping[str, float]) -> float | None:
    if "step_s" in numbers:
        return numbers["step_s"]
    if "step_ms" in numbers:
        return numbers["step_ms"] / 1000
    rate = numbers.get("steps_per_s")
    return 1 / rate if rate else None


def _decode_name(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else name


def _line_start(text: bytes, at: int) -> int:
    return text.rfind(b"\n", 0, at) + 1


def _parse_number(text: Any) -> float | None:
    """A finite number; None for anything else. A loss that is not a number is no measurement of it."""
    with suppress(ValueError, TypeError):
        number = float(text)
        return number if math.isfinite(number) else None
    return None


def _to_whole(number: float | None) -> int | None:
    return int(number) if number is not None and 0 <= number < 1e15 else None


def _above_zero(number: float | None) -> float | None:
    return number if number is not None and number > 0 else None

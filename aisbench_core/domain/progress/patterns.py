"""Finds what a log says of its training: the reporter's lines, well-known styles, and a workload's own patterns.

RE2 matches in linear time, whatever the pattern and the log.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import re2

from aisbench_core.base.messages import Hint, Message
from aisbench_core.domain.progress.bars import MOST_READ, read_label, read_rate
from aisbench_core.domain.progress.reading import Reading
from aisbench_core.domain.progress.styles import GROUPS, ProgressStyle, expand_pattern, shipped_styles

MAX_PATTERNS = 16
MAX_PATTERN = 500  # letters

REPORTED = b"aisbench: progress "
"""How a line of the reporter begins; an object in JSON follows."""

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False  # they are raised as well
_OPTIONS.max_mem = 1 << 20
_OPTIONS.never_nl = True  # a match is part of a line

MAX_LINE = 1000
"""Bytes of a line that a workload's own pattern sees: a match may look at the rest of its line."""

MAX_KNOWN_LINE = 8000
"""Bytes of a line of a known style: verl prints so much in one."""

MAX_SHAPES, MAX_SHAPE = 4096, 600
"""Shapes of lines that are remembered, and bytes of one."""

_COLOURS = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")

# Groups that say in another unit what a reading has, with the factor.
_OTHER_UNITS = {
    "memory_decimal_gb": ("memory_gb", 1e9 / 1024**3),
    "memory_mb": ("memory_gb", 1 / 1024),
    "memory_bytes": ("memory_gb", 1 / 1024**3),
    "mfu_percent": ("mfu", 0.01),
}

_SCALES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_MEASURED = frozenset(
    {
        *("throughput", "card_throughput", "samples_per_s", "card_samples_per_s", "tokens_per_s", "card_tokens_per_s"),
        "mean_tokens_per_s",
        *("interval_s", "memory_gb", "mfu", "tflops", "batch", "tokens", "tokens_done", "grad_norm", "learning_rate"),
    }
)
_CLOCK = re.compile(r"(?:(\d{1,9}) ?d(?:ays?)?,? ?)?(?:(\d{1,9}):)?(\d{1,9}):(\d{1,9})(?:\.\d+)?$")
_UNITS = re.compile(r"(\d{1,9}) ?(d|h|m|s)")
_SECONDS = {"d": 86_400, "h": 3600, "m": 60, "s": 1}


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
    if unknown := names - set(GROUPS):
        return Message(
            "has unknown groups: {unknown}; known: {known}",
            unknown=", ".join(sorted(unknown)),
            known=", ".join(sorted(GROUPS)),
        )
    if not names:
        return Message("has no named group such as (?P<step>\\d+)")
    return ""


class _Pattern:
    """A compiled pattern, and its groups by name."""

    __slots__ = ("_names", "_regex")

    def __init__(self, pattern: str) -> None:
        self._regex = re2.compile(f"(?m){pattern}".encode(), _OPTIONS)
        self._names = tuple((index, name.decode()) for name, index in self._regex.groupindex.items())

    def find(self, text: bytes, start: int, end: int) -> dict[str, bytes] | None:
        """What its groups hold in a part of the text; None if it is not there."""
        match = self._regex.search(text, start, end)
        if match is None:
            return None
        return {name: value for index, name in self._names if (value := match[index]) is not None}

    def iterate_lines(self, text: bytes) -> Iterator[tuple[int, int]]:
        """Where lines begin and end in which it matches."""
        match = self._regex.search(text)
        while match is not None:
            start, end = _line_start(text, match.start()), _line_end(text, match.start())
            yield start, end
            match = self._regex.search(text, end + 1) if end < len(text) else None


@dataclass(frozen=True, slots=True)
class _CompiledLine:
    """A kind of line: texts of which it has one, the pattern, and what else is searched for in it."""

    style: str
    has: tuple[bytes, ...]
    pattern: _Pattern
    also: tuple[_Pattern, ...] = ()
    stage: str = ""
    before: bool = False

    def read(self, text: bytes, start: int, end: int) -> Reading | None:
        """What one line says, if it is of this kind."""
        groups = self.pattern.find(text, start, end)
        if groups is None:
            return None
        if self.stage:
            return Reading(start, stage=self.stage, style=self.style)
        for pattern in self.also:
            if more := pattern.find(text, start, end):
                groups |= more
        reading = (_read_bar if "label" in groups else _read_groups)(groups, start, self.style)
        if reading:
            reading.is_before = self.before
        return reading


class _KnownLines:
    """Those of all styles, in the order in which they are tried."""

    def __init__(self, lines: Sequence[_CompiledLine]) -> None:
        self._lines = lines
        texts = sorted({text for line in lines for text in line.has})
        self._any = _Pattern("|".join(re.escape(text.decode()) for text in texts))
        self._kinds: dict[bytes, list[_CompiledLine]] = {}

    def iterate_readings(self, text: bytes) -> Iterator[Reading]:
        """What lines say, each by the first that reads it. Most lines have none of the texts, and cost little."""
        for start, end in self._any.iterate_lines(text):
            until = min(end, start + MAX_KNOWN_LINE)
            part = text[start:until]
            for kind in self._list_kinds(part):
                if reading := kind.read(text, start, until):
                    yield reading
                    break

    def _list_kinds(self, line: bytes) -> list[_CompiledLine]:
        """Those of which the line, without its digits, has a text: lines of one print statement have the same kinds."""
        shape = line.translate(None, b"0123456789#")
        kinds = self._kinds.get(shape)
        if kinds is None:
            kinds = [kind for kind in self._lines if any(text in shape for text in kind.has)]
            if len(shape) <= MAX_SHAPE:
                if len(self._kinds) >= MAX_SHAPES:
                    self._kinds.clear()
                self._kinds[shape] = kinds
        return kinds


class ProgressPatterns:
    """All patterns for the logs of one workload: its own, and the well-known styles."""

    def __init__(self, own: Sequence[str] = (), styles: Sequence[ProgressStyle] | None = None) -> None:
        """`own`: patterns without a problem. `styles`: those that are known, by default the product's."""
        self._own = [_CompiledLine(f"own {number}", (), _Pattern(pattern)) for number, pattern in enumerate(own)]
        self._known = _shipped_lines() if styles is None else _compile_styles(styles)

    def readings(self, text: bytes) -> list[Reading]:
        """Everything that the text says, in its order; where two patterns match the same line, the first counts."""
        text = text.replace(b"\r", b"\n")
        if b"\x1b" in text:
            text = _COLOURS.sub(b"", text)
        found = {reading.offset: reading for reading in iterate_reported(text)}
        for line in self._own:
            for start, end in line.pattern.iterate_lines(text):
                if start not in found and (reading := line.read(text, start, min(end, start + MAX_LINE))):
                    found[start] = reading
        for reading in self._known.iterate_readings(text):
            found.setdefault(reading.offset, reading)
        return [found[start] for start in sorted(found)]


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


@cache
def _shipped_lines() -> _KnownLines:
    return _compile_styles(shipped_styles())


def _compile_styles(styles: Sequence[ProgressStyle]) -> _KnownLines:
    return _KnownLines(
        [
            _CompiledLine(
                style.name,
                tuple(text.encode() for text in line.has),
                _Pattern(expand_pattern(line.pattern)),
                tuple(_Pattern(expand_pattern(pattern)) for pattern in (*line.also, *style.also)),
                line.stage,
                line.before,
            )
            for style in styles
            for line in style.lines
        ]
    )


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


def _read_bar(groups: dict[str, bytes], offset: int, style: str) -> Reading | None:
    """A progress bar: of a training, or of a stage beside it."""
    texts = {name: value.decode("utf-8", "replace") for name, value in groups.items()}
    seconds, unit = read_rate(texts.get("rate", ""))
    label = read_label(texts["label"][-MOST_READ:], unit)
    if label.stage:
        return Reading(offset, stage=label.stage, style=style)
    step, steps = (_to_whole(_parse_number(texts.get(name, ""))) for name in ("step", "steps"))
    if step is None or not steps or step > steps:
        return None
    loss = _parse_number(texts.get("loss", ""))
    if label.counts_epochs:
        return Reading(offset, epochs_done=float(step), epochs=steps, loss=loss, is_bar=True, style=style)
    if seconds is None:
        seconds = _step_seconds({name: _parse_number(texts.get(name, "")) for name in ("step_s", "step_ms")})
    return Reading(
        offset, step, steps, label.epoch, label.epochs, loss=loss, step_s=_above_zero(seconds),
        left_s=parse_time(texts.get("eta", "")), elapsed_s=parse_time(texts.get("elapsed", "")),
        is_global=label.is_whole, is_bar=True, is_named=label.is_named, style=style,
    )  # fmt: skip


def _read_groups(groups: dict[str, bytes], offset: int, style: str) -> Reading | None:
    """A match as a reading; None if it says nothing, or only what is no number."""
    left_s, elapsed_s = (_pop_time(groups, name) for name in ("eta", "elapsed"))
    stage = groups.pop("stage", b"").decode("utf-8", "replace")[:40]
    numbers = {name: number for name, value in groups.items() if (number := _parse_number(value)) is not None}
    if not numbers and not stage and left_s is None and elapsed_s is None:
        return None
    get = numbers.get
    said = {name: number for name, number in numbers.items() if name in _MEASURED and number > 0}
    for name, (known_as, factor) in _OTHER_UNITS.items():
        if name in numbers and numbers[name] > 0:
            said[known_as] = numbers[name] * factor
    if (seconds := _above_zero(_step_seconds(numbers))) is not None:
        said["step_s"] = seconds
    epoch, epochs_done = get("epoch"), get("epochs_done")
    if epoch is None:
        epoch = numbers["epoch_from_0"] + 1 if "epoch_from_0" in numbers else get("epoch_begun")
    if epoch is not None and "epoch_percent" in numbers:
        epochs_done = epoch - 1 + min(100.0, max(0.0, numbers["epoch_percent"])) / 100
        epoch = None
    reading = Reading(
        offset,
        step=_to_whole(get("global_step", get("step"))),
        steps=_to_whole(get("steps")),
        epoch=_to_whole(epoch),
        epochs=_to_whole(get("epochs")),
        epochs_done=epochs_done,
        loss=get("loss"),
        left_s=left_s,
        elapsed_s=elapsed_s,
        stage=stage,
        begins="epoch_begun" in numbers,
        is_global="global_step" in numbers,
        style=style,
    )
    for name, number in said.items():
        setattr(reading, name, number)
    return reading


def _pop_time(groups: dict[str, bytes], name: str) -> float | None:
    return parse_time(groups.pop(name).decode("utf-8", "replace")) if name in groups else None


def _step_seconds(numbers: Mapping[str, float | None]) -> float | None:
    if (seconds := numbers.get("step_s")) is not None:
        return seconds
    if (milliseconds := numbers.get("step_ms")) is not None:
        return milliseconds / 1000
    rate = numbers.get("steps_per_s")
    return 1 / rate if rate else None


def parse_time(text: str) -> float | None:
    """Seconds of `1 day, 2:03:04`, `03:04`, `15h 30m` or `12s`."""
    if found := _CLOCK.match(text):
        days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
        return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    parts = _UNITS.findall(text)
    return float(sum(int(number) * _SECONDS[unit] for number, unit in parts)) if parts else None


def _line_start(text: bytes, at: int) -> int:
    return text.rfind(b"\n", 0, at) + 1


def _line_end(text: bytes, at: int) -> int:
    end = text.find(b"\n", at)
    return len(text) if end < 0 else end


def _parse_number(text: Any) -> float | None:
    """A finite number; None for anything else. A loss that is not a number is no measurement of it."""
    with suppress(ValueError, TypeError):
        number = float(text)
        return number if math.isfinite(number) else None
    if isinstance(text, str | bytes) and text:
        text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        plain = text.replace(",", "").rstrip("kKMGT")
        with suppress(ValueError):
            number = float(plain) * _SCALES.get(text[-1], 1.0)
            return number if math.isfinite(number) else None
    return None


def _to_whole(number: float | None) -> int | None:
    return int(number) if number is not None and 0 <= number < 1e15 else None


def _above_zero(number: float | None) -> float | None:
    return number if number is not None and 0 < number < math.inf else None

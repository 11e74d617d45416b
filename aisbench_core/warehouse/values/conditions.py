"""Conditions on a parameter or a number of runs, as links and commands write them: `throughput:8000..`."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.model import columns
from aisbench_core.model.columns import Column, Kind

PARAMETER, METRIC = "parameter.", "metric."
"""How names of parameters, and of metrics that a job or its log stated, begin; all others are columns."""

MAX_CONDITIONS = 20

NUMBERS: Mapping[str, Column] = {
    column.name: column
    for column in columns.COLUMNS
    if column.kind in (Kind.INTEGER, Kind.NUMBER) and column.in_view and (column.stored or column.sql)
}
"""The columns that a condition may name."""

_FREE_NAME = re.compile(r"[^\"\\\x00-\x1f\ud800-\udfff]{1,100}")
_BROKEN = re.compile(r"[\ud800-\udfff]")  # bytes of a command line that are not UTF-8


@dataclass(frozen=True, slots=True)
class Condition:
    """The value of a run under this name is between `low` and `high`, ends included, or it is the text `value`."""

    name: str
    low: float = -math.inf
    high: float = math.inf
    value: str | None = None

    @property
    def parameter(self) -> str:
        """The parameter that it is about; empty for a column."""
        return self.name.removeprefix(PARAMETER) if self.name.startswith(PARAMETER) else ""

    @property
    def metric(self) -> str:
        """The named metric that it is about; empty for another number."""
        return self.name.removeprefix(METRIC) if self.name.startswith(METRIC) else ""

    def __str__(self) -> str:
        ends = ["" if math.isinf(end) else f"{end:.15g}" for end in (self.low, self.high)]
        wanted = self.value if self.value is not None else ends[0] if self.low == self.high else "..".join(ends)
        return f"{self.name}:{wanted}"


def parse_conditions(texts: Iterable[str]) -> tuple[Condition, ...]:
    """The conditions in these texts, each once. Raises SpecError with all that is wrong with them."""
    found, problems = dict[Condition, None](), list[Problem]()
    for text in texts:
        try:
            found[parse_condition(text)] = None
        except SpecError as error:
            problems += error.problems
    if len(found) > MAX_CONDITIONS:
        problems.append(Problem("where", Message("at most {most} conditions", most=MAX_CONDITIONS), str(len(found))))
    if problems:
        raise SpecError(Message("filter"), problems)
    return tuple(found)


def parse_condition(text: str) -> Condition:
    """`NAME:VALUE`, or `NAME:LOW..HIGH` with one end or both. Raises SpecError."""
    if _BROKEN.search(text):
        raise _make_error(text, Message("not UTF-8"))
    name, wanted = (part.strip() for part in text.split(":", 1)) if ":" in text else ("", "")
    if not name or not wanted:
        raise _make_error(text, Message("must be NAME:VALUE or NAME:LOW..HIGH"))
    prefix = next((each for each in (PARAMETER, METRIC) if name.startswith(each)), "")
    if not (prefix and _FREE_NAME.fullmatch(name.removeprefix(prefix))) and name not in NUMBERS:
        close = get_close_matches(name, NUMBERS, 3) or ["throughput", "accuracy", "duration_s"]
        known = Message("no such number: use {names}, parameter.NAME or metric.NAME", names=", ".join(close))
        raise _make_error(text, known)
    first, dots, last = wanted.partition("..")
    low, high = (_parse_number(first, -math.inf), _parse_number(last, math.inf)) if dots else (None, None)
    # Texts of parameters, such as paths, may hold two dots.
    if dots and not (prefix == PARAMETER and (low is None or high is None)):
        if low is None or high is None or low > high or (math.isinf(low) and math.isinf(high)):
            raise _make_error(text, Message("a range is LOW..HIGH, two numbers of which one may be left out"))
        return Condition(name, low, high)
    number = _parse_number(wanted, math.nan)
    if number is not None:
        return Condition(name, number, number)
    if prefix != PARAMETER:
        raise _make_error(text, Message("{name} is a number", name=name))
    return Condition(name, value=wanted)


def is_condition(text: str) -> bool:
    """Whether a text is a condition."""
    try:
        parse_condition(text)
    except SpecError:
        return False
    return True


def require_parameter_name(name: str) -> str:
    """The name, if it can be one of a parameter. Raises SpecError."""
    if not _FREE_NAME.fullmatch(name):
        raise SpecError(Message("filter"), [Problem("parameter", Message("is no name of a parameter"), name)])
    return name


def _parse_number(text: str, missing: float) -> float | None:
    """A number, with `%` for hundredths; `missing` for an empty text, None for any other."""
    bare = text.strip().removesuffix("%").rstrip()
    if not text.strip():
        return missing
    try:
        number = float(bare) / (100 if bare != text.strip() else 1)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _make_error(text: str, why: Message) -> SpecError:
    return SpecError(Message("filter"), [Problem("where", why, _BROKEN.sub("\ufffd", text))])

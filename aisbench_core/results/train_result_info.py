"""The block train_result_info: its keys exactly as upstream spells them; as text, and back."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, tzinfo

from aisbench_core.errors import ResultError
from aisbench_core.messages import Message
from aisbench_core.model import TrainResultInfo, columns

AS_TEXT = frozenset({"accuracy", "throughput_ratio"})

KEYS = frozenset(field.name for field in fields(TrainResultInfo))
TIMES = frozenset(key for key in KEYS if key.endswith("_time"))

UNMEASURED_AS_ZERO = frozenset(key.stored_name for key in columns.KEYS if key.key and key.key.zero_is_unmeasured)
"""Where upstream writes 0 when nothing was measured."""

UNMEASURED_TIME = "2020-01-30 14:16:00"
"""What upstream writes where no time was measured."""

LEAST_THROUGHPUT, MOST_THROUGHPUT = 1e-100, 1e100
"""Samples/s; beyond it lies no machine, and sums would overflow."""

MOST_ACCURACY = 1e6
"""Some codes write a share, some percent, some another score; sums over servers must not overflow."""

NUMBER = re.compile(r"[-+]?([0-9]++(\.[0-9]*+)?|\.[0-9]++)(e[-+]?[0-9]++)?|[-+]?(nan|inf|infinity)", re.IGNORECASE)
"""A number as programs write it; Python's float() would also take 1_000 and the digits of other scripts."""

_TIME = re.compile(
    r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})[ T]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)? ?(Z|[-+]\d{2}:?\d{2})?", re.ASCII
)
_YEARS = range(1971, 2200)
_STAMP = re.compile(r'"rehearsal"[ \t]*:[ \t]*true')
_PAIR = re.compile(r'"(\w+)"[ \t]*:[ \t]*(?:"([^"\r\n]*)"|([^\s,}"]+)(?=[\s,}]))')


@dataclass(frozen=True, slots=True)
class ReadBlock:
    """What a block says. `told` holds each key's value as text that does not depend on how it was written.

    `placeholders` are keys whose value upstream writes where nothing was measured; `info` has None there, and for what
    `problems` name."""

    info: TrainResultInfo
    told: Mapping[str, str]
    placeholders: tuple[str, ...]
    problems: tuple[str, ...]


def render(info: TrainResultInfo) -> str:
    """The block as JSON. Accuracy and throughput are numbers in strings, as upstream writes them.

    Where upstream writes a placeholder, this block holds null: not measured. Times are ISO-8601 in UTC."""
    values = {field.name: getattr(info, field.name) for field in fields(info)}
    return json.dumps({name: _shown(name, values[name]) for name in sorted(values)}, indent=3)


def stamped(block: str) -> str:
    """A rendered block that says that it is a rehearsal's."""
    return json.dumps({**json.loads(block), "rehearsal": True}, indent=3)


def is_stamped(text: str) -> bool:
    """Whether a block says so."""
    return bool(_STAMP.search(text))


def read(text: str, zone: tzinfo) -> ReadBlock:
    """The block from its text, also when it is damaged: what can be told is told. `zone` is that of its times."""
    told = {key: value for key, value in _pairs(text).items() if key in KEYS}
    values: dict[str, float | datetime] = {}
    placeholders, problems = [], []
    for key, value in sorted(told.items()):
        if is_placeholder(key, value):
            placeholders.append(key)
            continue
        try:
            values[key] = read_time(value, zone) if key in TIMES else read_measure(key, value)
        except ResultError as error:
            problems.append(error.message)
    missing = sorted(KEYS - columns.LATER_KEYS - told.keys() - _nulls(text))
    if missing:
        problems.append(Message("the block lacks {keys}", keys=", ".join(missing)))
    return ReadBlock(TrainResultInfo(**values), normal(told), tuple(placeholders), tuple(problems))  # type: ignore[arg-type]  # by name


def is_placeholder(key: str, text: str) -> bool:
    """Whether upstream writes this value for this key when nothing was measured."""
    if key in TIMES:
        return text.strip() == UNMEASURED_TIME
    text = text.strip()  # of more than float() takes away: of the control characters that Python counts as blanks, too
    return key in UNMEASURED_AS_ZERO and bool(NUMBER.fullmatch(text)) and float(text) == 0


def read_measure(key: str, text: str) -> float:
    """A finite number that this key can have. Raises ResultError, naming the key, otherwise."""
    text = text.strip()
    if not NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        raise ResultError(Message("{name} holds {found}, and not a number", name=key, found=repr(text[:40])))
    value = float(text)
    if key == "throughput_ratio" and not LEAST_THROUGHPUT <= value <= MOST_THROUGHPUT:
        raise not_between(key, value, LEAST_THROUGHPUT, MOST_THROUGHPUT)
    if not 0 <= value <= (MOST_ACCURACY if key == "accuracy" else MOST_THROUGHPUT):
        raise ResultError(Message("{name} holds {found}; allowed: 0 or greater", name=key, found=f"{value:g}"))
    return value


def not_between(name: str, value: float, least: float, most: float) -> ResultError:
    """The error of a file or key with a number out of range."""
    sentence = Message(
        "{name} holds {found}; allowed: {least} to {most}",
        name=name,
        found=f"{value:g}",
        least=f"{least:g}",
        most=f"{most:g}",
    )
    return ResultError(sentence)


def read_time(text: str, zone: tzinfo) -> datetime:
    """A time as upstream, people and ISO 8601 write it, aware, in UTC. Raises ResultError if it is none."""
    found = _TIME.fullmatch(text.strip())
    no_time = ResultError(Message("{text!r} is not a time like 2022-07-13 13:24:43", text=text[:40]))
    if not found or int(found[1]) not in _YEARS:
        raise no_time
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    try:
        place = zone if not found[7] else datetime.strptime(found[7].replace("Z", "+00:00"), "%z").tzinfo
        return datetime(year, month, day, hour, minute, second, tzinfo=place).astimezone(UTC)
    except ValueError:
        raise no_time from None


def normal(told: Mapping[str, str]) -> dict[str, str]:
    """Each key's value as text that is the same for equal numbers."""
    bare = {key: value.strip() for key, value in told.items()}
    return {
        key: repr(float(text)) if key not in TIMES and NUMBER.fullmatch(text) else text for key, text in bare.items()
    }


def _pairs(text: str) -> dict[str, str]:
    """The block's values as text, null left out: as JSON, else every pair that can be made out in it."""
    try:
        found = json.loads(text, parse_int=str, parse_float=str, parse_constant=str, strict=False)
    except (ValueError, RecursionError):
        return {key: quoted or bare for key, quoted, bare in _PAIR.findall(text) if bare != "null"}
    if not isinstance(found, dict):
        return {}
    return {key: value if isinstance(value, str) else repr(value) for key, value in found.items() if value is not None}


def _nulls(text: str) -> set[str]:
    return {key for key, _, bare in _PAIR.findall(text) if bare == "null"}


def _shown(name: str, value: float | datetime | None) -> str | float | None:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return repr(value) if value is not None and name in AS_TEXT else value

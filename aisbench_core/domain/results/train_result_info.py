"""The block train_result_info: rendering and parsing it, with keys exactly as upstream spells them."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, tzinfo

from aisbench_core.base.errors import ResultError
from aisbench_core.base.messages import Message
from aisbench_core.model import TrainResultInfo, columns

AS_TEXT = frozenset({"accuracy", "throughput_ratio"})

KEYS = frozenset(field.name for field in fields(TrainResultInfo))
TIMES = frozenset(key for key in KEYS if key.endswith("_time"))

# Keys where upstream writes 0 when nothing was measured.
UNMEASURED_AS_ZERO = frozenset(key.stored_name for key in columns.KEYS if key.key and key.key.zero_is_unmeasured)

# Upstream's placeholder where no time was measured.
UNMEASURED_TIME = "2020-01-30 14:16:00"

# Samples/s. Far beyond any machine; it keeps sums from overflowing.
MIN_THROUGHPUT, MAX_THROUGHPUT = 1e-100, 1e100

# Codes write fractions, percent or other scores; this keeps sums over servers from overflowing.
MAX_ACCURACY = 1e6

# Stricter than float(), which also accepts 1_000 and non-ASCII digits.
NUMBER = re.compile(r"[-+]?([0-9]++(\.[0-9]*+)?|\.[0-9]++)(e[-+]?[0-9]++)?|[-+]?(nan|inf|infinity)", re.IGNORECASE)

_TIME = re.compile(
    r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})[ T]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)? ?(Z|[-+]\d{2}:?\d{2})?", re.ASCII
)
_YEARS = range(1971, 2200)
_STAMP = re.compile(r'"rehearsal"[ \t]*:[ \t]*true')
_PAIR = re.compile(r'"(\w+)"[ \t]*:[ \t]*(?:"([^"\r\n]*)"|([^\s,}"]+)(?=[\s,}]))')


@dataclass(frozen=True, slots=True)
class ReadBlock:
    """A parsed block. `texts`: each key's value, normalised, to compare blocks of different notation.

    `placeholders`: keys with the value that upstream writes where nothing was measured. `info` has None for those, and
    for keys with problems."""

    info: TrainResultInfo
    texts: Mapping[str, str]
    placeholders: tuple[str, ...]
    problems: tuple[Message, ...]


def render_block(info: TrainResultInfo) -> str:
    """The block as JSON. Accuracy and throughput are numbers in strings, as upstream writes them.

    Unmeasured values are null, where upstream writes a placeholder. Times are ISO-8601 in UTC."""
    return json.dumps({name: _render_value(name, getattr(info, name)) for name in sorted(KEYS)}, indent=3)


def mark_rehearsal(block: str) -> str:
    """A rendered block, marked as a rehearsal's."""
    return json.dumps({**json.loads(block), "rehearsal": True}, indent=3)


def is_stamped(text: str) -> bool:
    """Whether a block is marked as a rehearsal's."""
    return bool(_STAMP.search(text))


def read_block(text: str, zone: tzinfo) -> ReadBlock:
    """Parse a block, as far as possible if it is damaged. `zone`: of its times."""
    texts = {key: value for key, value in _parse_pairs(text).items() if key in KEYS}
    values: dict[str, float | datetime] = {}
    placeholders, problems = [], []
    for key, value in sorted(texts.items()):
        if is_placeholder(key, value):
            placeholders.append(key)
            continue
        try:
            values[key] = read_time(value, zone) if key in TIMES else read_measure(key, value)
        except ResultError as error:
            problems.append(error.message)
    nulls = {key for key, _, bare in _PAIR.findall(text) if bare == "null"}
    missing = sorted(KEYS - columns.LATER_KEYS - texts.keys() - nulls)
    if missing:
        problems.append(Message("the block lacks {keys}", keys=", ".join(missing)))
    return ReadBlock(TrainResultInfo(**values), normalize_values(texts), tuple(placeholders), tuple(problems))  # type: ignore[arg-type]  # by name


def is_placeholder(key: str, text: str) -> bool:
    """Whether upstream writes this value for this key when nothing was measured."""
    if key in TIMES:
        return text.strip() == UNMEASURED_TIME
    text = text.strip()  # float() accepts fewer control characters around a number than strip() removes
    return key in UNMEASURED_AS_ZERO and bool(NUMBER.fullmatch(text)) and float(text) == 0


def read_measure(key: str, text: str) -> float:
    """A finite number that this key can have. Raises ResultError, naming the key, otherwise."""
    text = text.strip()
    if not NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        raise ResultError(Message("{name} holds {found}, and not a number", name=key, found=repr(text[:40])))
    value = float(text)
    if key == "throughput_ratio":
        return checked_throughput(key, value)
    if not 0 <= value <= (MAX_ACCURACY if key == "accuracy" else MAX_THROUGHPUT):
        raise ResultError(Message("{name} holds {found}; allowed: 0 or greater", name=key, found=f"{value:g}"))
    return value


def checked_throughput(name: str, value: float) -> float:
    """The value, if it can be a throughput. Raises ResultError, naming the file or key, otherwise."""
    if not MIN_THROUGHPUT <= value <= MAX_THROUGHPUT:
        holds, least, most = (f"{number:g}" for number in (value, MIN_THROUGHPUT, MAX_THROUGHPUT))
        raise ResultError(
            Message("{name} holds {found}; allowed: {least} to {most}", name=name, found=holds, least=least, most=most)
        )
    return value


def read_time(text: str, zone: tzinfo) -> datetime:
    """A time as upstream, people and ISO 8601 write it, aware, in UTC. Raises ResultError for other text."""
    match = _TIME.fullmatch(text.strip())
    no_time = ResultError(Message("{text!r} is not a time like 2022-07-13 13:24:43", text=text[:40]))
    if not match or int(match[1]) not in _YEARS:
        raise no_time
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    try:
        own_zone = datetime.strptime(match[7].replace("Z", "+00:00"), "%z").tzinfo if match[7] else zone
        return datetime(year, month, day, hour, minute, second, tzinfo=own_zone).astimezone(UTC)
    except ValueError:
        raise no_time from None


def normalize_values(texts: Mapping[str, str]) -> dict[str, str]:
    """The values with equal numbers as equal text."""
    stripped = ((key, text.strip()) for key, text in texts.items())
    return {key: repr(float(text)) if key not in TIMES and NUMBER.fullmatch(text) else text for key, text in stripped}


def _parse_pairs(text: str) -> dict[str, str]:
    """The block's values as text, without nulls; of invalid JSON every pair that the pattern matches."""
    try:
        block = json.loads(text, parse_int=str, parse_float=str, parse_constant=str, strict=False)
    except (ValueError, RecursionError):
        return {key: quoted or bare for key, quoted, bare in _PAIR.findall(text) if bare != "null"}
    if not isinstance(block, dict):
        return {}
    return {key: value if isinstance(value, str) else repr(value) for key, value in block.items() if value is not None}


def _render_value(name: str, value: float | datetime | None) -> str | float | None:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return repr(value) if value is not None and name in AS_TEXT else value

"""One line of a log as people read it: its text, and the time, level and rank that it names."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class LogLevel(StrEnum):
    """What a line says of itself; NONE for lines that say nothing."""

    NONE = "none"
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def severity(self) -> int:
        """From 0 to 4."""
        return list(LogLevel).index(self)


EARLIEST, LATEST = datetime.min, datetime.max  # noqa: DTZ901  # times of lines name no time zone


@dataclass(frozen=True, slots=True)
class Line:
    """A line, or a part of one that is too long to be shown as a whole.

    `offset`: its first byte in the file. `at`: the time as it is written, without conversion between time zones."""

    node: int
    offset: int
    text: str
    at: datetime | None
    level: LogLevel
    is_system: bool


@dataclass(frozen=True, slots=True)
class LineFilter:
    """Which lines are shown."""

    level: LogLevel = LogLevel.NONE
    system: bool = True

    def accepts(self, line: Line) -> bool:
        """Whether a line is shown."""
        return line.level.severity >= self.level.severity and (self.system or not line.is_system)


# Colours, cursor movements, titles of windows. Only complete sequences: what is cut off stays visible.
ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-Za-z]|[=>78DEHMNOZc])")

# Control characters become visible ones. Those that change the direction of text could show another order of words.
_VISIBLE = (
    {code: chr(0x2400 + code) for code in range(0x20) if code != 0x09}
    | {0x7F: "\u2421"}
    | dict.fromkeys((*range(0x80, 0xA0), 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)), "\ufffd")
)

# The head of a line, where its time and level stand.
HEAD_LETTERS = 400
_TIME_LETTERS = 100

_TIME = re.compile(
    r"(?<!\d)(\d{4})[-/](\d\d)[-/](\d\d)[-T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6})(?:\.(\d{3}))?)?",
    re.ASCII,
)

# The first of these in a line decides, so that INFO lines may speak of errors. RE2 reads the same patterns.
ERROR_PATTERN = (
    r"\b(?:ERROR|CRITICAL|FATAL)\b|^[EF]\d{4} \d\d:\d\d:|\blevel=(?:error|fatal|panic)\b"
    r"|^(?:\S{1,200}: )?(?:fatal )?error: |Traceback \(most recent call last\)"
    r"|\b[A-Z][A-Za-z]{0,60}(?:Error|Exception)\b(?::|$)|^E[A-Z1-9]\d{4}: "
    r"|Segmentation fault|\(core dumped\)|^\[ModelArts Service Log\]\[end\] exit code [1-9]"
)
_LEVEL = re.compile(
    rf"(?P<error>{ERROR_PATTERN})"
    r"|(?P<warning>\bWARN(?:ING)?\b|^W\d{4} \d\d:\d\d:|\blevel=warn|\b[A-Z][A-Za-z]{0,60}Warning\b:)"
    r"|(?P<info>\b(?:INFO|NOTICE|EVENT)\b|^I\d{4} \d\d:\d\d:|\blevel=info\b)"
    r"|(?P<debug>\b(?:DEBUG|TRACE)\b|\blevel=(?:debug|trace)\b)",
    re.ASCII,
)

# The two marks by which the training guide (4.4.2) tells lines of the platform.
_SYSTEM = re.compile(r"^\[ModelArts Service Log\]|Platform=ModelArts-Service")

# torchrun, PyTorch, Open MPI, and what training scripts write themselves.
_RANK = re.compile(
    # Who failed, not whom it missed: "lost rank 3" is written by another rank.
    r"(?<!lost )(?<!peer )(?<!remote )(?<!from )(?<!to )(?<!with )(?<!for )"
    r"(?:\[(?:rank|default|Rank )(\d{1,6})\]|\b[Rr]ank(?:_id|ID)?[ =:]{1,2}(\d{1,6})\b)|^\[\d{1,6},(\d{1,6})\]<std",
    re.ASCII,
)
_INDENTED = re.compile(r"(?:\[(?:rank|default|Rank )\d{1,6}\]:?)?[ \t]{2}", re.ASCII)


def is_system(text: str) -> bool:
    """Whether the platform wrote this line."""
    return bool(_SYSTEM.search(text[:HEAD_LETTERS]))


def is_continuation(line: Line) -> bool:
    """Whether a line belongs to the one before it, such as the frames of a traceback."""
    return line.at is None and line.level is LogLevel.NONE and bool(_INDENTED.match(line.text))


def rank_of(text: str) -> int | None:
    """The rank that a line names."""
    found = _RANK.search(text[:HEAD_LETTERS])
    return int(next(filter(None, found.groups()))) if found else None


def text_of(raw: bytes) -> str:
    """The text of a line's bytes: UTF-8 or GBK, without its end and colours, control characters made visible."""
    raw = raw.rstrip(b"\r\n")
    if b"\x1b" in raw:
        raw = ANSI.sub(b"", raw)
    text = decode_line(raw)
    return text if text.isascii() and text.isprintable() else text.translate(_VISIBLE)


def decode_line(raw: bytes) -> str:
    """UTF-8, or else GBK, which Chinese tools still write, or else UTF-8 with replacement characters."""
    for encoding in ("utf-8", "gb18030"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("utf-8", "replace")


def line_of(node: int, offset: int, raw: bytes) -> Line:
    """A line with what its head says."""
    text = text_of(raw)
    head = text[:HEAD_LETTERS]
    return Line(node, offset, text, time_in(head), level_in(head), is_system(head))


def level_in(head: str) -> LogLevel:
    """The level that the first mark in a line's head tells."""
    found = _LEVEL.search(head)
    return LogLevel(found.lastgroup or "none") if found else LogLevel.NONE


def time_in(head: str) -> datetime | None:
    """The time that a line begins with; None without one, or if it is no time, such as the 31st of June."""
    found = _TIME.search(head[:_TIME_LETTERS])
    if not found:
        return None
    *numbers, fraction, micros = found.groups()
    year, month, day, hour, minute, second = map(int, numbers)
    microsecond = int(f"{fraction or ''}{micros or ''}".ljust(6, "0")[:6])
    try:
        return datetime(year, month, day, hour, minute, second, microsecond)  # noqa: DTZ001  # as it is written
    except ValueError:
        return None

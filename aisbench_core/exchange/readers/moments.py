"""Times as people write them in tables; one that can be read in two ways is none."""

import re
import unicodedata
from datetime import UTC, datetime, timedelta, tzinfo

from aisbench_core.base.errors import ResultError
from aisbench_core.base.messages import Message
from aisbench_core.domain.results.train_result_info import read_time

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?"
_ZONE = r"(?: ?(?P<zone>z|utc|gmt|(?:utc|gmt)?[-+]\d{1,2}(?::?\d{2})?))?"
_CLOCK = (
    r"(?:[ t_,-]*(?P<half>上午|下午|晚上)? ?(?P<hour>\d{1,2})[:时点h](?P<minute>\d{2})"
    r"(?:[:分]?(?P<second>\d{2})?(?:\.\d+)?秒?)?分?"
    rf" ?(?P<ampm>[ap]\.?m\.?)?{_ZONE})?"
)
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? |(?:星期|周)[一二三四五六日天] ?)?"


def _compile_day(day: str) -> re.Pattern[str]:
    return re.compile(
        _WEEKDAY + day + r"(?: ?(?:\((?:[a-z]+|[星期周][一-鿿]+)\)|(?:星期|周)[一-鿿]))?" + _CLOCK, re.ASCII
    )


# The parts of a day by name; a number that may be the day or the month is in `first` and `other`.
_DAYS = (
    _compile_day(r"(?P<year>\d{4})([-/._])(?P<month>\d{1,2})\2(?P<day>\d{1,2})"),
    _compile_day(r"(?P<year>\d{4}) ?年 ?(?P<month>\d{1,2}) ?月 ?(?P<day>\d{1,2}) ?[日号]"),
    _compile_day(rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[- ./]*(?P<name>{_MONTH})[- ,./]*(?P<year>\d{{4}}|'?\d{{2}})"),
    _compile_day(rf"(?P<name>{_MONTH}) ?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})"),
    _compile_day(r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})"),
    _compile_day(r"(?P<first>\d{1,2})[/-](?P<other>\d{1,2})[/-](?P<year>\d{4})"),
    re.compile(
        r"(?P<year>20\d{2})(?P<month>\d{2})(?P<day>\d{2})(?:[t_ -]?(?P<hour>\d{2})(?P<minute>\d{2})(?P<second>\d{2})?)?"
    ),
)  # fmt: skip

_NUMBER = re.compile(r"\d{5}(?:\.\d+)?|\d{10}(?:\.\d+)?|\d{13}", re.ASCII)
_HOUR = re.compile(r"20\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])", re.ASCII)
_SPAN = re.compile(r" \d{1,2}:\d{2} ?[-~–] ?\d{1,2}:\d{2}$", re.ASCII)
_SERIALS = range(36_526, 73_051)  # days of 2000 to 2099 in Excel
_EXCEL_ZERO = datetime(1899, 12, 30)  # noqa: DTZ001  # a zone is added
_UNIX = range(946_684_800, 4_102_444_800)  # seconds of 2000 to 2099


def read_moment(text: str, zone: tzinfo, *, may_be_number: bool = True) -> datetime:
    """The time, aware, in UTC; a day without a time is its beginning. Raises ResultError, with the reason, otherwise.

    `may_be_number`: whether a number is a day of Excel or a Unix time, and not a duration."""
    if _SPAN.search(text[:80].rstrip()):  # 10:00-12:00 may be two times, or one in a zone
        raise _refuse_time(text)
    try:
        return read_time(text, zone)
    except ResultError:
        plain = " ".join(unicodedata.normalize("NFKC", text[:80]).casefold().split())
    if _HOUR.fullmatch(plain):
        raise ResultError(
            Message("{text!r} can be an hour or a Unix time: write it as 2026-11-03 14:05", text=text[:40])
        )
    if _NUMBER.fullmatch(plain) and may_be_number:
        return _read_number(float(plain), text, zone)
    for pattern in _DAYS:
        if found := pattern.fullmatch(plain):
            return _build_moment(found.groupdict(), text, zone)
    raise _refuse_time(text)


def _read_number(number: float, text: str, zone: tzinfo) -> datetime:
    seconds = number / 1000 if number >= 1e12 else number
    if int(seconds) in _UNIX:
        return datetime.fromtimestamp(seconds, UTC)
    if int(number) not in _SERIALS:
        raise _refuse_time(text)
    day = _EXCEL_ZERO + timedelta(seconds=round(number * 86_400))
    return day.replace(tzinfo=zone).astimezone(UTC)


def _build_moment(parts: dict[str, str | None], text: str, zone: tzinfo) -> datetime:
    year = int((parts["year"] or "").strip("'"))
    if year < 15:  # 26-Nov-03 may be of 2026
        raise _refuse_time(text)
    month, day = _find_day(parts, text)
    hour, minute, second = (int(parts.get(name) or 0) for name in ("hour", "minute", "second"))
    half, ampm = parts.get("half"), parts.get("ampm") or ""
    is_late = ampm.startswith("p") or half in ("下午", "晚上")
    if is_late or ampm or half:
        if (hour == 0 if is_late else hour > 12) or (hour == 12 and half in ("上午", "晚上")):
            raise _refuse_time(text)
        hour = hour if hour > 12 else hour % 12 + 12 * is_late
    try:
        moment = datetime(year + 2000 * (year < 100), month, day, hour, minute, second, tzinfo=zone)
        own = _read_zone(parts.get("zone") or "")
        return (moment if own is None else moment.replace(tzinfo=own)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _refuse_time(text) from None


def _find_day(parts: dict[str, str | None], text: str) -> tuple[int, int]:
    """Month and day. Raises ResultError if 3/4/2026 may be in March or in April."""
    if parts.get("name"):
        return _MONTHS.index((parts["name"] or "")[:3]) + 1, int(parts["day"] or 0)
    if parts.get("first") is None:
        return int(parts["month"] or 0), int(parts["day"] or 0)
    first, other = int(parts["first"] or 0), int(parts["other"] or 0)
    if first > 12 or first == other:
        return other, first
    if other > 12:
        return first, other
    raise ResultError(Message("{text!r} can be in two months: write it as 2026-11-03", text=text[:40]))


def _read_zone(text: str) -> tzinfo | None:
    if not text:
        return None
    sign = re.fullmatch(r"(?:utc|gmt)?([-+])(\d{1,2}):?(\d{2})?", text, re.ASCII)
    if not sign:
        return UTC
    return datetime.strptime(f"{sign[1]}{int(sign[2]):02}{sign[3] or '00'}", "%z").tzinfo


def _refuse_time(text: str) -> ResultError:
    return ResultError(Message("{text!r} is no time with day, month and year, as 2026-11-03 14:05", text=text[:40]))

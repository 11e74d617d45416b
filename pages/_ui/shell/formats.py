"""Formats that only pages use: times in the browser's time zone, numbers for tables, means with their spread."""

import math
from collections.abc import Callable
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from aisbench_core.base.formats import (
    DIGITS,
    MISSING,
    PERCENT_DIGITS,
    clip_text,
    format_change,
    format_number,
    format_percent,
)
from aisbench_core.domain.statistics.difference import MeanDifference
from aisbench_core.domain.statistics.summary import Summary
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.words import t

# The text of an age, the length of its unit in seconds, and how many of them there may be; then there is a date.
AGES = (("run_rows.minutes_ago", 60, 60), ("run_rows.hours_ago", 3600, 48), ("run_rows.days_ago", 86_400, 31))


def whole_name(text: str, most: int = 40) -> str | None:
    """The tooltip of a name that `clip_text` shortens: all of it; None where nothing is cut."""
    return None if clip_text(text, most) == text else escape_markdown(text)


def round_digits(value: float | None, digits: int = DIGITS) -> float | None:
    """A number for a table, to `digits` significant digits; the whole part is never rounded."""
    if value is None or not math.isfinite(value):
        return None
    whole = len(str(int(abs(value))))
    return round(value, max(0, digits - whole) if abs(value) >= 1 else digits)


def to_percent(share: float | None) -> float | None:
    """A share in percent, for a table's column whose title says so."""
    return None if share is None else round_digits(share * 100, PERCENT_DIGITS)


def format_time(at: datetime | None, pattern: str = "%Y-%m-%d %H:%M:%S") -> str:
    """A time in the browser's time zone."""
    return MISSING if at is None else to_local_time(at, st.context.timezone).strftime(pattern)


def format_age(at: datetime, now: datetime) -> str:
    """How long ago something was; from a month on, its day."""
    seconds = (now - at).total_seconds()
    if seconds < 60:
        return t("run_rows.now")
    for key, length, most in AGES:
        count = int(seconds // length)
        if count < most:
            return t(key, count=count)
    return format_time(at, "%Y-%m-%d")


def to_local_time(at: datetime, zone: str | None) -> datetime:
    """The same moment in another time zone; in UTC where the zone is unknown."""
    try:
        return at.astimezone(ZoneInfo(zone or "UTC"))
    except (ZoneInfoNotFoundError, ValueError):
        return at.astimezone(ZoneInfo("UTC"))


def summary_text(summary: Summary | None, text: Callable[[float | None], str] = format_number) -> str:
    """8,000 (n = 20, CV 0.4 %): the mean as `text` writes it."""
    if summary is None:
        return MISSING
    cv = "" if summary.cv is None else f", CV {format_percent(summary.cv)}"
    return f"{text(summary.mean)} (n = {summary.count}{cv})"


def format_interval(difference: MeanDifference | None) -> str:
    """The 95 % interval of a change."""
    return f"{format_change(difference.ci_low)} … {format_change(difference.ci_high)}" if difference else MISSING

"""What only pages write: times on the clock of the person's browser, and numbers for the cells of tables."""

import math
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from aisbench_core.formats import DIGITS, MISSING, PERCENT_DIGITS


def rounded(value: float | None, digits: int = DIGITS) -> float | None:
    """A number of a table with `digits` significant digits, and its whole part as it is."""
    if value is None or not math.isfinite(value):
        return None
    whole = len(str(int(abs(value))))
    return round(value, max(0, digits - whole) if abs(value) >= 1 else digits)


def hundredfold(share: float | None) -> float | None:
    """A share as the percents of a table whose column says that it holds percents."""
    return None if share is None else rounded(share * 100, PERCENT_DIGITS)


def when(at: datetime | None, pattern: str = "%Y-%m-%d %H:%M:%S") -> str:
    """A time on the clock of the person's browser."""
    return MISSING if at is None else local(at, st.context.timezone).strftime(pattern)


def local(at: datetime, zone: str | None) -> datetime:
    """The same moment on another clock; UTC when the zone is not known."""
    try:
        return at.astimezone(ZoneInfo(zone or "UTC"))
    except (ZoneInfoNotFoundError, ValueError):
        return at.astimezone(ZoneInfo("UTC"))

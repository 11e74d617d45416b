"""Values as a person reads them: numbers with units, local times, and a dash for what was not measured."""

import math
import re
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from aisbench_core.numerals import DIGITS, PERCENT_DIGITS, decimal, percentage

NOT_MEASURED = "–"
SHA256 = re.compile(r"[0-9a-f]{64}")


def number(value: float | None, unit: str = "", digits: int = DIGITS) -> str:
    """A number with `digits` significant digits and thousands separators: 1,234 samples/s; 0 stays 0."""
    return NOT_MEASURED if value is None else f"{decimal(value, digits)} {unit}".strip()


def more_or_less(difference: float) -> str:
    """A difference with its sign: +1,234 or -3.4."""
    return f"{'-' if difference < 0 else '+'}{number(abs(difference))}" if difference else "±0"


def rounded(value: float | None, digits: int = DIGITS) -> float | None:
    """A number of a table with `digits` significant digits, and its whole part as it is."""
    if value is None or not math.isfinite(value):
        return None
    whole = len(str(int(abs(value))))
    return round(value, max(0, digits - whole) if abs(value) >= 1 else digits)


def hundredfold(share: float | None) -> float | None:
    """A share as the percents of a table whose column says that it holds percents."""
    return None if share is None else rounded(share * 100, PERCENT_DIGITS)


def clipped(text: str, most: int = 40) -> str:
    """A name of `most` letters or less; what is longer ends with an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"


def percent(share: float | None) -> str:
    """0.905 as 90.5 %."""
    return NOT_MEASURED if share is None else percentage(share)


def signed(change: float | None, digits: int = 2) -> str:
    """A relative change: +1.20 % or -3.40 %."""
    return NOT_MEASURED if change is None else f"{change * 100:+.{digits}f} %"


def chance(p_value: float | None) -> str:
    """A p-value with three digits, so that 0.0104 is not taken for 0.01; below a millionth it says only that."""
    if p_value is None:
        return NOT_MEASURED
    return "< 0.000001" if p_value < 1e-6 else f"{p_value:.3g}"


def short(name: str) -> str:
    """A version's name; of a SHA-256 its first 12 digits."""
    return name[:12] if SHA256.fullmatch(name) else name


def duration(seconds: float | None) -> str:
    """12 s, 3 min 20 s, 2 h 5 min."""
    if seconds is None:
        return NOT_MEASURED
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def size_of(nodes: int | None, cards: int | None) -> str:
    """2 × 8: nodes and cards on each; a dash for what an imported result does not tell."""
    return f"{nodes or NOT_MEASURED} × {cards or NOT_MEASURED}"


def size(count: int | None) -> str:
    """Bytes as B, KiB, MiB or GiB."""
    if count is None:
        return NOT_MEASURED
    amount = float(count)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def money(amount: float | None, currency: str) -> str:
    """1,234.50 CNY."""
    return NOT_MEASURED if amount is None else f"{amount:,.2f} {currency}"


def when(at: datetime | None, pattern: str = "%Y-%m-%d %H:%M:%S") -> str:
    """A time on the clock of the person's browser."""
    return NOT_MEASURED if at is None else local(at, st.context.timezone).strftime(pattern)


def local(at: datetime, zone: str | None) -> datetime:
    """The same moment on another clock; UTC when the zone is not known."""
    try:
        return at.astimezone(ZoneInfo(zone or "UTC"))
    except (ZoneInfoNotFoundError, ValueError):
        return at.astimezone(ZoneInfo("UTC"))

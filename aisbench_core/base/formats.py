"""Formats values for people: the same on pages, in the command line and in reports."""

import math
import re
from collections.abc import Mapping
from datetime import datetime

# Stands for what was not measured, or is not known.
MISSING = "–"

MINUS = "\N{MINUS SIGN}"  # as wide as a plus, and no line breaks after it

# Significant digits of a measured number, and of a share in percent.
DIGITS, PERCENT_DIGITS = 5, 4

SHA256 = re.compile(r"(?:sha256:)?[0-9a-f]{64}")

# Precedes a text that a spreadsheet would execute: one that begins with = + - @, their full-width forms, TAB, CR or LF;
# and one that begins with guards and such a character, so that removing one guard always restores the text.
GUARD = "'"
FULL_WIDTH = "\uff0b\uff0d\uff1d\uff20"
GUARDED = rf"^('*[=+\-@\t\r\n{FULL_WIDTH}])"


def guard_cell(text: str) -> str:
    """A text as a cell of CSV that no spreadsheet executes."""
    return f"{GUARD}{text}" if re.match(GUARDED, text) else text


def format_decimal(value: float, digits: int = DIGITS) -> str:
    """A number with this many significant digits, its whole integer part and no trailing zeros: 1,234.5 or 30,123.

    Very small and very large numbers have an exponent, so that none becomes 0 or a line of digits."""
    if not value:
        return "0"
    if not 1e-3 <= abs(value) < 1e15:
        return _sign_number(f"{value:.{digits}g}")
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    text = _sign_number(f"{value:,.{max(0, digits - whole)}f}")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _sign_number(text: str) -> str:
    """A number with a true minus sign; the one of an exponent stays."""
    return f"{MINUS}{text[1:]}" if text.startswith("-") else text


def format_number(value: float | None, unit: str = "", digits: int = DIGITS) -> str:
    """A number with its unit: 1,234.5 samples/s."""
    return MISSING if value is None else f"{format_decimal(value, digits)} {unit}".strip()


def format_percent(share: float | None) -> str:
    """A share of 1 in percent: 93.75 %."""
    return MISSING if share is None else f"{format_decimal(100 * share, PERCENT_DIGITS)} %"


def format_change(change: float | None, digits: int = 2) -> str:
    """A relative change: +1.20 % or −3.40 %; what rounds to zero is +0.00 %, never −0.00 %."""
    return MISSING if change is None else f"{format_points(change, digits)} %"


def format_points(change: float, digits: int = 2) -> str:
    """A difference of two shares of 1, in percentage points: +1.20 or −3.40."""
    return _sign_number(f"{round(change * 100, digits) + 0.0:+.{digits}f}")


def change_digits(change: float) -> int:
    """How many decimals a relative change needs in percent: one, or more for a small one, which is not 0.0 %."""
    share = abs(100 * change)
    return 1 if share >= 0.05 or not share else min(4, 1 - math.floor(math.log10(share)))


def p_value(value: float | None) -> str:
    """A p-value with three digits, so that 0.0104 does not become 0.01; `< 0.000001` below a millionth."""
    if value is None:
        return MISSING
    return "< 0.000001" if value < 1e-6 else f"{value:.3g}"


def format_hours(hours: float) -> str:
    """Node hours with three digits: 12.3; `< 0.01` for a moment, which would be a line of zeros."""
    return "< 0.01" if 0 < hours < 0.01 else format_number(hours, digits=3)


def format_duration(seconds: float | None) -> str:
    """12.3 s, 3 min 20 s, 2 h 5 min, 2 h."""
    if seconds is None:
        return MISSING
    if seconds < 59.95:
        return f"{format_decimal(round(seconds, 3), 3)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def format_estimate(seconds: float) -> str:
    """A duration that is not known to the second: 12 min, 2 h 5 min; seconds of the last minute only."""
    return format_duration(max(1, round(seconds)) if seconds < 59.5 else 60 * round(seconds / 60))


def format_size(count: int | None) -> str:
    """Bytes in binary units: 999 B, 1.5 KiB, 200 MiB."""
    if count is None:
        return MISSING
    amount, units = float(count), iter(("B", "KiB", "MiB", "GiB"))
    for unit in units:
        if round(amount, 1) < 1024:
            return f"{format_decimal(round(amount, 1))} {unit}"
        amount /= 1024
    return f"{format_decimal(round(amount, 1))} TiB"


def format_money(amount: float | None, currency: str) -> str:
    """1,234.50 CNY."""
    return MISSING if amount is None else f"{_sign_number(f'{amount:,.2f}')} {currency}"


def amounts_text(amounts: Mapping[str, float]) -> str:
    """Money by currency, never added up: 1,234.50 CNY + 3.00 USD."""
    return " + ".join(format_money(amount, currency) for currency, amount in amounts.items())


def nodes_and_cards(nodes: int | None, cards: int | None) -> str:
    """2 × 8: nodes and cards on each; a dash for what an imported result does not state."""
    return f"{nodes or MISSING} × {cards or MISSING}"


def shorten_hash(name: str) -> str:
    """A version's name; of a SHA-256, also one behind `sha256:`, the first 12 digits."""
    return name[:-52] if SHA256.fullmatch(name) else name


def clip_text(text: str, most: int = 40) -> str:
    """A text of `most` letters or less; what is longer ends with an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"


def csv_cell(value: object) -> str:
    """One value that no column describes, as in an answer to SQL."""
    if value is None:
        return ""
    if isinstance(value, str):
        return guard_cell(value)
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value.isoformat()}Z" if isinstance(value, datetime) else str(value)

"""Numbers as people read them: the same on pages, in the command line and in printed reports."""

DIGITS, PERCENT_DIGITS = 5, 4
"""Significant digits of a measured number, and of a share in percent."""


def decimal(value: float, digits: int = DIGITS) -> str:
    """A number with so many significant digits, all of its whole part and no zeros at its end: 1,234.5 or 30,123.

    What is very small is no 0, and what is very large no line of digits: these have an exponent."""
    if not value:
        return "0"
    if not 1e-3 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    text = f"{value:,.{max(0, digits - whole)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percentage(share: float) -> str:
    """A share of 1 in percent: 93.75 %."""
    return f"{decimal(100 * share, PERCENT_DIGITS)} %"

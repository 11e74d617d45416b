"""Tables of the report, and how its values are written."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from aisbench_core.formats import DIGITS, MISSING, number, percent
from aisbench_core.report.markup import Markup, element, joined


def table(heads: Sequence[object], rows: Iterable[Sequence[Markup]]) -> Markup:
    """A table whose header is printed again on each page; the cells are made by `cell` and its like."""
    head = element("thead", element("tr", *(element("th", head, scope="col") for head in heads)))
    return element("table", head, element("tbody", *(element("tr", *row) for row in rows)))


def listing(pairs: Iterable[tuple[object, object]]) -> Markup:
    """Names and values, one pair a line."""
    rows = (
        element("tr", element("th", name, scope="row"), value if _is_cell(value) else cell(value))
        for name, value in pairs
    )
    return element("table", element("tbody", *rows))


def cell(value: object, kind: str | None = None) -> Markup:
    """One cell; `kind` is its class."""
    return element("td", MISSING if value is None or value == "" else value, class_=kind)


def clipped(text: str, most: int = 80) -> str:
    """A text for a narrow column; the section about configuration has names whole."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def numeral(value: float | None, digits: int = DIGITS, unit: str = "") -> Markup:
    """A number to so many significant digits, with all of its whole part; – when it was not measured."""
    return cell(None if value is None else f"{number(value, digits=digits)}{unit}", "number")


def share(value: float | None) -> Markup:
    """A share of 1, in percent."""
    return cell(percent(value), "number")


def moment(at: datetime | None) -> str | None:
    """A time in UTC, as the warehouse keeps it."""
    return None if at is None else f"{at:%Y-%m-%d %H:%M:%S}"


def with_unit(word: Markup, unit: str) -> Markup:
    """A head with its unit."""
    return joined(word, " ", element("span", f"({unit})", class_="unit")) if unit else word


def _is_cell(value: object) -> bool:
    return isinstance(value, Markup) and value.startswith("<td")

"""Numbers and sizes as people write them in cells: 14,151.18 and 14.151,18, 8p, 1 机 8 卡, 2x8."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from aisbench_core.base.errors import ResultError
from aisbench_core.base.messages import Message

MOST_NODES, MOST_CARDS = 4096, 64  # cards of a node
MOST_TOTAL = MOST_NODES * MOST_CARDS


class DecimalMark(StrEnum):
    """What separates a table's decimals; EITHER: its numbers do not tell."""

    POINT = "."
    COMMA = ","
    EITHER = ""


_NUMERIC = re.compile(r"[-+]?(?=[.,' \u2019]*\d)[\d.,' \u2019]+(?:e[-+]?\d+)?", re.I | re.ASCII)
_COMMA_DECIMALS = re.compile(
    r"[-+]?(?:\d+,(?:\d{1,2}|\d{4,})|0,\d+|\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,})", re.ASCII
)
_POINT_DECIMALS = re.compile(
    r"[-+]?(?:\d+\.(?:\d{1,2}|\d{4,})|0?\.\d+|\d{4,}\.\d+|\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,})", re.ASCII
)  # fmt: skip
_EITHER = re.compile(r"[-+]?[1-9]\d{0,2}[.,]\d{3}", re.ASCII)
_GROUPED_BY_SPACE = re.compile(r"[-+]?\d{1,3}(?:[ '\u2019]\d{3})+(?:[.,]\d+)?", re.ASCII)


def find_decimal_mark(texts: Iterable[str], *, has_semicolons: bool) -> DecimalMark:
    """What separates the decimals of these cells. Files with semicolons are those of countries with commas."""
    plain = [text.rstrip("% ") for text in texts]
    has_commas = any(_COMMA_DECIMALS.fullmatch(text) for text in plain)
    has_points = any(_POINT_DECIMALS.fullmatch(text) for text in plain)
    if has_commas == has_points:
        return DecimalMark.EITHER if has_commas or has_semicolons else DecimalMark.POINT
    return DecimalMark.COMMA if has_commas else DecimalMark.POINT


def clean_number(text: str, mark: DecimalMark) -> str:
    """A number without separators of thousands, with a decimal point; any other text as it is.

    Raises ResultError for one that is a thousand times larger in another country."""
    plain = unicodedata.normalize("NFKC", text).strip() if not text.isascii() else text
    if plain.isdecimal() or not _NUMERIC.fullmatch(plain):
        return plain
    if _GROUPED_BY_SPACE.fullmatch(plain):
        plain = re.sub("[ '\u2019]", "", plain)
    if _EITHER.fullmatch(plain):
        if mark is DecimalMark.EITHER:
            raise ResultError(Message("{text!r} can be read with and without decimals", text=text[:40]))
        groups = "," if mark is DecimalMark.POINT else "."
        return plain.replace(groups, "") if groups in plain else plain.replace(",", ".")
    if _COMMA_DECIMALS.fullmatch(plain):
        return plain.replace(".", "").replace(",", ".")
    return plain.replace(",", "") if _POINT_DECIMALS.fullmatch(plain) else plain


# --- nodes and cards ----------------------------------------------------------------------------------

_NODE = r"(?:机|台|节点|nodes?|servers?|hosts?|n)"
_CARD = r"(?:卡|张|颗|cards?|npus?|gpus?|devices?|chips?|p)"
_EACH = r"(?: ?(?:/|per|每) ?(?:机|台|节点|node|server))?"
_COUNT = re.compile(
    rf"(?P<number>\d{{1,6}})(?:\.0+)?个?(?P<node>{_NODE})?(?P<card>{_CARD})?(?P<each>{_EACH})", re.ASCII
)
_TIMES = re.compile(rf"(?P<nodes>\d{{1,5}}){_NODE}?[x×*](?P<cards>\d{{1,5}}){_CARD}?{_EACH}", re.ASCII)
_BOTH = re.compile(
    rf"(?P<nodes>\d{{1,5}}|单){_NODE}[,/]?(?P<each>每[机台]|每节点)?(?P<all>共)?(?P<cards>\d{{1,5}}|单){_CARD}",
    re.ASCII,
)
_PRODUCT = re.compile(r"(?P<total>\d{1,6})[^\d(=]{0,5}[(=](?P<product>[^()]+)\)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class JobSize:
    """What a cell says about the size of a run; None: nothing."""

    nodes: int | None = None
    cards_per_node: int | None = None
    cards: int | None = None


class Counted(StrEnum):
    """What a column counts: a plain number in it is that. NOTHING: numbers with words only."""

    NODES = "nodes"
    CARDS_PER_NODE = "cards_per_node"
    CARDS = "cards"
    NOTHING = ""


@lru_cache(1024)  # sizes repeat from row to row
def read_size(text: str, counted: Counted) -> JobSize:
    """Nodes and cards in a cell. Raises ResultError, with the reason, if it is unclear."""
    plain = re.sub(r"\s+", "", unicodedata.normalize("NFKC", text[:80]).casefold())
    plain = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", plain)
    if product := _PRODUCT.fullmatch(plain):
        size = _read_plain_size(product["product"], text, Counted.NOTHING)
        if (size.nodes or 0) * (size.cards_per_node or 0) == int(product["total"]):
            return size
        raise _refuse_size(text)
    return _read_plain_size(plain, text, counted)


def _read_plain_size(plain: str, text: str, counted: Counted) -> JobSize:
    if found := _TIMES.fullmatch(plain):
        return _check_size(JobSize(int(found["nodes"]), int(found["cards"])), text)
    if found := _BOTH.fullmatch(plain):
        nodes, cards = (1 if found[name] == "单" else int(found[name]) for name in ("nodes", "cards"))
        if found["all"]:
            return _check_size(JobSize(nodes, cards=cards), text)
        if nodes > 1 and not found["each"]:
            message = Message("{text!r} does not tell whether the cards are of each node or of all", text=text[:40])
            raise ResultError(message)
        return _check_size(JobSize(nodes, cards), text)
    if plain in ("单机", "单卡"):
        return JobSize(nodes=1) if plain == "单机" else JobSize(1, 1)
    if not (found := _COUNT.fullmatch(plain)) or (found["node"] and found["card"]):
        raise _refuse_size(text)
    named = Counted.NODES if found["node"] else Counted.CARDS if found["card"] else counted
    counted = counted or named
    if counted is Counted.NOTHING or (named is Counted.NODES) != (counted is Counted.NODES):
        raise _refuse_size(text)
    if found["each"]:
        counted = Counted.CARDS_PER_NODE
    return _check_size(JobSize(**{_FIELDS[counted]: int(found["number"])}), text)


_FIELDS = {Counted.NODES: "nodes", Counted.CARDS_PER_NODE: "cards_per_node", Counted.CARDS: "cards"}


def _check_size(size: JobSize, text: str) -> JobSize:
    most = {"nodes": MOST_NODES, "cards_per_node": MOST_CARDS, "cards": MOST_TOTAL}
    counts = {name: getattr(size, name) for name in most}
    if any(count is not None and not 1 <= count <= most[name] for name, count in counts.items()):
        raise _refuse_size(text)
    return size


def _refuse_size(text: str) -> ResultError:
    return ResultError(Message("{text!r} is no number of nodes or cards", text=text[:40]))


def combine_sizes(sizes: Iterable[JobSize]) -> JobSize:
    """What several columns say together, with what follows from it. Raises ResultError if they contradict."""
    found: dict[str, int] = {}
    for size in sizes:
        for name in _FIELDS.values():
            value = getattr(size, name)
            if value is not None and found.setdefault(name, value) != value:
                raise _refuse_sizes(found[name], value)
    nodes, cards, total = (found.get(name) for name in ("nodes", "cards_per_node", "cards"))
    if total and nodes and not cards and total % nodes == 0:
        cards = total // nodes
    if total and cards and not nodes and total % cards == 0:
        nodes = total // cards
    if nodes and cards:
        if total and nodes * cards != total:
            raise _refuse_sizes(f"{nodes} × {cards}", total)
        total = nodes * cards
    return JobSize(nodes, cards, total)


def _refuse_sizes(one: object, other: object) -> ResultError:
    return ResultError(
        Message("the columns of nodes and cards contradict each other: {one} and {other}", one=one, other=other)
    )

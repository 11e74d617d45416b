"""How the command line writes answers: aligned tables, and JSON."""

import json
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aisbench_core.formats import MISSING, nodes_and_cards

if TYPE_CHECKING:  # pydantic takes a quarter of a second, and `--help` has no use for it
    from aisbench_core.model import Finding, Run
    from aisbench_core.warehouse.answers.boards import Hardware

MOST_LETTERS = 240


def answer(value: object, as_json: bool, text: Callable[[], str]) -> None:
    """Print the answer: as JSON, or as text for a person."""
    click.echo(to_json(value) if as_json else visible(text()))


def talk(text: str) -> None:
    """Say something that is not the answer."""
    click.echo(visible(text), err=True)


def to_json(value: object) -> str:
    """JSON of anything of ours; times are ISO 8601 in UTC, what was not measured is null."""
    return json.dumps(value, default=_plain, ensure_ascii=False, indent=2)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Aligned columns; those whose head begins with `>` are aligned to the right.

    All rows are as wide as the widest, so only the last column may be longer than MOST_LETTERS."""
    cells = [[head.removeprefix(">") for head in heads], *(_cells(row) for row in rows)]
    widths = [max(_width(row[column]) for row in cells) for column in range(len(heads))]
    right = [head.startswith(">") for head in heads]
    return "\n".join(
        "  ".join(_pad(cell, width, end) for cell, width, end in zip(row, widths, right, strict=True)).rstrip()
        for row in cells
    )


def clipped(text: str, most: int = 40) -> str:
    """A name on one line; what is longer than `most` letters ends with an ellipsis. JSON has it whole."""
    text = _line(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def listing(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values, one pair a line; pairs without a value are left out."""
    known = [(name, value) for name, value in pairs if value]
    width = max((_width(name) for name, _ in known), default=0)
    return "\n".join(f"{_pad(name, width, False)}  {value}" for name, value in known)


def indented(text: str) -> str:
    """The same lines, two blanks further right."""
    return textwrap.indent(text, "  ")


def moment(at: datetime | None) -> str:
    """A time in the reader's own zone; `–` if there is none."""
    return MISSING if at is None else f"{at.astimezone():%Y-%m-%d %H:%M:%S}"


def hardware(flavor: str, nodes: int | None, cards: int | None) -> str:
    """Where a run runs: flavor, and nodes x cards."""
    return f"{clipped(flavor) or MISSING} · {nodes_and_cards(nodes, cards)}"


def where(row: "Hardware") -> str:
    """The hardware of a row, a run or a curve in a few letters."""
    from aisbench_core.warehouse.answers.boards import hardware

    return clipped(hardware(row)) or MISSING


def state(run: "Run") -> str:
    """Where a run stands, and whether it waits to try again."""
    return f"{run.state} (retrying)" if run.is_retrying else str(run.state)


def finding(found: "Finding") -> str:
    """One finding on one line."""
    hint = f" ({found.hint})" if found.hint else ""
    source = f", {found.source}" if found.source else ""
    return f"{found.level}: {found.field}: {found.message}{hint} [{found.rule}{source}]"


def _plain(value: object) -> Any:
    from pydantic import BaseModel

    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _cells(row: Sequence[str]) -> list[str]:
    return [*(clipped(cell, MOST_LETTERS) for cell in row[:-1]), *map(_line, row[-1:])]


def _line(text: str) -> str:
    return visible(" ".join(text.split()))


def visible(text: str) -> str:
    """Without what would command the terminal: names come from files of anybody's."""
    return "".join(letter if _is_text(letter) else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _is_text(letter: str) -> bool:
    """Blanks of every width are, and what joins emoji."""
    return letter.isprintable() or letter in "\n\t\u200c\u200d" or unicodedata.category(letter) == "Zs"


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _pad(text: str, width: int, right: bool) -> str:
    blanks = " " * (width - _width(text))
    return blanks + text if right else text + blanks

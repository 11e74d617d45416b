"""How the command line prints and writes: results to stdout or a file, messages to stderr."""

import dataclasses
import json
import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import IO, Any, TypeVar

import click
from pydantic import BaseModel

from aisbench_core.base import formats
from aisbench_core.base.errors import ConfigError
from aisbench_core.base.formats import MISSING, nodes_and_cards
from aisbench_core.base.messages import Message
from aisbench_core.interfaces.cli.invocation import get_invocation
from aisbench_core.model import Finding, Run
from aisbench_core.warehouse.values.boards import Hardware, describe_hardware

MAX_CELL_WIDTH = 240  # two lines of a wide terminal
REHEARSALS = "rehearsals, not measurements"

# How much of an export is kept in memory before it goes to a temporary file.
SPOOLED_BYTES = 16 * 1024 * 1024

Row = TypeVar("Row")
Columns = Mapping[str, Callable[[Row], str]]
"""What a table shows of its rows, by the head of the column."""


def print_result(value: object, as_json: bool, text: Callable[[], str]) -> None:
    """Print what the command was called for to stdout: as JSON, or as text."""
    click.echo(
        to_json(value) if as_json else replace_controls(text())
    )  # JSON is for programs: no character is replaced


def print_message(text: str) -> None:
    """Print progress, a warning or an error to stderr."""
    click.echo(replace_controls(text), err=True)


def warn_of_old_files(reason: str | None) -> None:
    """Say why the files of a run that are shown may be old, if they may."""
    if reason:
        print_message(f"files of this run shown here are this machine's copies and may be out of date: {reason}")


def to_json(value: object) -> str:
    """JSON of any value of the product; times are ISO 8601 in UTC, what was not measured is null."""
    return json.dumps(value, default=_to_plain, ensure_ascii=False, indent=2)  # Chinese stays readable


def as_dict(value: Any) -> dict[str, object]:
    """The fields of a dataclass; unlike `dataclasses.asdict`, nested values stay as they are."""
    return pick_fields(value, *(field.name for field in dataclasses.fields(value)))


def pick_fields(value: object, *names: str) -> dict[str, object]:
    return {name: getattr(value, name) for name in names}


def format_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Aligned columns; those whose head begins with `>` are aligned to the right."""
    cells = [[head.removeprefix(">") for head in heads], *(_clip_cells(row) for row in rows)]
    widths = [max(_measure_width(row[column]) for row in cells) for column in range(len(heads))]
    right = [head.startswith(">") for head in heads]
    return "\n".join(
        "  ".join(_pad_text(cell, width, end) for cell, width, end in zip(row, widths, right, strict=True)).rstrip()
        for row in cells
    )


def table_of(rows: Iterable[Row], columns: Columns[Row], hidden: Collection[str] = ()) -> str:
    visible = {head: cell for head, cell in columns.items() if head not in hidden}
    return format_table([*visible], ([cell(row) for cell in visible.values()] for row in rows))


def format_fields(*pairs: tuple[str, str]) -> str:
    """Names and values, one pair a line; pairs without a value are left out."""
    filled = [(name, value) for name, value in pairs if value]
    width = max((_measure_width(name) for name, _ in filled), default=0)
    return "\n".join(f"{_pad_text(name, width, False)}  {value}" for name, value in filled)


def indent_text(text: str) -> str:
    return textwrap.indent(text, "  ")


def clip_text(text: str, most: int = 40) -> str:
    """A text on one line, of `most` characters or less."""
    return formats.clip_text(_to_line(text), most)


def format_value(value: object) -> str:
    """A field's value; `–` where it is not set."""
    if isinstance(value, bool):  # as in YAML and JSON, not as in Python
        return str(value).lower()
    return MISSING if value is None or value == "" else str(value)


def format_count(number: int, noun: str) -> str:
    """1 run, 1,234 runs."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def local_time(at: datetime | None) -> str:
    """A time in the reader's own time zone; `–` if there is none."""
    return MISSING if at is None else f"{at.astimezone():%Y-%m-%d %H:%M:%S}"


def format_hardware(flavor: str, nodes: int | None, cards: int | None) -> str:
    return f"{clip_text(flavor) or MISSING} · {nodes_and_cards(nodes, cards)}"


def hardware_name(row: Hardware) -> str:
    """The flavor or accelerator of a row, a run or a curve, clipped."""
    return clip_text(describe_hardware(row)) or MISSING


def format_state(run: Run) -> str:
    """The state of a run, and whether it waits for a retry."""
    return f"{run.state} (retrying)" if run.is_retrying else str(run.state)


def format_finding(finding: Finding) -> str:
    """One finding on one line, with the line of the file if it is about one."""
    line = getattr(finding, "line", 0)  # only findings about files have one
    hint = f" ({finding.hint})" if finding.hint else ""
    source = f", {finding.source}" if finding.source else ""
    where = f"line {line}: {finding.field}" if line else finding.field
    return f"{finding.level}: {where}: {finding.message}{hint} [{finding.rule}{source}]"


def show_findings(findings: Iterable[Finding]) -> None:
    """Print findings to stderr, one a line."""
    for one in findings:
        print_message(format_finding(one))


def page_size(rows: int, offset: int, total: int, nouns: str) -> None:
    """Print how many rows a list has left out behind its end."""
    if offset + rows < total:
        print_message(f"{rows} of {total} {nouns}")


@contextmanager
def user_umask() -> Iterator[None]:
    """Create files with the umask of the user's shell: aisbench itself runs with 0o077 to protect its data folder."""
    private = os.umask(get_invocation().umask)
    try:
        yield
    finally:
        os.umask(private)


def write_output(output: Path | None, content: IO[bytes]) -> None:
    """Write complete content to a file, or to stdout. Raises ConfigError if the file cannot be written."""
    content.seek(0)
    if output is None:
        shutil.copyfileobj(content, sys.stdout.buffer)
        return
    try:
        with user_umask(), output.open("wb") as target:  # opened last: what fails before leaves an old file alone
            shutil.copyfileobj(content, target)
        deliver_file(output)
    except OSError as error:
        raise ConfigError(Message("{file} cannot be written: {why}", file=output, why=error.strerror)) from error


def deliver_file(output: Path) -> None:
    """Send a file that was written to whoever typed the command on another machine."""
    if served := get_invocation().served:
        served.deliver(output)


def file_name(typed: str) -> str:
    """A file as it was typed, where its copy is read."""
    served = get_invocation().served
    return served.restore_names(typed) if served else typed


def write_text(output: Path | None, text: str) -> None:
    """Write a text to a file, or to stdout. Raises ConfigError if the file cannot be written."""
    write_output(output, BytesIO(text.encode()))


def write_and_report(output: Path, text: str) -> None:
    """Write a text to a file, and its path to stderr. Raises ConfigError."""
    write_text(output, text)
    print_message(f"written: {output}")


def _to_plain(value: object) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return as_dict(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _clip_cells(row: Sequence[str]) -> list[str]:
    # All rows are padded to the widest cell of each column, so one long name would blow up every line. Only the last
    # column may be long: nothing is padded behind it.
    return [*(clip_text(cell, MAX_CELL_WIDTH) for cell in row[:-1]), *map(_to_line, row[-1:])]


def _to_line(text: str) -> str:
    return replace_controls(" ".join(text.split()))


def replace_controls(text: str) -> str:
    """The text without control characters: names come from other people's files and must not drive the terminal."""
    return "".join(char if _is_text(char) else "\N{REPLACEMENT CHARACTER}" for char in text)


def _is_text(char: str) -> bool:
    # Python calls zero-width joiners and wide spaces unprintable; emoji and Chinese text need them.
    return char.isprintable() or char in "\n\t\u200c\u200d" or unicodedata.category(char) == "Zs"


def _measure_width(text: str) -> int:
    # Terminals draw these two cells wide.
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _pad_text(text: str, width: int, right: bool) -> str:
    blanks = " " * (width - _measure_width(text))
    return blanks + text if right else text + blanks

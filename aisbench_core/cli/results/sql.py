"""`aisbench sql`: questions to the warehouse in SQL."""

import math
import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any

import click

from aisbench_core import formats
from aisbench_core.cli import shown
from aisbench_core.cli.exit_codes import INTERRUPTED, YOUR_INPUT
from aisbench_core.cli.results.exporting import SMALL_EXPORT, copy_to

if TYPE_CHECKING:
    from aisbench_core.warehouse.open.answer_files import Cursor
    from aisbench_core.warehouse.store.reading import Reader

SHOWN_ROWS = 100
SHOWN_LETTERS = 60
"""Of a cell in a table; the other formats hold all of it."""

SECONDS = 60.0
GRACE_S = 1.0
"""After so much more time nobody waits for the engine."""

_OVER_RUNS = re.compile(r"\bfrom\s+\"?(v_|runs\b|results\b)", re.I)


def _values(_: click.Context, __: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    wrong = [pair for pair in pairs if "=" not in pair]
    if wrong:
        raise click.BadParameter(f"{wrong[0]!r} is not NAME=VALUE")
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


@click.command()
@click.argument("query", metavar="QUERY")
@click.option(
    "-p", "--param", "values", multiple=True, callback=_values, metavar="NAME=VALUE",
    help="The value of $NAME in the query; can be repeated.",
)  # fmt: skip
@click.option(
    "--format",
    "kind",
    type=click.Choice(["table", "csv", "json", "parquet"]),
    default="table",
    show_default=True,
    help="How the answer is written.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Default: stdout.")
@click.option(
    "--limit", type=click.IntRange(1), help=f"How many rows at most; default: {SHOWN_ROWS} in a table, otherwise all."
)
@click.option(
    "--seconds", type=click.FloatRange(0.1, 86_400), default=SECONDS, show_default=True, help="How long it may take."
)
@click.option(
    "--snapshot",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Ask this file of `aisbench warehouse snapshot` instead.",
)
def sql(
    query: str,
    values: dict[str, str],
    kind: str,
    output: Path | None,
    limit: int | None,
    seconds: float,
    snapshot: Path | None,
) -> None:
    """Ask the warehouse in SQL: one SELECT over the views of docs/open.md, or over the tables.

    QUERY is DuckDB's SQL, or - to read it from stdin. Nothing can be changed, and no file be read or written. Others
    can record meanwhile. `show tables` names the views, `describe v_runs` the columns of one.
    """
    from aisbench_core.warehouse.open.queries import Question, asked, has_both

    if kind == "parquet" and output is None and sys.stdout.isatty():
        raise click.UsageError("Parquet is no text for a terminal: name a file with -o")
    if query == "-":
        query = sys.stdin.read()
    reader = _reader(snapshot)
    most = limit or (SHOWN_ROWS if kind == "table" else None)
    try:
        with _ended_after(seconds, reader), asked(reader, Question(query, values, seconds)) as cur:
            mixed = _answer(cur, kind, output, most)
        if mixed or (_OVER_RUNS.search(query) and "rehearsal" not in query.lower() and has_both(reader)):
            shown.talk("note: rehearsals may be among these numbers; `where not rehearsal` leaves measurements only")
    except KeyboardInterrupt:
        shown.talk("interrupted")
        click.get_current_context().exit(INTERRUPTED)
    finally:
        reader.close()


@contextmanager
def _ended_after(seconds: float, reader: "Reader") -> Iterator[None]:
    """Ends the process when the time is up and the engine does not let go: it looks for interrupts between steps, and
    a single step, such as sorting a list of millions, can take minutes."""
    from aisbench_core.warehouse.open.queries import too_slow

    def end() -> None:
        reader.remove_copy()
        shown.talk(f"error: {too_slow(seconds)}")
        sys.stderr.flush()
        os._exit(YOUR_INPUT)

    timer = threading.Timer(seconds + GRACE_S, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _reader(snapshot: Path | None) -> "Reader":
    if snapshot is None:
        from aisbench_core.wiring import open_reader

        return open_reader()
    from aisbench_core.warehouse.store.reading import FileReader

    return FileReader(snapshot, foreign=True)


def _answer(cur: "Cursor", kind: str, output: Path | None, most: int | None) -> bool:
    """Write what was asked; says whether both kinds of runs are seen in it."""
    if output is None and kind != "table":
        return _write(cur, kind, sys.stdout.buffer, most)
    with SpooledTemporaryFile(SMALL_EXPORT) as whole:  # a file that is there already outlives a failure
        mixed = _write(cur, kind, whole, most)
        if output is not None:
            copy_to(output, whole)
        else:
            whole.seek(0)
            click.echo(whole.read().decode(), nl=False)
    return mixed


def _write(cur: "Cursor", kind: str, target: IO[bytes], most: int | None) -> bool:
    from aisbench_core.warehouse.open import answer_files

    if kind == "parquet":
        count = answer_files.write_parquet(cur, most, target)
        shown.talk(_rows(count))
        return False
    columns, kinds = answer_files.names(cur), set[object]()
    place = columns.index("rehearsal") if "rehearsal" in columns else None

    def seen(row: tuple[Any, ...]) -> tuple[Any, ...]:
        if place is not None:
            kinds.add(row[place])
        return row

    found = map(seen, answer_files.rows(cur, most))
    if kind == "table":
        told = list(found)
        target.write((shown.table(_heads(columns, told), [_cells(row) for row in told]) + "\n").encode())
        count = len(told)
    else:
        count = (answer_files.write_csv if kind == "csv" else answer_files.write_json)(columns, found, target)
    more = most is not None and cur.fetchone() is not None
    shown.talk(_rows(count) + ("; there are more: --limit" if more else ""))
    return {True, False} <= kinds


def _heads(columns: Sequence[str], told: Sequence[tuple[Any, ...]]) -> list[str]:
    def is_number(place: int) -> bool:
        values = [row[place] for row in told if row[place] is not None]
        return bool(values) and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)

    return [f">{name}" if is_number(place) else name for place, name in enumerate(columns)]


def _cells(row: tuple[Any, ...]) -> list[str]:
    return [_cell(value) for value in row]


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return formats.MISSING
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.10g}"
    text = f"{value.isoformat(timespec='seconds')}Z" if isinstance(value, datetime) else str(value)
    return text if len(text) <= SHOWN_LETTERS else text[: SHOWN_LETTERS - 1] + "…"


def _rows(count: int) -> str:
    return f"{count:,} {'row' if count == 1 else 'rows'}"

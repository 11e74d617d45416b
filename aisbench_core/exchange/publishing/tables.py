"""Writes a table twice: as Parquet, and as pages of rows that a browser loads as scripts, for it reads no other files
from a disk."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as arrow
from pyarrow import parquet

from aisbench_core.exchange.publishing.columns import PublishedColumn
from aisbench_core.warehouse.exporting.parquet_file import TYPES
from aisbench_core.warehouse.exporting.publication import LINE


class PagedTable:
    """The pages of a table, `data/<name>-<number>.js`; each is written when it is full."""

    def __init__(self, folder: Path, name: str, page_rows: int) -> None:
        self._folder, self._name, self._page_rows = folder / "data", name, page_rows
        self._lines: list[str] = []
        self._heads: dict[int, Sequence[str]] = {}
        self.total = 0
        self._folder.mkdir(exist_ok=True)

    def add(self, line: str, head: tuple[int, Sequence[str]] | None = None) -> None:
        """Add a row, as a JSON array. `head`: the number and the texts of the heading above it."""
        if head:
            self._heads[head[0]] = head[1]
        self._lines.append(line)
        self.total += 1
        if len(self._lines) == self._page_rows:
            self.end_page()

    def end_page(self) -> None:
        """Write the rows that are left."""
        if not self._lines:
            return
        number = (self.total - 1) // self._page_rows
        heads, rows = json.dumps(self._heads, ensure_ascii=False), ",\n".join(self._lines)
        text = f'aisbench.addPage("{self._name}", {number}, {heads}, [\n{rows}\n]);\n'
        (self._folder / f"{self._name}-{number}.js").write_text(text, "utf-8")
        self._lines, self._heads = [], {}


class ParquetTable:
    """A Parquet file with the unit and the label of each column, written in batches."""

    def __init__(self, file: Path, columns: Iterable[PublishedColumn]) -> None:
        fields = [
            arrow.field(each.name, TYPES[each.kind], metadata={"unit": each.unit, "label": each.label[0]})
            for each in columns
        ]
        self._schema = arrow.schema(fields)
        self._writer = parquet.ParquetWriter(file, self._schema, compression="zstd")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._writer.close()

    def add_batch(self, batch: Any) -> None:
        """Add rows of an Arrow batch."""
        self._writer.write_batch(batch.select(self._schema.names).cast(self._schema))

    def add_rows(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Add rows by name."""
        self._writer.write_batch(arrow.RecordBatch.from_pylist(list(rows), self._schema))


def iterate_lines(batch: Any) -> Iterator[str]:
    """The rows of a batch as JSON arrays."""
    yield from batch.column(LINE).to_pylist()

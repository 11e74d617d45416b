"""Rows that the engine made into lines, as bytes: they lie one behind the other already, and Python touches none."""

from collections.abc import Iterator, Sequence

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse.exporting.parts import Parameters

BATCH = 2048
"""As many as the engine makes at a time: more of them leave the processor's cache before they are written."""


def lines(cur: DuckDBPyConnection, asked: str, parts: Sequence[Parameters]) -> Iterator[tuple[memoryview, int]]:
    """The texts of answers that have one column and no NULL in it, batch by batch, with how many rows they are."""
    for part in parts:
        for batch in cur.execute(asked, part).to_arrow_reader(BATCH):
            column = batch.column(0)
            _, ends, texts = column.buffers()
            places = memoryview(ends).cast("i")
            yield memoryview(texts)[places[column.offset] : places[column.offset + len(column)]], len(column)

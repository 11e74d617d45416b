"""What a column of an export is: its type, its unit, what it means, and the SQL that fills it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from aisbench_core.model.columns import COUNT, SQL_TYPES, UTC, Kind, Wording


@dataclass(frozen=True, slots=True)
class SheetColumn:
    """One column. `unit`: of numbers and times; it may be the name of the column that holds it. Without `sql` the cells
    are empty.

    `wording`: of text only."""

    name: str
    kind: Kind
    meaning: str
    sql: str
    unit: str = ""
    wording: Wording | None = None

    @property
    def typed(self) -> str:
        """The SQL of a cell: NULL where nothing is known or measured."""
        if not self.sql:
            return f"null::{SQL_TYPES[self.kind]} as {self.name}"
        value = f"nullif(({self.sql})::VARCHAR, '')" if self.kind is Kind.TEXT else self.sql
        return f"({value})::{SQL_TYPES[self.kind]} as {self.name}"


# Where the columns stand in a table's sources.
CELLS = "/*cells*/"


@dataclass(frozen=True)
class Sheet:
    """A table to export: its schema's name, its columns by group, where its rows come from, and their order."""

    schema: str
    groups: Mapping[str, tuple[SheetColumn, ...]]
    sources: str
    order: str

    @cached_property
    def columns(self) -> tuple[SheetColumn, ...]:
        """All columns in their order."""
        return tuple(column for group in self.groups.values() for column in group)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The header row."""
        return tuple(column.name for column in self.columns)

    def select(self, cells: str, source: str = "cells") -> str:
        """`cells` (SQL over the columns' names) of each row of the table, or of `source` made of it; in its order."""
        typed = ", ".join(column.typed for column in self.columns)
        return f"""
            with {self.sources.replace(CELLS, typed)}
            select {cells} from {source} order by {self.order}
        """


def make_text(name: str, meaning: str, sql: str | None = None) -> SheetColumn:
    """A column of text; its SQL is its name unless said otherwise."""
    return SheetColumn(name, Kind.TEXT, meaning, name if sql is None else sql, wording=Wording.NAME)


def make_word(name: str, meaning: str, sql: str) -> SheetColumn:
    """A column whose words its SQL gives: nobody else's text, so that it needs neither quotes nor guards."""
    return SheetColumn(name, Kind.TEXT, meaning, sql, wording=Wording.OURS)


def make_prose(name: str, meaning: str, sql: str | None = None) -> SheetColumn:
    """A column of longer texts, each of which may hold commas and quotes."""
    return SheetColumn(name, Kind.TEXT, meaning, name if sql is None else sql, wording=Wording.PROSE)


def make_integer(name: str, meaning: str, sql: str | None = None) -> SheetColumn:
    """A column of whole numbers."""
    return SheetColumn(name, Kind.INTEGER, meaning, name if sql is None else sql, COUNT)


def make_number(name: str, meaning: str, unit: str = COUNT, sql: str | None = None) -> SheetColumn:
    """A column of numbers."""
    return SheetColumn(name, Kind.NUMBER, meaning, name if sql is None else sql, unit)


def make_flag(name: str, meaning: str, sql: str | None = None) -> SheetColumn:
    """A column of yes and no."""
    return SheetColumn(name, Kind.FLAG, meaning, name if sql is None else sql)


def make_time(name: str, meaning: str, sql: str) -> SheetColumn:
    """A column of times in UTC."""
    return SheetColumn(name, Kind.TIME, meaning, sql, UTC)

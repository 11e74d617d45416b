"""What a column of an export is: its type, its unit, what it means, and the SQL that fills it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property


class Kind(StrEnum):
    """The type of a column's cells, the same in every format."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    FLAG = "flag"
    TIME = "time"


class Wording(StrEnum):
    """Whose words a column of text holds, which says how often they hold a comma, a quote or the start of a formula."""

    OURS = "ours"
    """Never: they stand in the column's own SQL."""

    NAME = "name"
    """Hardly ever: names, ids and hashes."""

    PROSE = "prose"
    """Often: notes, paths and JSON."""


SQL_TYPES: Mapping[Kind, str] = {
    Kind.TEXT: "VARCHAR",
    Kind.INTEGER: "BIGINT",
    Kind.NUMBER: "DOUBLE",
    Kind.FLAG: "BOOLEAN",
    Kind.TIME: "TIMESTAMP",
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `unit` may be the name of the column that holds it; an empty `sql`: not known yet.

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


CELLS = "/*cells*/"
"""Where the columns stand in a table's sources."""


@dataclass(frozen=True)
class Sheet:
    """A table to be exported: its schema's name, its columns by group, where its rows come from, and their order."""

    schema: str
    groups: Mapping[str, tuple[Column, ...]]
    sources: str
    order: str

    @cached_property
    def columns(self) -> tuple[Column, ...]:
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


def text(name: str, meaning: str, sql: str | None = None) -> Column:
    """A column of text; its SQL is its name unless said otherwise."""
    return Column(name, Kind.TEXT, meaning, name if sql is None else sql, wording=Wording.NAME)


def word(name: str, meaning: str, sql: str) -> Column:
    """A column of words that stand in its SQL: nobody's text, which may be written unseen."""
    return Column(name, Kind.TEXT, meaning, sql, wording=Wording.OURS)


def prose(name: str, meaning: str, sql: str | None = None) -> Column:
    """A column of longer texts, any of which may hold commas and quotes."""
    return Column(name, Kind.TEXT, meaning, name if sql is None else sql, wording=Wording.PROSE)


def integer(name: str, meaning: str, sql: str | None = None, unit: str = "") -> Column:
    """A column of whole numbers."""
    return Column(name, Kind.INTEGER, meaning, name if sql is None else sql, unit)


def number(name: str, meaning: str, unit: str = "", sql: str | None = None) -> Column:
    """A column of numbers."""
    return Column(name, Kind.NUMBER, meaning, name if sql is None else sql, unit)


def flag(name: str, meaning: str, sql: str | None = None) -> Column:
    """A column of yes and no."""
    return Column(name, Kind.FLAG, meaning, name if sql is None else sql)


def time(name: str, meaning: str, sql: str) -> Column:
    """A column of times in UTC."""
    return Column(name, Kind.TIME, meaning, sql, "UTC")

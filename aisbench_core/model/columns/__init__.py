"""Everything that is known of a run, each column declared once.

Tables, views, exports and their import back, MLflow, sorts, comparisons and documents follow from it, so a column that
is added here is added there. The order is that of the export; tables and views have one of their own.
"""

from collections.abc import Mapping
from functools import cache

from aisbench_core.model.columns.about import ASKED, BEGAN, CONFIGURATION, IDENTITY, MODE, SCHEMA, TESTED
from aisbench_core.model.columns.column import (
    COUNT,
    FRACTION,
    RESULTS,
    RUNS,
    SQL_TYPES,
    UNIT,
    UTC,
    Column,
    Compared,
    Exported,
    Key,
    Kind,
    Mlflow,
    Stored,
    Wording,
)
from aisbench_core.model.columns.judged import KIND, ORIGIN, VERDICT
from aisbench_core.model.columns.measured import COUNTED, POWER, QUALITY, SCALING, THROUGHPUT, TIMES, UTILISATION

COLUMNS = (
    *IDENTITY,
    *MODE,
    *CONFIGURATION,
    *QUALITY,
    *TIMES,
    *THROUGHPUT,
    *SCALING,
    *POWER,
    *UTILISATION,
    *VERDICT,
    *ORIGIN,
    *KIND,
)
"""All of them."""


def stored_in(table: str) -> tuple[Column, ...]:
    """The columns of a table, in their order there."""
    found = {column.stored.place: column for column in COLUMNS if column.stored and column.stored.table == table}
    return tuple(found[place] for place in sorted(found))


KEYS = tuple(column for column in stored_in(RESULTS) if column.key)
"""The keys of the training tool's block."""

TIMES_OF_KEYS = tuple(key.stored_name for key in KEYS if key.kind is Kind.TIME)

PERIODS = tuple(name.removesuffix("_start_time") for name in TIMES_OF_KEYS if name.endswith("_start_time"))
"""Phases of the tool, each with a start and an end."""

LATER_KEYS = frozenset(key.stored_name for key in KEYS if key.stored and key.stored.since > 1)
"""Keys that blocks of before lack, and that hashes of before do not cover."""


def medians() -> tuple[Column, ...]:
    """What rows of the leaderboard and of exported series have the median of, beside throughput and accuracy."""
    return tuple(sorted((column for column in COLUMNS if column.median_since), key=lambda each: each.median_since))


def of_mlflow(kind: Mlflow) -> tuple[Column, ...]:
    """What is a parameter, a metric or a tag in MLflow."""
    return tuple(column for column in COLUMNS if column.mlflow is kind)


def compared(*ways: Compared) -> tuple[Column, ...]:
    """The columns that a comparison looks at in one of these ways."""
    return tuple(column for column in COLUMNS if column.compared in ways)


@cache
def by_field() -> Mapping[str, Column]:
    """The columns by what RunRow calls them."""
    return {column.field: column for column in COLUMNS}


@cache
def by_exported() -> Mapping[str, Column]:
    """The columns of the export, by their names there."""
    return {column.exported.name or column.name: column for column in COLUMNS if column.exported}


__all__ = [
    "ASKED",
    "BEGAN",
    "COLUMNS",
    "COUNT",
    "COUNTED",
    "FRACTION",
    "KEYS",
    "LATER_KEYS",
    "PERIODS",
    "RESULTS",
    "RUNS",
    "SCHEMA",
    "SQL_TYPES",
    "TESTED",
    "TIMES_OF_KEYS",
    "UNIT",
    "UTC",
    "Column",
    "Compared",
    "Exported",
    "Key",
    "Kind",
    "Mlflow",
    "Stored",
    "Wording",
    "by_exported",
    "by_field",
    "compared",
    "medians",
    "of_mlflow",
    "stored_in",
]

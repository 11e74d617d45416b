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

KEYS = tuple(column for column in COLUMNS if column.key)
"""The keys of the training tool's block."""


def stored_in(table: str) -> tuple[Column, ...]:
    """The columns of a table, in their order there."""
    return tuple(sorted((each for each in COLUMNS if each.stored and each.stored.table == table), key=_place))


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


def _place(column: Column) -> int:
    return column.stored.place if column.stored else 0


__all__ = [
    "ASKED",
    "BEGAN",
    "COLUMNS",
    "COUNT",
    "COUNTED",
    "FRACTION",
    "KEYS",
    "RESULTS",
    "RUNS",
    "SCHEMA",
    "SQL_TYPES",
    "TESTED",
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
    "by_field",
    "compared",
    "of_mlflow",
    "stored_in",
]

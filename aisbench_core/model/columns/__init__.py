"""The catalogue of columns: everything that is known of a run, each declared once.

Tables, views, exports and their import back, MLflow, sorts, comparisons and documents are derived from it. The order is
that of the export; tables have one of their own.
"""

from collections.abc import Mapping
from functools import cache

from aisbench_core.model.columns.about import (
    BEGAN,
    CONFIGURATION,
    IDENTITY,
    KIND,
    METRICS,
    MODE,
    ORIGIN,
    SCHEMA,
    SPEC_PATHS,
    TESTER_PATHS,
    VALIDITY,
)
from aisbench_core.model.columns.column import (
    BASELINE,
    COUNT,
    CURRENCY,
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
from aisbench_core.model.columns.measured import (
    COUNTED,
    LONGEST_S,
    MISSED,
    POWER,
    QUALITY,
    SCALING,
    THROUGHPUT,
    TIMES,
    UTILISATION,
)
from aisbench_core.model.columns.money import MONEY, NODE_HOURS

COLUMNS = (
    *IDENTITY, *MODE, *CONFIGURATION, *QUALITY, *TIMES, *THROUGHPUT, *SCALING, *POWER, *UTILISATION, *VALIDITY,
    *ORIGIN, *KIND, *MONEY, *METRICS,
)  # fmt: skip

# Runs that are equal in these stored columns make one row of the leaderboard: one benchmark configuration, system, code
# and data. `group_id` hashes them in this order. An unknown value is a value of its own.
GROUP_KEYS = (
    "region", "rehearsal", "fingerprint", "framework_version", "flavor", "pool_id", "node_count", "cards_per_node",
    "synthetic_data", "throughput_unit", "origin", "accelerator", "image", "code_sha256", "dataset_sha256",
)  # fmt: skip

# Stored names of what the fingerprint covers: equal in all runs of a group.
FINGERPRINTED = ("workload", "model", "mode", "throughput_definition", "dataset")

# What follows from the spec and the data's hash, and so is equal in all runs of a group, too.
FOLLOWING = ("not_known", "primary_metric")

# Of a run or a row: whether all that decides its speed is known. What is not has neither interval nor rank nor verdict.
KNOWN = "not_known = ''"


def stored_in(table: str) -> tuple[Column, ...]:
    """The columns of a table, in their order there."""
    columns = {column.stored.position: column for column in COLUMNS if column.stored and column.stored.table == table}
    return tuple(columns[position] for position in sorted(columns))


# The keys of the result block that the training tool writes.
KEYS = tuple(column for column in stored_in(RESULTS) if column.key)

TIMES_OF_KEYS = tuple(key.stored_name for key in KEYS if key.kind is Kind.TIME)

# Phases of the training tool, each with a start and an end.
PERIODS = tuple(name.removesuffix("_start_time") for name in TIMES_OF_KEYS if name.endswith("_start_time"))

# Keys that came after the first release: older blocks lack them.
LATER_KEYS = frozenset(key.stored_name for key in KEYS if key.stored and key.stored.since > BASELINE)


def list_medians() -> tuple[Column, ...]:
    """The columns that rows of the leaderboard and of exported series have the median of, by schema version.

    Medians of throughput and accuracy have names of their own, and are not among them."""
    return tuple(sorted((column for column in COLUMNS if column.median_since), key=lambda column: column.median_since))


def of_mlflow(kind: Mlflow) -> tuple[Column, ...]:
    """The columns that are parameters, metrics or tags in MLflow."""
    return tuple(column for column in COLUMNS if column.mlflow is kind)


def list_compared(*ways: Compared) -> tuple[Column, ...]:
    """The columns that play one of these parts in a comparison."""
    return tuple(column for column in COLUMNS if column.compared in ways)


@cache
def by_field() -> Mapping[str, Column]:
    """The columns by their fields of RunRow."""
    return {column.field: column for column in COLUMNS}


@cache
def by_exported() -> Mapping[str, Column]:
    """The columns of the export, by their names in it."""
    return {column.exported.name or column.name: column for column in COLUMNS if column.exported}


__all__ = [
    "BASELINE", "BEGAN", "COLUMNS", "COUNT", "COUNTED", "CURRENCY", "FINGERPRINTED", "FOLLOWING", "FRACTION",
    "GROUP_KEYS", "KEYS", "KNOWN", "LATER_KEYS", "LONGEST_S", "MISSED", "NODE_HOURS", "PERIODS",
    "RESULTS", "RUNS", "SCHEMA", "SPEC_PATHS", "SQL_TYPES", "TESTER_PATHS", "TIMES_OF_KEYS", "UNIT", "UTC", "Column",
    "Compared",
    "Exported", "Key", "Kind", "Mlflow", "Stored", "Wording", "by_exported", "by_field", "list_compared",
    "list_medians", "of_mlflow", "stored_in",
]  # fmt: skip

"""A column: its type, unit and meaning, where it is stored, and where it is shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial


class Kind(StrEnum):
    """The type of a column's cells in every format."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    FLAG = "flag"
    TIME = "time"


SQL_TYPES: Mapping[Kind, str] = {
    Kind.TEXT: "VARCHAR",
    Kind.INTEGER: "BIGINT",
    Kind.NUMBER: "DOUBLE",
    Kind.FLAG: "BOOLEAN",
    Kind.TIME: "TIMESTAMP",
}


class Wording(StrEnum):
    """Where a column's text comes from: how often it has a comma, a quote or the start of a formula to be escaped."""

    # Never: it is in the column's own SQL.
    OURS = "ours"

    # Rarely: names, ids and hashes.
    NAME = "name"

    # Often: notes, paths and JSON.
    PROSE = "prose"


class Mlflow(StrEnum):
    """The kind of a column in MLflow."""

    PARAM = "param"
    METRIC = "metric"
    TAG = "tag"


class Compared(StrEnum):
    """The part of a column in a comparison of two runs."""

    # A ratio between runs that differ in it has no meaning.
    DECIDES = "decides"

    DESCRIBES = "describes"
    HIGHER_IS_BETTER = "higher is better"
    LOWER_IS_BETTER = "lower is better"


RUNS, RESULTS = "runs", "results"

# The schema of the first release: what comes later is after its columns in views, and older results lack it.
BASELINE = 22

# The unit of what is measured in the workload's own unit: the name of the column that holds it.
UNIT = "throughput_unit"

# The unit of money: the name of the column that holds it. Amounts of two currencies are never added or sorted.
CURRENCY = "currency"

# COUNT: also of ratios, and of numbers without a unit.
FRACTION, COUNT, UTC = "fraction", "1", "UTC"


@dataclass(frozen=True, slots=True)
class Stored:
    """A column of the table `runs` or `results`.

    `position`: from 1, final once released, because rows are inserted without naming columns. `name`, `sql_type`: if
    not those of the column. `since`: the version of the schema that added it. `hashed`: whether the hash of a record
    covers its cells; others follow from those, or are covered in another way. `nullable`: if not so that numbers and
    times can be NULL, and nothing else. `long`: texts that may have millions of characters."""

    table: str
    position: int
    sql_type: str = ""
    name: str = ""
    since: int = BASELINE
    hashed: bool = True
    nullable: bool | None = None
    long: bool = False


run = partial(Stored, RUNS)
result = partial(Stored, RESULTS)


@dataclass(frozen=True, slots=True)
class Exported:
    """A column of the export of runs: its group, and what differs from the column itself."""

    group: str
    name: str = ""
    sql: str = ""
    kind: Kind | None = None
    unit: str | None = None
    meaning: str = ""
    wording: Wording = Wording.NAME


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the training tool's block `train_result_info`.

    `headers`: its names in other people's tables. `zero_is_unmeasured`: the tool writes 0 where nothing was measured;
    such a number is never negative."""

    headers: str = ""
    zero_is_unmeasured: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a run.

    `name`: in views and in MLflow. `unit`: of numbers and times; it may be the name of the column that holds it.
    `sql`: over `runs join results`, if it is not stored as it is; `view_sql`: if it differs in the view `v_runs`,
    which has it if `in_view`. `row`: the field of RunRow, if that has another name. `label`: its head in tables, in
    English; the Chinese is the message `column.<name>`. `median_since`: the version of the schema from which rows
    of the leaderboard and of exported series have the median over their valid runs, under this name."""

    name: str
    kind: Kind
    meaning: str
    unit: str = ""
    label: str = ""
    stored: Stored | None = None
    sql: str = ""
    row: str = ""
    in_view: bool = True
    view_sql: str = ""
    exported: Exported | None = None
    mlflow: Mlflow | None = None
    key: Key | None = None
    compared: Compared | None = None
    sortable: bool = False
    median_since: int = 0

    @property
    def stored_name(self) -> str:
        """The name in its table."""
        return (self.stored.name if self.stored else "") or self.name

    @property
    def field(self) -> str:
        """The field of RunRow."""
        return self.row or self.name.removesuffix("_utc")

    @property
    def value(self) -> str:
        """Its SQL over `runs join results`."""
        return self.sql or self.stored_name

    @property
    def nullable(self) -> bool:
        """Whether a cell of the table can be NULL."""
        stated = self.stored.nullable if self.stored else None
        return self.kind in (Kind.INTEGER, Kind.NUMBER, Kind.TIME) if stated is None else stated

    @property
    def sql_type(self) -> str:
        """The type of its cells in the table."""
        small = self.kind is Kind.INTEGER and self.stored is not None and self.stored.table == RUNS
        return (self.stored.sql_type if self.stored else "") or ("INTEGER" if small else SQL_TYPES[self.kind])

"""What is said of a column: its type, unit and meaning, where it is stored, and where it is shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The type of a column's cells, the same in every format."""

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
    """Whose words a column of text holds, which says how often they hold a comma, a quote or the start of a formula."""

    OURS = "ours"
    """Never: they stand in the column's own SQL."""

    NAME = "name"
    """Hardly ever: names, ids and hashes."""

    PROSE = "prose"
    """Often: notes, paths and JSON."""


class Mlflow(StrEnum):
    """What a column is in MLflow."""

    PARAM = "param"
    METRIC = "metric"
    TAG = "tag"


class Compared(StrEnum):
    """What a column says about two runs that are compared."""

    DECIDES = "decides"
    """Where it differs, a ratio says nothing."""

    DESCRIBES = "describes"
    HIGHER_IS_BETTER = "higher is better"
    LOWER_IS_BETTER = "lower is better"


RUNS, RESULTS = "runs", "results"
UNIT = "throughput_unit"
"""The unit of what is measured in the workload's own unit: the name of the column that holds it."""

FRACTION, COUNT, UTC = "fraction", "1", "UTC"


@dataclass(frozen=True, slots=True)
class Stored:
    """A column of the table `runs` or `results`.

    `place`: from 1, final once it was released, because rows are inserted without naming columns. `name` and
    `sql_type`: where they are not those of the column. `since`: the version of the schema that brought it."""

    table: str
    place: int
    name: str = ""
    sql_type: str = ""
    since: int = 1


def run(place: int, sql_type: str = "", *, since: int = 1, name: str = "") -> Stored:
    """A column of the table `runs`."""
    return Stored(RUNS, place, name, sql_type, since)


def result(place: int, sql_type: str = "", *, since: int = 1, name: str = "") -> Stored:
    """A column of the table `results`."""
    return Stored(RESULTS, place, name, sql_type, since)


@dataclass(frozen=True, slots=True)
class Exported:
    """A column of the export of runs: its group, and what is not as the column itself says."""

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

    `headers`: what people call it in tables. `zero_is_unmeasured`: whether the tool writes 0 where nothing was
    measured; such a number is never negative."""

    headers: str = ""
    zero_is_unmeasured: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """One column of what is known of a run.

    `name`: in the views for analysts, and in MLflow. `unit` may be the name of the column that holds it. `sql`: over
    `runs join results`, where it is not simply stored; `row`: the field of RunRow, where that is called otherwise.
    `view_sql`: where the view says it otherwise; `in_view`: whether it does at all. `label`: over a table, in English;
    the Chinese is in the catalogue of messages as `column.` and the name. `median_since`: the version of the schema
    from which rows of the leaderboard and of exported series have the median over their valid runs, under this name."""

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
        """The field of RunRow that holds it."""
        return self.row or self.name.removesuffix("_utc")

    @property
    def value(self) -> str:
        """Its SQL."""
        return self.sql or self.stored_name

    @property
    def sql_type(self) -> str:
        """The type of its cells in the table."""
        small = self.kind is Kind.INTEGER and self.stored is not None and self.stored.table == RUNS
        return (self.stored.sql_type if self.stored else "") or ("INTEGER" if small else SQL_TYPES[self.kind])

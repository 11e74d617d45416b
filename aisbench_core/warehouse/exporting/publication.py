"""What a published leaderboard consists of, at one moment: its rows, and the runs that count in their order."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.model.columns import COUNTED, Kind
from aisbench_core.warehouse.answers.board import GroupedRow, iterate_board
from aisbench_core.warehouse.answers.distinguishing import list_distinctions
from aisbench_core.warehouse.exporting.columns import Sheet, SheetColumn
from aisbench_core.warehouse.exporting.runs import runs_where
from aisbench_core.warehouse.queries.filters import build_parameters, choose_runs_sql, statistics_of
from aisbench_core.warehouse.values.runs import BoardQuery

# Runs as JSON arrays, a line each, beside their typed cells.
LINE = "line"

BATCH = 10_000

# The groups of a part of the leaderboard, numbered as it numbers its rows.
_PLACES = """places as (
    select unnest($groups::BIGINT[]) as group_id, $first + generate_subscripts($groups::BIGINT[], 1) - 1 as place)"""

ROW_NUMBER = SheetColumn(
    "leaderboard_row",
    Kind.INTEGER,
    "number of the run's row in leaderboard.parquet, from 1",
    "(select place from places where places.group_id = chosen.group_id)",
    "1",
)

BUNDLE = SheetColumn(
    "bundle",
    Kind.TEXT,
    "the run or series whose evidence is published",
    """case when run_id in (select unnest($bundles::VARCHAR[])) then run_id
        when series_id in (select unnest($bundles::VARCHAR[])) then series_id end""",
)


class Publication:
    """Reads what is published with a cursor that sees one moment and ranks by the metric of each workload."""

    def __init__(self, cur: DuckDBPyConnection, query: BoardQuery, bases: Mapping[str, str]) -> None:
        """`bases`: of rulesets, by their ids. Raises SpecError if all that the query finds are rehearsals."""
        self._cur = cur
        self._query = query
        self._filters = build_parameters(cur, query)
        self._provenance = {"basis_ids": list(bases), "basis_texts": list(map(str, bases.values()))}
        if self._filters["rehearsal"]:
            problem = Message("has rehearsals, which are not published: they are no measurements")
            hint = Message("choose a region with measurements by --region")
            raise SpecError(Message("publish"), [Problem("region", problem, query.region)], hint)

    def iterate_rows(self) -> Iterator[GroupedRow]:
        """The leaderboard's rows by benchmark, of each the best first."""
        return iterate_board(self._cur, self._query)

    def list_distinctions(self) -> Mapping[str, str]:
        """What distinguishes each benchmark configuration from others of the same workload and model."""
        numbers = statistics_of(self._cur, self._query)
        self._cur.execute(f"select distinct fingerprint from {numbers} where runs > 0", self._filters)
        fingerprints = [fingerprint for (fingerprint,) in self._cur.fetchall()]
        return list_distinctions(self._cur, self._query.region, fingerprints, rehearsal=False)

    def iterate_runs(
        self, columns: Sequence[SheetColumn], groups: Sequence[int], first: int, bundles: Sequence[str]
    ) -> Iterator[Any]:
        """Arrow batches of the runs of these groups, which are the leaderboard's rows from the `first` on, each group's
        newest run first: their cells, and LINE. `bundles`: runs and series whose evidence there is."""
        sheet = runs_where(f"{choose_runs_sql(self._query)} and {COUNTED} and {_OF_GROUPS}")
        columns = (*columns, ROW_NUMBER)
        ordered = SheetColumn("launched_at", Kind.TIME, "", "created_at")
        identified = SheetColumn("identity", Kind.TEXT, "", "run_id")
        sheet = Sheet(
            sheet.schema,
            {"published": (*columns, ordered, identified)},
            f"{_PLACES}, {sheet.sources}",
            "leaderboard_row, launched_at desc, identity",
        )
        names = ", ".join(column.name for column in columns)
        line = f"json_array({', '.join(map(_build_json, columns))})::VARCHAR as {LINE}"
        statement = sheet.select(f"{names}, {line}")
        values = {**self._filters, **self._provenance, "groups": list(groups), "first": first}
        values["bundles"] = list(bundles)
        # DuckDB refuses values that a statement does not name.
        named = {name: value for name, value in values.items() if f"${name}" in statement}
        yield from self._cur.execute(statement, named).to_arrow_reader(BATCH)


_OF_GROUPS = "group_id in (select unnest($groups::BIGINT[]))"


def _build_json(column: SheetColumn) -> str:
    return f"replace({column.name}::VARCHAR, ' ', 'T') || 'Z'" if column.kind is Kind.TIME else column.name

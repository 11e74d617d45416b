"""The columns of aisbench-compliance-csv/1, one row per run, in their order.

A column without SQL is not known yet and stays empty: empty means not measured or not known, 0 is a measurement.
"""

from itertools import groupby

from aisbench_core.model import columns
from aisbench_core.model.columns import ASKED, SCHEMA, TESTED, Exported, Kind
from aisbench_core.warehouse.answers.filters import CHOSEN, WORTH
from aisbench_core.warehouse.answers.scaling import BASES, LINE
from aisbench_core.warehouse.exporting.columns import CELLS, Sheet, SheetColumn
from aisbench_core.warehouse.exporting.parts import WITHIN

_UNITS = {columns.FRACTION: "1", columns.COUNT: ""}
"""How exports write units that views spell out."""


def _column(column: columns.Column, exported: Exported) -> SheetColumn:
    kind = exported.kind or column.kind
    return SheetColumn(
        exported.name or column.name,
        kind,
        exported.meaning or column.meaning,
        exported.sql or column.value,
        _UNITS.get(column.unit, column.unit) if exported.unit is None else exported.unit,
        exported.wording if kind is Kind.TEXT else None,
    )


_EXPORTED = [(column.exported.group, _column(column, column.exported)) for column in columns.COLUMNS if column.exported]

GROUPS = {
    group: tuple(column for _, column in exported) for group, exported in groupby(_EXPORTED, key=lambda each: each[0])
}


def _texts(column: str, paths: tuple[str, ...]) -> str:
    """All of them at once: reading JSON is what an export takes its time for."""
    return f"json_extract_string({column}, {[f'$.{path}' for path in paths]})"


def runs_where(condition: str) -> Sheet:
    """The table of the runs that fulfil a condition in SQL."""
    sources = f"""
        bases as ({BASES}),
        chosen as (
            select *, {_texts("spec", ASKED)} as asked, {_texts("tester", TESTED)} as tested
            from runs join results using (run_id) where {condition}),
        cells as (
            select {CELLS} from chosen left join bases using ({LINE}))
    """
    return Sheet(SCHEMA, GROUPS, sources, "created_at_utc, run_id")


EXPORTED = f"{CHOSEN} and {WORTH}"
"""Which runs a query's filter chooses."""

RUNS = runs_where(f"{EXPORTED} and {WITHIN}")
"""The table of a part of them."""

"""The columns of aisbench-compliance-csv/1, one row per run, in their order.

A column without SQL stays empty for now: empty means not measured or not known, 0 is a measurement.
"""

from itertools import groupby

from aisbench_core.model import columns
from aisbench_core.model.columns import SCHEMA, SPEC_PATHS, TESTER_PATHS, Exported, Kind
from aisbench_core.warehouse.answers.scaling import BASES, LINE
from aisbench_core.warehouse.exporting.columns import CELLS, Sheet, SheetColumn
from aisbench_core.warehouse.tables.schema import TABLES

# How exports write the unit that views spell out.
_UNITS = {columns.FRACTION: columns.COUNT}


def _to_sheet_column(column: columns.Column, exported: Exported) -> SheetColumn:
    kind = exported.kind or column.kind
    return SheetColumn(
        exported.name or column.name,
        kind,
        exported.meaning or column.meaning,
        exported.sql or column.value,
        _UNITS.get(column.unit, column.unit) if exported.unit is None else exported.unit,
        exported.wording if kind is Kind.TEXT else None,
    )


_EXPORTED = [
    (column.exported.group, _to_sheet_column(column, column.exported)) for column in columns.COLUMNS if column.exported
]

GROUPS = {
    group: tuple(column for _, column in exported) for group, exported in groupby(_EXPORTED, key=lambda pair: pair[0])
}


_METRIC = f"struct_pack({', '.join(f'{name} := {name}' for name in TABLES['run_metrics'] if name != 'run_id')})"


def _extract_texts(column: str, paths: tuple[str, ...]) -> str:
    # All paths in one call: parsing JSON is what takes longest in an export.
    return f"json_extract_string({column}, {[f'$.{path}' for path in paths]})"


def runs_where(condition: str) -> Sheet:
    """The table of the runs that fulfil a condition in SQL."""
    sources = f"""
        bases as ({BASES}),
        chosen as (
            select *, {_extract_texts("spec", SPEC_PATHS)} as spec_texts,
                {_extract_texts("tester", TESTER_PATHS)} as tester_texts
            from runs join results using (run_id) where {condition}),
        named as (
            select run_id, to_json(list({_METRIC} order by name))::VARCHAR as metrics_json
            from run_metrics where run_id in (select run_id from chosen) group by run_id),
        cells as (
            select {CELLS} from chosen left join bases using ({LINE}) left join named using (run_id))
    """
    return Sheet(SCHEMA, GROUPS, sources, "created_at_utc, run_id")


# The table of all runs.
RUNS = runs_where("true")

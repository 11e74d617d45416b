"""docs/export.md and docs/warehouse.md name every column, as the code has them."""

import re

from aisbench_core.model import columns
from aisbench_core.settings import HOME
from aisbench_core.warehouse.exporting.columns import Sheet
from aisbench_core.warehouse.exporting.runs import RUNS
from aisbench_core.warehouse.exporting.series import SERIES
from aisbench_core.warehouse.store.schema import TABLES

DOCUMENT = HOME / "docs" / "export.md"
WAREHOUSE = HOME / "docs" / "warehouse.md"
HEAD = "| column | group | type | unit | content |\n|---|---|---|---|---|\n"


def document() -> str:
    """docs/export.md with both tables as the code would write them."""
    page = DOCUMENT.read_text("utf-8")
    for title, sheet in (("## Runs\n", RUNS), ("## Series\n", SERIES)):
        before, _, section = page.partition(title)
        head, _, after = section.partition(HEAD)
        page = before + title + head + HEAD + _rows(sheet) + re.sub(r"\A(\|.*\n)*", "", after)
    return page


def _rows(sheet: Sheet) -> str:
    return "".join(
        f"| `{column.name}` | {group} | {column.kind} | {column.unit} | {column.meaning} |\n"
        for group, columns in sheet.groups.items()
        for column in columns
    )


def test_the_page_describes_every_column() -> None:
    assert DOCUMENT.read_text("utf-8") == document(), "to write it anew: make docs"


def dictionary() -> str:
    """docs/warehouse.md with the tables of runs and results as the code would write them."""
    page = WAREHOUSE.read_text("utf-8")
    for table in (columns.RUNS, columns.RESULTS):
        before, title, section = page.partition(f"### `{table}`\n")
        head, mark, after = section.partition("|---|---|---|\n")
        rows = [f"| `{each.stored_name}` | {each.sql_type} | {_said(each)} |\n" for each in columns.stored_in(table)]
        page = before + title + head + mark + "".join(rows) + re.sub(r"\A(\|.*\n)*", "", after)
    return page


def _said(column: columns.Column) -> str:
    unit = f" ({column.unit})" if column.unit else ""
    return column.meaning + unit


def test_the_dictionary_describes_every_stored_column() -> None:
    assert WAREHOUSE.read_text("utf-8") == dictionary(), "to write it anew: make docs"


def test_the_documentation_names_every_column_of_every_table() -> None:
    section = (HOME / "docs" / "warehouse.md").read_text("utf-8").split("## Tables", 1)[1].split("\n## ", 1)[0]

    for table, declared in TABLES.items():
        described = section.split(f"### `{table}`", 1)[1].split("\n### ", 1)[0]
        assert set(declared) <= set(re.findall(r"`([a-z0-9_]+)`", described)), table

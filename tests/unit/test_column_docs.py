"""docs/columns.md lists every column of tables, views and exports once, as the code has them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from aisbench_core.config.settings import HOME
from aisbench_core.model.columns import COLUMNS, Column, stored_in
from aisbench_core.warehouse.answers.views import VIEWS, ViewColumn
from aisbench_core.warehouse.exporting.runs import RUNS
from aisbench_core.warehouse.exporting.series import SERIES
from aisbench_core.warehouse.tables.schema import TABLES

DOCUMENT = HOME / "docs" / "columns.md"
FIRST, LAST = "<!-- columns: begin -->\n", "<!-- columns: end -->\n"
OF_GROUPS = ("v_groups", "v_series")
OTHERS = [view for view in VIEWS if view.name not in ("v_runs", *OF_GROUPS)]


def document() -> str:
    """docs/columns.md with its tables as the code would write them."""
    before, found, rest = DOCUMENT.read_text("utf-8").partition(FIRST)
    assert found
    parts = [*_runs(), *_groups(), *_others()]
    return before + FIRST + "".join(parts) + LAST + rest.partition(LAST)[2]


def _runs() -> Iterator[str]:
    yield "\n## Runs\n\n"
    for column in COLUMNS:
        places = ", ".join([*(["view"] if column.in_view else []), *_exported(column), *_stored(column)])
        kind = "" if column.kind == "text" or column.unit else column.kind
        yield _line(column.name, kind, column.unit, places, meaning=_meaning(column))


def _line(name: str, *facts: str, meaning: str) -> str:
    return f"* `{name}` ({'; '.join(filter(None, facts))}): {meaning}\n" if any(facts) else f"* `{name}`: {meaning}\n"


def _exported(column: Column) -> Iterator[str]:
    if column.exported:
        yield _named(f"export:{column.exported.group}", column.exported.name, column.name)


def _stored(column: Column) -> Iterator[str]:
    if column.stored:
        yield _named(column.stored.table, column.stored_name, column.name)


def _named(place: str, name: str, usual: str) -> str:
    """A place with the column's name there, if it differs."""
    return f"{place} as `{name}`" if name and name != usual else place


def _meaning(column: Column) -> str:
    exported = column.exported.meaning if column.exported else ""
    return f"{column.meaning} (export: {exported})" if exported and exported != column.meaning else column.meaning


def _groups() -> Iterator[str]:
    of_runs = {(column.name, column.meaning) for column in _view("v_runs")}
    views = {name: {column.name: column for column in _view(name)} for name in OF_GROUPS}
    sheet = {column.name: (f"export:{group}", column) for group, columns in SERIES.groups.items() for column in columns}
    of_runs_export = {column.name: column.meaning for columns in RUNS.groups.values() for column in columns}
    shared, shared_export, rows = [], [], []
    for name in dict.fromkeys([*views["v_groups"], *views["v_series"], *sheet]):
        places = [view for view, columns in views.items() if name in columns]
        known = [views[view][name] for view in places]
        exported = [sheet[name]] if name in sheet else []
        if not known and name in of_runs_export and sheet[name][1].meaning == of_runs_export[name]:
            shared_export.append(f"`{name}`")
            continue
        if known and (name, known[0].meaning) in of_runs:
            shared.append(f"`{name}`")
            continue
        meanings = [*(each.meaning for each in known), *(each.meaning for _, each in exported)]
        unit = [*(each.unit for each in known), *(each.unit for _, each in exported)][0]
        where = ", ".join([*places, *(group for group, _ in exported)])
        rows.append(_line(name, unit, where, meaning=max(meanings, key=len)))
    as_in_runs = f"As in `v_runs`: {', '.join(shared)}. As in the export of runs: {', '.join(shared_export)}."
    yield f"\n## Groups and series\n\n{_rows_of(views)} {as_in_runs}\n\n"
    yield from rows


def _rows_of(views: Mapping[str, object]) -> str:
    return " ".join(f"A row of `{view.name}`: {view.row}." for view in VIEWS if view.name in views)


def _others() -> Iterator[str]:
    of_runs = {(column.name, column.meaning) for column in _view("v_runs")}
    shared = {
        view.name: [f"`{column.name}`" for column in view.columns if (column.name, column.meaning) in of_runs]
        for view in OTHERS
    }
    usual = shared["v_ranks"]
    yield "\n## Other views\n\n"
    yield f"Unless others are named, they have these columns of `v_runs`, too: {', '.join(usual)}.\n"
    for view in OTHERS:
        own = [column for column in view.columns if (column.name, column.meaning) not in of_runs]
        rows = "".join(_line(each.name, each.unit, meaning=each.meaning) for each in own)
        named = "" if shared[view.name] == usual else f" As in `v_runs`: {', '.join(shared[view.name])}."
        yield f"\n### `{view.name}`\n\nOne row: {view.row}.{named}\n\n{rows}"


def _view(name: str) -> Sequence[ViewColumn]:
    [columns] = [view.columns for view in VIEWS if view.name == name]
    return columns


def test_the_page_lists_every_column() -> None:
    assert DOCUMENT.read_text("utf-8") == document(), "to write it anew: make docs"


def test_every_stored_and_every_exported_column_has_its_row() -> None:
    rows = re.findall(r"^\* `(\w+)` (.+)$", document().split("\n## Groups", 1)[0], re.M)
    named = {name for first, rest in rows for name in (first, *re.findall(r"`(\w+)`", rest))}

    assert {column.stored_name for table in ("runs", "results") for column in stored_in(table)} <= named
    assert {*RUNS.names, *(column.name for column in _view("v_runs"))} <= named


def test_every_exported_statistic_has_its_row() -> None:
    section = document().split("\n## Groups and series", 1)[1].split("\n## ", 1)[0]

    assert set(SERIES.names) <= set(re.findall(r"`(\w+)`", section))


def test_every_other_table_is_described_with_its_columns() -> None:
    section = (HOME / "docs" / "warehouse.md").read_text("utf-8").split("## Tables", 1)[1].split("\n## ", 1)[0]

    for table in set(TABLES) - {"runs", "results"}:
        described = section.split(f"`{table}`", 1)[1].split("\n### ", 1)[0]
        assert set(TABLES[table]) <= set(re.findall(r"`([a-z0-9_]+)`", described)), table


def test_no_other_page_lists_the_columns_again() -> None:
    rows = [f"| `{name}` |" for name in ("throughput_per_node", "olympic_mean", "rank_cv", "cv_pct", "queue_s")]

    assert [page.name for page in _pages() for row in rows if row in page.read_text("utf-8")] == []


def _pages() -> list[Path]:
    return [page for page in (HOME / "docs").glob("*.md") if page != DOCUMENT]

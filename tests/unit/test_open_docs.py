"""docs/open.md lists each view with each column, its unit and its meaning, as the code has them."""

import re
from collections.abc import Iterator

from aisbench_core.settings import HOME
from aisbench_core.warehouse.answers.sorts import RUN_SORTS
from aisbench_core.warehouse.open.queries import SECONDS
from aisbench_core.warehouse.open.views import VIEWS, ViewColumn
from aisbench_core.warehouse.store.reading import MEMORY

DOCUMENT = HOME / "docs" / "open.md"
HEAD = "### `v_runs`\n"
BEHIND = "\n## "


def document() -> str:
    """docs/open.md with the views as the code would write them."""
    page = DOCUMENT.read_text("utf-8")
    before, _, after = page.partition(HEAD)
    behind = after.partition(BEHIND)
    return f"{before.rstrip()}\n\n" + "\n".join(_views()) + "".join(behind[1:])


def _views() -> Iterator[str]:
    for view in VIEWS:
        rows = "".join(map(_row, view.columns))
        yield f"### `{view.name}`\n\nOne row: {view.row}.\n\n| column | unit | meaning |\n|---|---|---|\n{rows}"


def _row(column: ViewColumn) -> str:
    unit = f"`{column.unit}`" if column.unit == "throughput_unit" else column.unit
    return f"| `{column.name}` | {unit or '–'} | {column.meaning} |\n"


def test_the_page_lists_every_column_of_every_view_with_its_unit() -> None:
    assert DOCUMENT.read_text("utf-8") == document(), "to write it anew: make docs"


def test_every_view_tells_the_kind_of_its_rows() -> None:
    for view in VIEWS:
        assert {"region", "rehearsal", "synthetic_data"} <= {column.name for column in view.columns}, view.name
        assert len({column.name for column in view.columns}) == len(view.columns), view.name


def test_the_page_names_the_limits() -> None:
    page = DOCUMENT.read_text("utf-8")

    assert f"{SECONDS:g} s (`--seconds`), {MEMORY.replace('GiB', ' GiB')} of memory" in page


def test_what_runs_can_be_sorted_by_is_named() -> None:
    (told,) = re.findall(r"Runs are sorted by (.+?);", DOCUMENT.read_text("utf-8"), re.DOTALL)

    assert tuple(re.findall(r"`(\w+)`", told)) == RUN_SORTS

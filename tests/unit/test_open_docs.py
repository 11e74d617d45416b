"""docs/open.md names every view and the limits of queries; docs/columns.md lists the views' columns."""

import re

from aisbench_core.config.settings import HOME
from aisbench_core.warehouse.answers.views import VIEWS
from aisbench_core.warehouse.measures.sorts import RUN_SORTS
from aisbench_core.warehouse.open.queries import SECONDS
from aisbench_core.warehouse.open.reading import MEMORY

DOCUMENT = HOME / "docs" / "open.md"


def test_the_page_says_what_a_row_of_each_view_is() -> None:
    section = DOCUMENT.read_text("utf-8").split("## The views", 1)[1].split("\n## ", 1)[0]

    assert sorted(set(re.findall(r"`(v_\w+)`", section))) == sorted(view.name for view in VIEWS)


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

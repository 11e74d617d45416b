"""What pages keep of the warehouse's answers, and that nothing on a page is older than the warehouse."""

from pathlib import Path

from aisbench_core.warehouse import Warehouse
from aisbench_core.warehouse.values import BoardQuery
from pages._ui.shell.core import cached
from tests import records as a
from tests.console.conftest import OpenPage
from tests.console.test_results import table

LAB = "id: lab\nextends: aisbench/1\ntitle: Lab\nedition: '1'\nsource: here\nrun:\n  V05: {{share: {share}}}\n"


def test_a_page_shows_what_was_recorded_since_it_was_drawn(open_page: OpenPage, used: Path) -> None:
    app = open_page("leaderboard")
    before = list(table(app)["Runs counted"])
    Warehouse(used / "warehouse.duckdb").record(a.record("fresh", throughputs=[1000.0] * 8))

    app.run()

    assert sum(table(app)["Runs counted"]) == sum(before) + 1


def test_the_warehouse_is_asked_again_only_when_it_has_changed(used: Path) -> None:
    warehouse = Warehouse(used / "warehouse.duckdb")
    queries: list[BoardQuery] = []
    query = BoardQuery("cn-north-9")

    cached(queries.append, query)
    cached(queries.append, query)
    assert len(queries) == 1
    warehouse.record(a.record("fresh"))
    cached(queries.append, query)

    assert len(queries) == 2


def test_a_ruleset_that_was_changed_decides_anew(used: Path) -> None:
    queries: list[BoardQuery] = []
    query = BoardQuery("cn-north-9", ruleset_id="lab")
    file = used / "rulesets" / "lab.yaml"
    file.parent.mkdir()
    file.write_text(LAB.format(share=0.9), "utf-8")

    cached(queries.append, query)
    file.write_text(LAB.format(share=0.8), "utf-8")
    cached(queries.append, query)
    cached(queries.append, query)

    assert len(queries) == 2

"""The demo history: there at a click, marked, never among measurements, and gone at a click."""

from pathlib import Path

from aisbench_core.exchange.importing import demo
from aisbench_core.exchange.importing.choices import DEMO_REGION
from aisbench_core.model import WayIn, local_actor
from aisbench_core.warehouse.values.runs import BoardQuery
from pages._ui.shell.core import core
from tests.console.conftest import OpenPage, texts

QUERY = BoardQuery(DEMO_REGION, include_invalid=True, limit=1000)
ACTOR = local_actor("ada", WayIn.CONSOLE)


def test_an_empty_console_offers_a_demo_and_removes_it_without_a_trace(open_page: OpenPage, data_dir: Path) -> None:
    app = open_page("home")

    app.button(key="demo-add").click().run()
    assert not app.exception
    assert ":red[−4.1 … −4.5 % on 1, 2, 4, 8 nodes]" in texts(app)
    assert "Demo history: these results are generated" in texts(app)

    app.button(key="demo-remove").click().run()
    assert not app.exception
    assert "No results yet." in texts(app)
    assert core().warehouse.facets.list_regions() == []
    assert [*(data_dir / "runs").iterdir()] == []


def test_a_console_with_results_offers_the_demo_too(open_page: OpenPage, used: Path) -> None:
    assert used.exists()
    app = open_page("home")

    app.button(key="demo-add").click().run()

    assert "Demo history: these results are generated" in texts(app)
    assert not [button for button in app.button if button.key == "demo-add"]


def test_results_of_the_demo_are_imported_rehearsals(data_dir: Path) -> None:
    assert data_dir.exists()
    core().imports.add_demo(ACTOR)

    runs = core().warehouse.runs.list_rows(QUERY)

    assert runs.rehearsal
    assert {row.origin for row in runs.rows} == {"imported"}
    assert {row.source for row in runs.rows} == {demo.SOURCE}


def test_the_demo_is_there_once_and_the_same_for_everybody(data_dir: Path) -> None:
    assert data_dir.exists()
    assert core().imports.add_demo(ACTOR) == 120
    first = {row.run_id: row.throughput for row in core().warehouse.runs.list_rows(QUERY).rows}

    assert core().imports.add_demo(ACTOR) == 0
    assert core().imports.remove_demo(ACTOR) == 120
    assert core().imports.remove_demo(ACTOR) == 0
    core().imports.add_demo(ACTOR)

    assert {row.run_id: row.throughput for row in core().warehouse.runs.list_rows(QUERY).rows} == first


def test_removing_the_demo_leaves_every_other_run(used: Path) -> None:
    assert used.exists()
    before = {region: region.runs for region in core().warehouse.facets.list_regions()}
    core().imports.add_demo(ACTOR)

    core().imports.remove_demo(ACTOR)

    assert {region: region.runs for region in core().warehouse.facets.list_regions()} == before

"""The page of a leaderboard row: its numbers at a glance, and the ways on."""

from pathlib import Path

from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests.console.conftest import OpenPage, drawn, texts
from tests.console.grids import Grid


def test_a_row_shows_its_rank_history_curve_and_runs(open_page: OpenPage, used: Path) -> None:
    store = Warehouse(used / "warehouse.duckdb")
    region = store.facets.list_regions()[0]
    rows = store.board.list_rows(BoardQuery(region.region, rehearsal=region.rehearsal)).rows
    row = next(row for row in rows if row.throughput is not None and row.rank_from is not None)

    app = open_page("configuration", run=row.latest_run_id)

    shown = {metric.label: metric.value for metric in app.metric}
    unit = row.throughput_unit
    ranked = sum(other.rank_from is not None for other in rows if other.fingerprint == row.fingerprint)
    rank = f"Rank of {ranked}" if row.is_confirmed else f"Rank of {ranked} (unconfirmed)"
    assert list(shown) == [f"Median ({unit})", f"Per card ({unit})", rank, "Vs. best", "Valid runs"]
    assert shown[rank] == row.rank
    assert shown["Valid runs"].startswith(f"{row.runs} / ")
    assert drawn(app)
    assert row.latest_run_id in Grid(app).ids
    assert not {"workload", "version", "hardware", "size"} & {*Grid(app).labels}, "what all runs share stands above"
    assert Grid(app).row(row.latest_run_id).href == f"live?run={row.latest_run_id}&lang=en"
    assert "Add tags" in [button.label for button in Grid(app).tick(row.latest_run_id).button]
    assert "Measured by" in texts(app)
    assert not app.exception


def test_a_page_without_a_run_or_with_an_unknown_one_says_what_to_do(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    assert "Tick a row of the leaderboard" in texts(open_page("configuration"))
    unknown = open_page("configuration", run="nobody")

    assert "No recorded run nobody." in texts(unknown)
    assert not unknown.exception


def test_every_run_of_the_console_has_a_configuration(open_page: OpenPage, used: Path) -> None:
    with Warehouse(used / "warehouse.duckdb").cursor() as cur:
        run_ids = [run_id for (run_id,) in cur.execute("select run_id from runs order by run_id").fetchall()]

    for run_id in run_ids[:8]:
        app = open_page("configuration", run=run_id)
        assert not app.exception
        assert len(app.metric) == 5

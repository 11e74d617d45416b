"""*Show on the leaderboard* leads from the page of every ended run to a row of it."""

from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.model import RunState
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import OpenPage, texts
from tests.console.grids import Grid

ENDED = {
    "measured": a.record("it"),
    "missed": a.record("it", accuracy=0.1),
    "invalid": a.record("it", throughputs=[1.0] * 3),
    "imported": a.imported("it"),
    "rehearsal": a.record("it", region="sandbox", rehearsal=True),
    "failed": a.record("it", state=RunState.FAILED, with_result=False),
    "failed rehearsal": a.record("it", region="sandbox", rehearsal=True, state=RunState.FAILED, with_result=False),
    "stopped": a.record("it", state=RunState.STOPPED, with_result=False),
}


def board_of(open_page: OpenPage, run_id: str) -> AppTest:
    """The leaderboard that the link on the run's page opens."""
    [link] = [
        link for link in open_page("live", run=run_id).page_link if link.label.startswith("Show on the leaderboard")
    ]
    return open_page("leaderboard", **{name: values[0] for name, values in parse_qs(link.proto.query_string).items()})


@pytest.mark.parametrize("kind", ENDED)
@pytest.mark.parametrize("is_in_ledger", [True, False])
def test_the_row_of_a_run_is_one_click_away(open_page: OpenPage, data_dir: Path, kind: str, is_in_ledger: bool) -> None:
    record = ENDED[kind]
    others = [a.record("other"), a.record("rehearsed", region="sandbox", rehearsal=True), a.imported("brought")]
    Warehouse(data_dir / "warehouse.duckdb").record_many([*others, record])
    if is_in_ledger and record.imported is None:
        Ledger(data_dir / "ledger.sqlite3").add(record.run)

    board = board_of(open_page, "it")

    assert "No run matches" not in texts(board)
    assert "it" in Grid(board).ids


def test_it_is_found_among_more_runs_than_a_page_has(open_page: OpenPage, data_dir: Path) -> None:
    oldest = a.record("oldest", created_at=a.T0 - timedelta(days=1))
    Warehouse(data_dir / "warehouse.duckdb").record_many([*a.records([9000.0 + n for n in range(60)]), oldest])

    board = board_of(open_page, "oldest")

    assert Grid(board).ids == ["oldest"]

"""What pages keep of answers, and that nothing on a page is older than the warehouse or the ledger."""

import time
from pathlib import Path

from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from pages._ui.shell.core import ledger_answer, run_cached
from tests import records as a
from tests.console.conftest import OpenPage
from tests.console.grids import Grid

LAB = "id: lab\nextends: aisbench/1\ntitle: Lab\nedition: '1'\nsource: here\nrun:\n  V05: {{share: {share}}}\n"


def test_a_page_shows_what_was_recorded_since_it_was_drawn(open_page: OpenPage, used: Path) -> None:
    app = open_page("leaderboard", tab="all")
    before = sum(map(int, Grid(app).column("runs")))
    Warehouse(used / "warehouse.duckdb").record(a.record("fresh", throughputs=[1000.0] * 8))

    app.run()

    assert sum(map(int, Grid(app).column("runs"))) == before + 1


def test_the_warehouse_is_asked_again_only_when_it_has_changed(used: Path) -> None:
    warehouse = Warehouse(used / "warehouse.duckdb")
    queries: list[BoardQuery] = []
    query = BoardQuery("cn-north-9")

    run_cached(queries.append, query)
    run_cached(queries.append, query)
    assert len(queries) == 1
    warehouse.record(a.record("fresh"))
    run_cached(queries.append, query)

    assert len(queries) == 2


def test_a_ruleset_that_was_changed_decides_anew(used: Path) -> None:
    queries: list[BoardQuery] = []
    query = BoardQuery("cn-north-9", ruleset_id="lab")
    file = used / "rulesets" / "lab.yaml"
    file.parent.mkdir()
    file.write_text(LAB.format(share=0.9), "utf-8")

    run_cached(queries.append, query)
    file.write_text(LAB.format(share=0.8), "utf-8")
    run_cached(queries.append, query)
    run_cached(queries.append, query)

    assert len(queries) == 2


def test_the_ledger_is_read_once_for_all_sessions_until_it_changes(used: Path) -> None:
    ledger = Ledger(used / "ledger.sqlite3")
    reads: list[str] = []
    wait_for_a_revision(ledger)

    ledger_answer(reads.append, "before")
    ledger_answer(reads.append, "before")
    assert reads == ["before"]
    ledger.beat("somebody", a.T0)
    ledger_answer(reads.append, "before")
    ledger_answer(reads.append, "before")

    assert reads == ["before"] * 3, "a file that was just written has no revision"
    wait_for_a_revision(ledger)
    ledger_answer(reads.append, "before")
    ledger_answer(reads.append, "before")
    assert len(reads) == 4


def wait_for_a_revision(ledger: Ledger) -> None:
    end = time.monotonic() + 10
    while ledger.revision() is None and time.monotonic() < end:
        time.sleep(0.01)

"""A console that has been used for a while: runs in every state, and results of two regions."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from aisbench_core.config.settings import Settings
from aisbench_core.model import (
    Event,
    ExpectedCost,
    Level,
    Progress,
    Role,
    Run,
    RunRecord,
    RunState,
)
from aisbench_core.people.budgets.holds import admit_run
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.wiring import open_core
from tests.actors import TESTER
from tests.records import T0, record, records, run, spec

ACTIVE_RUN = "20260301-080000-aaaa"
RETRYING_RUN = "20260301-080100-bbbb"
FAILED_RUN = "20260301-080200-cccc"
STOPPED_RUN = "20260301-080300-dddd"
DONE_RUN = "run-n1-0"
PAID_RUN = "20260301-080400-eeee"
HELD_RUN = "20260301-080500-ffff"
PRICE: dict[str, Any] = {"price_per_node_hour": 40.0, "currency": "CNY"}


def fill(data_dir: Path) -> None:
    """Put runs into the ledger, and results into the warehouse."""
    ledger = Ledger(data_dir / "ledger.sqlite3")
    for each in runs():
        ledger.add(each, Event(each.run_id, each.created_at, "console", Level.INFO, "launched", each.created_by))
    for recorded in history():
        ledger.add(recorded.run)
    ledger.set_progress(Progress(ACTIVE_RUN, RunState.UPLOADING, 12, 48, "files", T0))
    ledger.note(Event(ACTIVE_RUN, T0 + timedelta(seconds=4), "follower", Level.INFO, "uploading 48 files"))
    ledger.note(Event(RETRYING_RUN, T0 + timedelta(seconds=9), "follower", Level.WARNING, "cannot reach ModelArts"))
    warehouse = Warehouse(data_dir / "warehouse.duckdb")
    warehouse.rebuild(history())


def spend(data_dir: Path) -> None:
    """Three months of paid runs and one without a price, budgets that are nearly used, and a launch that one holds."""
    core = open_core(Settings(data_dir=data_dir))
    for month in range(3):
        recorded = record(f"run-paid-{month}", created_at=T0 - timedelta(days=31 * month), framework_version="r1.9")
        core.warehouse.record(replace(recorded, run=replace(recorded.run, **PRICE)))
    core.warehouse.record(record("run-not-priced", created_by="bob", framework_version="r1.9"))
    core.budgets.save({"scope": "everybody", "name": "", "amount": 1000, "currency": "CNY"}, TESTER)
    core.budgets.save({"scope": "person", "name": "ann", "amount": 500, "currency": "CNY"}, TESTER)
    core.people.set_role("bob", Role.ENGINEER, TESTER)
    now = datetime.now(UTC)

    def launch(run_id: str, cost: float) -> None:
        nothing_done: dict[str, Any] = {"code_sha256": "", "submitted_at": None, "job_id": "", "started_at": None}
        asked = _run(run_id, RunState.PREPARING, 0, created_at=now, version=0, **nothing_done, **PRICE)
        expected = ExpectedCost(cost, "CNY", "")
        core.ledger.add(asked, check=lambda con, one: admit_run(con, one, expected, now + timedelta(days=7)))

    launch(PAID_RUN, 450.0)
    launch(HELD_RUN, 160.0)


def runs() -> list[Run]:
    """One run on its way, one that meets trouble, one that failed and one that was stopped."""
    return [
        _run(ACTIVE_RUN, RunState.UPLOADING, 0, detail="uploading the code", job_id=""),
        _run(RETRYING_RUN, RunState.RUNNING, 1, detail="cannot reach ModelArts: no answer in 60 s", attempts=3),
        _run(FAILED_RUN, RunState.FAILED, 2, detail="throughput_3.json holds nan, which is no measurement"),
        _run(STOPPED_RUN, RunState.STOPPED, 3, detail="stopped by console"),
    ]


def history() -> list[RunRecord]:
    """Results on 1, 2 and 4 nodes, of two versions, one of them not valid; and rehearsals."""
    return [
        *records([7_900, 8_000, 8_100], "run-n1"),
        *records([15_600, 15_700], "run-n2", node_count=2),
        *records([30_100], "run-n4", node_count=4),
        *records([8_400], "run-new", framework_version="r1.11"),
        record("run-bad", throughputs=[1000.0] * 5, created_at=T0 + timedelta(hours=1)),
        record("run-pretended", region="sandbox", rehearsal=True, flavor="sandbox.cpu.2cards", cards_per_node=2),
    ]


def many(count: int) -> list[Run]:
    """So many completed runs, a second apart."""
    return [run(f"old-{index:04}", created_at=T0 - timedelta(seconds=index)) for index in range(count)]


def _run(run_id: str, state: RunState, minute: int, **changes: object) -> Run:
    at: datetime = T0 + timedelta(minutes=minute)
    base = run(run_id, spec(node_count=2), created_at=at, state=state)
    ended = {} if state.is_terminal else {"ended_at": None, "duration_s": None}
    return replace(base, **{**ended, **changes})  # type: ignore[arg-type]  # a test names the fields it means

"""Budgets in money: what counts, what is held and why, and that racing launches never exceed one."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from aisbench_core.base.errors import ConfigError
from aisbench_core.config.settings import HOME
from aisbench_core.maintenance.upgrading.ledger_tables import upgrade_ledger
from aisbench_core.model import Budget, BudgetScope, ExpectedCost, Run, RunState, StoredBudget
from aisbench_core.people.budgets.holds import admit_run
from aisbench_core.people.budgets.ledger import BudgetLedger
from aisbench_core.store.ledger.database.address import LedgerAddress
from aisbench_core.store.ledger.database.ledger_schema import SQLITE
from aisbench_core.store.ledger.ledger import Check, Ledger
from tests import records as a
from tests.stored_schemas import ledger_of

PRICE = 10.0
"""Of a node hour."""


def new(run_id: str, by: str = "ann", **changes: object) -> Run:
    """A launch at 08:00 on 1 March."""
    usual: dict[str, object] = {"state": RunState.PREPARING, "created_by": by, "version": 0, "started_at": None}
    usual |= {"ended_at": None, "duration_s": None}
    return replace(a.run(run_id), **(usual | {"price_per_node_hour": PRICE, "currency": "CNY"} | changes))  # type: ignore[arg-type]  # its own fields


def costing(amount: float | None, currency: str = "CNY", unknown: str = "") -> Check:
    """What the ledger checks for a launch of this cost."""
    cost = ExpectedCost(amount, currency, unknown)
    return lambda con, run: admit_run(con, run, cost, run.created_at + timedelta(days=7))


@pytest.fixture
def ledger(ledger_location: Path | LedgerAddress) -> Ledger:
    return Ledger(ledger_location)


Limit = Callable[..., None]


@pytest.fixture
def limit(ledger: Ledger) -> Limit:
    """Set a budget."""

    def set_(amount: float, scope: str = "person", name: str = "", currency: str = "CNY", **changes: object) -> None:
        budget = Budget(scope=BudgetScope(scope), name=name, amount=amount, currency=currency, **changes)  # type: ignore[arg-type]  # its own fields
        BudgetLedger(ledger).set(StoredBudget(budget, a.T0, "root"))

    return set_


def test_a_launch_that_the_budget_has_no_room_for_is_held_with_the_amounts(ledger: Ledger, limit: Limit) -> None:
    limit(100)
    fits = ledger.add(new("fits"), check=costing(60))

    held = ledger.add(new("held"), check=costing(60))

    assert (fits.state, held.state) == (RunState.PREPARING, RunState.HELD)
    assert str(held.detail) == (
        "this launch is expected to cost 60.00 CNY; the budget of ann for 2026-03 is 100.00 CNY, with 0.00 CNY spent"
        " and 60.00 CNY reserved"
    )
    assert ledger.add(new("smaller"), check=costing(40)).state is RunState.PREPARING, "held ones reserve nothing"
    assert ledger.add(new("of bob", by="bob"), check=costing(60)).state is RunState.PREPARING


def test_a_reservation_becomes_the_cost_when_the_run_ends_however_it_ends(ledger: Ledger, limit: Limit) -> None:
    limit(100)
    launched = ledger.add(new("first"), check=costing(100))
    failed = replace(launched, state=RunState.FAILED, started_at=a.T0, duration_s=3600.0)

    ledger.advance(launched, failed)

    [use] = BudgetLedger(ledger).uses(a.T0)
    assert (use.subject, use.spent, use.reserved, use.left) == ("ann", PRICE, 0.0, 90.0)
    assert ledger.add(new("second"), check=costing(90)).state is RunState.PREPARING
    assert ledger.add(new("third"), check=costing(1)).state is RunState.HELD


def test_a_run_that_takes_longer_than_expected_counts_with_what_it_has_cost_so_far(
    ledger: Ledger, limit: Limit
) -> None:
    limit(100)
    launched = ledger.add(new("long"), check=costing(10))
    ledger.advance(launched, replace(launched, state=RunState.RUNNING, started_at=a.T0))

    [after_an_hour] = BudgetLedger(ledger).uses(a.T0 + timedelta(hours=0.5))
    [after_three] = BudgetLedger(ledger).uses(a.T0 + timedelta(hours=3))

    assert (after_an_hour.spent, after_an_hour.reserved) == (5.0, 5.0)
    assert (after_three.spent, after_three.reserved) == (30.0, 0.0)


def test_every_month_begins_with_the_whole_budget(ledger: Ledger, limit: Limit) -> None:
    limit(100)
    last = datetime(2026, 3, 31, 23, 59, tzinfo=UTC)
    ledger.add(new("in march", created_at=last), check=costing(100))

    assert ledger.add(new("still march", created_at=last), check=costing(1)).state is RunState.HELD
    in_april = ledger.add(new("in april", created_at=last + timedelta(minutes=1)), check=costing(100))
    assert in_april.state is RunState.PREPARING


def test_a_budget_by_name_counts_instead_of_that_of_each_person(ledger: Ledger, limit: Limit) -> None:
    limit(10)
    limit(500, name="ann")

    assert ledger.add(new("of ann"), check=costing(400)).state is RunState.PREPARING
    assert ledger.add(new("of bob", by="bob"), check=costing(11)).state is RunState.HELD


@pytest.mark.every_store
def test_everybody_has_a_budget_together(ledger: Ledger, limit: Limit) -> None:
    limit(100, "everybody")
    ledger.add(new("of ann"), check=costing(70))

    held = ledger.add(new("of bob", by="bob"), check=costing(70))

    assert held.state is RunState.HELD
    assert "the budget of everybody for 2026-03 is 100.00 CNY" in str(held.detail)


def test_currencies_are_never_added(ledger: Ledger, limit: Limit) -> None:
    limit(100)
    ledger.add(new("in yuan"), check=costing(100))

    held = ledger.add(new("in dollars", currency="USD"), check=costing(5, "USD"))
    limit(5, currency="USD")
    fits = ledger.add(new("with a budget", currency="USD"), check=costing(5, "USD"))

    assert held.state is RunState.HELD
    assert str(held.detail) == "this launch is expected to cost 5.00 USD, but the budget of ann is in CNY"
    assert fits.state is RunState.PREPARING
    assert {use.budget.currency: use.reserved for use in BudgetLedger(ledger).uses(a.T0)} == {"CNY": 100.0, "USD": 5.0}


def test_an_unknown_cost_is_not_zero_unless_an_admin_allows_it(ledger: Ledger, limit: Limit) -> None:
    unknown = costing(None, "", "profile lab has no price of big.flavor")
    limit(1_000_000)
    held = ledger.add(new("held", price_per_node_hour=None, currency=""), check=unknown)
    limit(1_000_000, allow_unknown=True)
    allowed = ledger.add(new("allowed", price_per_node_hour=None, currency=""), check=unknown)

    assert held.state is RunState.HELD
    assert str(held.detail) == (
        "the cost of this launch is unknown (profile lab has no price of big.flavor), and the budget of ann requires"
        " approval for that"
    )
    assert allowed.state is RunState.PREPARING


def test_what_costs_nothing_is_never_held(ledger: Ledger, limit: Limit) -> None:
    limit(0)

    assert ledger.add(new("rehearsal"), check=costing(0.0, "")).state is RunState.PREPARING
    assert ledger.add(new("dear"), check=costing(0.01)).state is RunState.HELD


def test_without_budgets_nothing_is_held(ledger: Ledger) -> None:
    assert ledger.add(new("any"), check=costing(1e9)).state is RunState.PREPARING


def test_a_removed_budget_holds_nothing_more_and_one_that_is_not_there_is_named(ledger: Ledger, limit: Limit) -> None:
    limit(1)
    budgets = BudgetLedger(ledger)

    budgets.remove(BudgetScope.PERSON, "", "CNY")

    assert ledger.add(new("any"), check=costing(5)).state is RunState.PREPARING
    with pytest.raises(ConfigError, match="there is no such budget"):
        budgets.remove(BudgetScope.PERSON, "", "CNY")


def test_a_repeated_launch_reserves_once(ledger: Ledger, limit: Limit) -> None:
    limit(100)

    runs = [ledger.add(new(f"try-{number}"), token="pressed", check=costing(60)) for number in range(3)]

    assert {run.run_id for run in runs} == {"try-0"}
    [use] = BudgetLedger(ledger).uses(a.T0)
    assert use.reserved == 60.0


RACE = """
import sys
from pathlib import Path
from aisbench_core.store.ledger.ledger import Ledger
from tests.stores.test_budgets import race
from tests.team_ledger import location_of
race(Ledger(location_of(sys.argv[1], Path(sys.argv[2]))), sys.argv[3])
"""


def race(ledger: Ledger, name: str) -> None:
    """Eight threads, each of which tries to launch three runs of ann that cost 30."""

    def launch(thread: int) -> None:
        for number in range(3):
            ledger.add(new(f"{name}-{thread}-{number}"), check=costing(30))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(launch, range(8)))


@pytest.mark.every_store
def test_racing_threads_and_processes_never_exceed_a_budget(
    ledger: Ledger, ledger_url: str, limit: Limit, tmp_path: Path
) -> None:
    limit(200)
    command = [sys.executable, "-c", RACE, ledger_url, str(tmp_path / "data" / "ledger.sqlite3")]
    others = [subprocess.Popen([*command, name], cwd=HOME) for name in ("b", "c", "d")]

    race(ledger, "a")

    assert [other.wait(60) for other in others] == [0, 0, 0]
    states = ledger.states()
    assert (states[RunState.PREPARING], states[RunState.HELD]) == (6, 90)
    [use] = BudgetLedger(ledger).uses(a.T0)
    assert (use.reserved, use.left) == (180.0, 20.0)


def test_costs_of_runs_that_an_earlier_version_stored_count(tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite3"
    with sqlite3.connect(file) as con:
        con.executescript(ledger_of(11).read_text("utf-8"))
        con.execute("update runs set currency = 'CNY', price_per_node_hour = 10 where run_id = 'r-2'")
        con.isolation_level = None
        upgrade_ledger(con, SQLITE)
    run = Ledger(file).get("r-2")
    budget = Budget(scope=BudgetScope.EVERYBODY, amount=100, currency="CNY")

    BudgetLedger(Ledger(file)).set(StoredBudget(budget, a.T0, "root"))

    [use] = BudgetLedger(Ledger(file)).uses(a.T0)
    assert run.duration_s
    assert use.spent == pytest.approx(10 * run.spec.node_count * run.duration_s / 3600)

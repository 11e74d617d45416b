"""Budgets that are nearly used are an event for notifications: once for each month and amount, whoever follows."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.model import Budget, BudgetScope, NewsKind, RunState, StoredBudget
from aisbench_core.people.budgets import alerts
from aisbench_core.people.budgets.alerts import PAUSE, BudgetAlerts
from aisbench_core.people.budgets.ledger import BudgetLedger
from aisbench_core.store.ledger.database.address import LedgerAddress
from aisbench_core.store.ledger.ledger import Ledger, add_notice
from aisbench_core.store.ledger.outbox import Outbox
from tests import records as a
from tests.processes import FORKED
from tests.stores.test_budgets import PRICE, costing, new

pytestmark = pytest.mark.slow


@pytest.fixture
def ledger(ledger_location: Path | LedgerAddress) -> Ledger:
    return Ledger(ledger_location)


def limit(ledger: Ledger, amount: float, scope: str = "person", name: str = "") -> None:
    budget = Budget(scope=BudgetScope(scope), name=name, amount=amount, currency="CNY")
    BudgetLedger(ledger).set(StoredBudget(budget, a.T0, "root"))


def check(ledger: Ledger, at: datetime = a.T0) -> None:
    """What a follower does that has just begun to lead."""
    BudgetAlerts(ledger, BudgetLedger(ledger), lambda: at).tick()


def alerts_of(ledger: Ledger) -> list[tuple[str, str]]:
    """Subjects and texts of the notices, which are removed as when they have been sent."""
    notices = Outbox(ledger).notices()
    for notice in notices:
        Outbox(ledger).forget(notice)
    return [(notice.subject, str(notice.text)) for notice in notices if notice.kind == NewsKind.BUDGET]


def test_a_budget_is_an_event_at_four_fifths_and_again_when_it_is_used_up(ledger: Ledger) -> None:
    limit(ledger, 100)
    ledger.add(new("small"), check=costing(79))
    check(ledger)
    assert alerts_of(ledger) == []

    ledger.add(new("next"), check=costing(1))
    for _ in range(3):
        check(ledger)
    nearly_used = alerts_of(ledger)
    ledger.add(new("last"), check=costing(20))
    for _ in range(3):
        check(ledger)

    start = "the budget of ann for 2026-03 has reached"
    assert nearly_used == [
        ("person ann", f"{start} 80 %: 0.00 CNY spent and 80.00 CNY reserved of 100.00 CNY"),
    ]
    assert alerts_of(ledger) == [
        ("person ann", f"{start} 100 %: 0.00 CNY spent and 100.00 CNY reserved of 100.00 CNY"),
    ]


def test_a_launch_that_uses_a_budget_up_is_one_event(ledger: Ledger) -> None:
    limit(ledger, 100, "everybody")
    ledger.add(new("all of it"), check=costing(100))

    check(ledger)
    check(ledger)

    [(subject, text)] = alerts_of(ledger)
    assert subject == "everybody"
    assert text.startswith("the budget of everybody for 2026-03 has reached 100 %")


@pytest.mark.every_store
def test_what_became_less_and_more_again_is_no_second_event(ledger: Ledger) -> None:
    limit(ledger, 100)
    launched = ledger.add(new("cheaper than expected"), check=costing(80))
    check(ledger)
    ended = replace(launched, state=RunState.COMPLETED, started_at=a.T0, duration_s=3600.0)
    ledger.advance(launched, ended)
    check(ledger)
    ledger.add(new("another"), check=costing(80 - PRICE))

    check(ledger)

    assert len(alerts_of(ledger)) == 1


def test_another_month_and_another_amount_are_new_events(ledger: Ledger) -> None:
    limit(ledger, 100)
    ledger.add(new("march"), check=costing(80))
    check(ledger)
    april = a.T0 + timedelta(days=35)
    ledger.add(new("april", created_at=april), check=costing(85))

    check(ledger, april)
    limit(ledger, 101)
    check(ledger, april)

    months = [text.split(" has")[0][-7:] for _, text in alerts_of(ledger)]
    assert months == ["2026-03", "2026-04", "2026-04"]


def test_a_budget_of_nothing_is_no_event_before_something_is_spent(ledger: Ledger) -> None:
    limit(ledger, 0, name="ann")

    check(ledger)

    assert alerts_of(ledger) == []


def test_a_follower_checks_once_a_minute(ledger: Ledger) -> None:
    now = a.T0
    follower = BudgetAlerts(ledger, BudgetLedger(ledger), lambda: now)
    limit(ledger, 100)
    follower.tick()
    ledger.add(new("nearly all"), check=costing(90))

    follower.tick()
    assert alerts_of(ledger) == []
    now += PAUSE
    follower.tick()
    assert len(alerts_of(ledger)) == 1


@pytest.mark.every_store
def test_followers_that_check_at_the_same_time_make_one_event(ledger: Ledger) -> None:
    for number in range(5):
        limit(ledger, 100, name=f"p{number}")
        ledger.add(new(f"r{number}", by=f"p{number}"), check=costing(90))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: check(ledger), range(24)))

    assert sorted(subject for subject, _ in alerts_of(ledger)) == [f"person p{number}" for number in range(5)]


def _dies_at(file: Path, step: str) -> None:
    """A follower that is killed before or after it stores the notice, or after the transaction."""

    def dies(*values: Any) -> None:
        if step == "after":
            add_notice(*values)
        os.kill(os.getpid(), signal.SIGKILL)

    if step != "committed":
        vars(alerts)["add_notice"] = dies
    check(Ledger(file))
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("step", ["before", "after", "committed"])
def test_a_kill_at_any_step_loses_no_event_and_repeats_none(tmp_path: Path, step: str) -> None:
    file = tmp_path / "ledger.sqlite3"
    ledger = Ledger(file)
    limit(ledger, 100)
    ledger.add(new("nearly all"), check=costing(90))
    process = FORKED.Process(target=_dies_at, args=(file, step))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL

    check(ledger)
    check(ledger)

    assert len(alerts_of(ledger)) == 1


def test_a_damaged_ledger_ends_no_follower(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite3")
    with ledger.transaction() as con:
        con.execute("drop table budget_alerts")

    check(ledger)

    assert "budgets: " in caplog.text

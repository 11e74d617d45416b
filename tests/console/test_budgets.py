"""Budgets on pages: bars on Spending, the form for admins, and the decision on a held launch on its page."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.base.clock import utc_now
from aisbench_core.base.messages import Message
from aisbench_core.model import Budget, BudgetScope, ExpectedCost, Run, RunState, StoredBudget
from aisbench_core.people.budgets.holds import admit_run
from aisbench_core.people.budgets.ledger import BudgetLedger
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.series import hold_series
from tests import records as a
from tests.console.conftest import OpenPage, texts
from tests.series_bench import SeriesBench


def launched(ledger: Ledger, run_id: str, amount: float) -> Run:
    """A launch of ann now, which is expected to cost so much."""
    now = utc_now()
    run = replace(
        a.run(run_id, created_at=now), state=RunState.PREPARING, created_by="ann", version=0, started_at=None,
        ended_at=None, duration_s=None, price_per_node_hour=10.0, currency="CNY", job_id="",
    )  # fmt: skip
    cost = ExpectedCost(amount, "CNY")
    return ledger.add(run, check=lambda con, one: admit_run(con, one, cost, now))


@pytest.fixture
def ledger(data_dir: Path) -> Ledger:
    """Ann has launched for 85 of 100 CNY; another launch of 30 is held."""
    ledger = Ledger(data_dir / "ledger.sqlite3")
    budget = Budget(scope=BudgetScope.PERSON, amount=100, currency="CNY")
    BudgetLedger(ledger).set(StoredBudget(budget, a.T0, "root"))
    launched(ledger, "r-first", 85)
    launched(ledger, "r-held", 30)
    return ledger


def test_a_budget_that_nobody_has_used_is_on_the_page_too(open_page: OpenPage, data_dir: Path) -> None:
    budgets = BudgetLedger(Ledger(data_dir / "ledger.sqlite3"))
    for name in ("", "ann"):
        budget = Budget(scope=BudgetScope.PERSON, name=name, amount=100, currency="CNY")
        budgets.set(StoredBudget(budget, a.T0, "root"))

    app = open_page("spending")

    assert "Person, each month · 100.00 CNY: unused" in texts(app)
    assert "ann · Person, each month · 100.00 CNY" in app.selectbox(key="budget-removed").options


@pytest.mark.usefixtures("ledger")
def test_spending_shows_what_is_left_of_each_budget_and_marks_it_from_80_percent_on(open_page: OpenPage) -> None:
    app = open_page("spending")

    [bar] = app.get("progress")
    assert bar.proto.value == 85
    assert bar.proto.text.startswith(":material/warning: Person ann · 2")
    assert "0.00 CNY spent, 85.00 CNY reserved, 15.00 CNY left of 100.00 CNY" in bar.proto.text
    assert "Waiting for approval" in [header.value for header in app.header]
    assert "this launch is expected to cost 30.00 CNY" in texts(app)


def test_an_admin_sets_and_removes_a_budget_on_the_page(open_page: OpenPage, ledger: Ledger) -> None:
    app = open_page("spending")
    app.selectbox(key="budget-scope").set_value(BudgetScope.EVERYBODY)
    app.text_input(key="budget-amount").set_value("500")
    [save] = [button for button in app.button if button.label == "Save"]
    app = save.click().run()

    stored = [(each.budget.scope, each.budget.amount) for each in BudgetLedger(ledger).all()]
    assert stored == [(BudgetScope.EVERYBODY, 500.0), (BudgetScope.PERSON, 100.0)]
    assert "The budget is saved." in texts(app)

    app.selectbox(key="budget-removed").select_index(0)
    app.button(key="budget-remove").click().run()

    assert [each.budget.scope for each in BudgetLedger(ledger).all()] == [BudgetScope.PERSON]


def test_what_cannot_be_a_budget_is_said_on_the_page(open_page: OpenPage, ledger: Ledger) -> None:
    app = open_page("spending")
    app.selectbox(key="budget-scope").set_value(BudgetScope.EVERYBODY)
    app.text_input(key="budget-name").set_value("ann")
    [save] = [button for button in app.button if button.label == "Save"]

    app = save.click().run()

    assert any("a budget of everybody has no name" in error.value for error in app.error)
    assert len(BudgetLedger(ledger).all()) == 1


def test_a_held_launch_says_what_it_needs_and_is_approved_on_its_page(open_page: OpenPage, ledger: Ledger) -> None:
    app = open_page("live", run="r-held")
    assert "ann requested this launch. Expected cost: 30.00 CNY" in texts(app)
    assert "15.00 CNY left of 100.00 CNY" in app.get("progress")[0].proto.text

    app = app.button(key="approve").click().run()

    assert ledger.get("r-held").state is RunState.PREPARING
    assert "Approved. It starts now." in texts(app)
    assert "Approved. It starts now." in texts(app.run()), "the page is drawn anew as soon as the run goes on"
    assert not [button for button in app.button if button.key == "approve"]


def test_a_held_launch_is_declined_with_a_reason(open_page: OpenPage, ledger: Ledger) -> None:
    app = open_page("live", run="r-held")
    app = app.button(key="decline").click().run()
    assert "The run ends as stopped, and no job is created." in texts(app)
    app.text_input(key="decline-reason").set_value("next month")

    app = app.button(key="decline-yes").click().run()

    declined = ledger.get("r-held")
    assert (declined.state, declined.final_state) == (RunState.COLLECTING, RunState.STOPPED)
    assert str(declined.detail).endswith(": next month")
    assert "Declined." in texts(app)


@pytest.mark.usefixtures("ledger")
def test_home_and_runs_say_that_a_launch_waits(open_page: OpenPage) -> None:
    home, runs = open_page("home"), open_page("runs")

    assert "1 launch waits for approval" in "".join(link.label for link in home.page_link)
    assert "Waiting for approval" in texts(runs)
    assert "this launch is expected to cost 30.00 CNY" in texts(runs)


def test_a_series_that_waits_for_approval_is_declined_and_its_active_runs_continue(
    open_page: OpenPage, data_dir: Path
) -> None:
    bench = SeriesBench.on(data_dir)
    series = bench.launch(node_counts="2", repeats=2, hours_per_run=2)
    active = bench.admit()
    now = utc_now()
    with bench.core.ledger.transaction() as con:
        hold_series(con, series.series_id, Message("try again"), now, now + timedelta(days=1))
    app = open_page("series", series=series.series_id)
    assert "No further run of it is launched until it is approved: try again" in texts(app)

    app.button(key="decline").click().run()
    assert "Nothing more is launched. Runs that are already active continue." in texts(app)
    app.button(key="decline-yes").click().run()

    assert not bench.core.series.get(series.series_id).held
    assert bench.admit() == active

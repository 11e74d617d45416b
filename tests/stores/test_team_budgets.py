"""Budgets of teams, which are the groups of people's last sign-in."""

from pathlib import Path

import pytest

from aisbench_core.config.settings import Settings
from aisbench_core.model import Budget, BudgetScope, RunState, StoredBudget
from aisbench_core.wiring import Core, open_core
from tests import records as a
from tests.stores.test_budgets import costing, new


@pytest.fixture
def core(tmp_path: Path) -> Core:
    core = open_core(Settings(data_dir=tmp_path / "data"))
    budget = Budget(scope=BudgetScope.TEAM, name="perf", amount=100, currency="CNY")
    core.budgets.ledger.set(StoredBudget(budget, a.T0, "root"))
    return core


def test_members_of_a_team_share_its_budget_and_others_do_not(core: Core) -> None:
    core.sessions.begin("ann", "perf, lab")
    core.sessions.begin("bob", "perf")
    core.ledger.add(new("of ann"), check=costing(70))

    held = core.ledger.add(new("of bob", by="bob"), check=costing(70))

    assert held.state is RunState.HELD
    assert "the budget of team perf for 2026-03 is 100.00 CNY" in str(held.detail)
    assert core.ledger.add(new("of eve", by="eve"), check=costing(700)).state is RunState.PREPARING


def test_the_groups_of_the_last_sign_in_count(core: Core) -> None:
    core.sessions.begin("ann", "perf")
    core.sessions.begin("ann", "lab")

    assert core.people.teams("ann") == ["lab"]
    assert core.ledger.add(new("of ann"), check=costing(700)).state is RunState.PREPARING


def test_each_team_can_have_a_budget(core: Core) -> None:
    each = Budget(scope=BudgetScope.TEAM, amount=10, currency="CNY")
    core.budgets.ledger.set(StoredBudget(each, a.T0, "root"))
    core.sessions.begin("ann", "lab")

    held = core.ledger.add(new("of ann"), check=costing(11))

    assert "the budget of team lab for 2026-03 is 10.00 CNY" in str(held.detail)
    fits = core.ledger.add(new("smaller"), check=costing(9))
    assert fits.state is RunState.PREPARING
    uses = {(use.subject, use.reserved) for use in core.budgets.ledger.uses(a.T0)}
    assert uses == {("perf", 0.0), ("lab", 9.0)}

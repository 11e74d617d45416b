"""REST: approving and declining what is held, by whom, with real requests to a real server."""

from collections.abc import Iterator

import pytest
import yaml

from aisbench_core.interfaces.client import Client
from aisbench_core.model import BudgetScope
from tests.actors import TESTER
from tests.flow.api_process import SPEC, ApiProcess, Program, require_problem, token_of
from tests.flow.following import Bench


@pytest.fixture(autouse=True)
def budget(api_bench: Bench) -> Iterator[None]:
    """Nothing whose cost is not known is launched without an approval, and that of no run of `lab` is."""
    profiles = api_bench.core.settings.profiles_dir
    profile = yaml.safe_load((profiles / "sandbox.yaml").read_text("utf-8"))
    (profiles / "lab.yaml").write_text(yaml.safe_dump(profile | {"name": "lab", "rehearsal": False}), "utf-8")
    api_bench.core.budgets.save({"scope": "everybody", "amount": 0, "currency": "EUR"}, TESTER)
    yield
    api_bench.core.budgets.remove(BudgetScope.EVERYBODY, "", "EUR", TESTER)


@pytest.fixture
def lead(api_server: ApiProcess, api_bench: Bench) -> Program:
    return Program(api_server.url, token_of(api_bench, name="lena", role="lead"))


def test_a_lead_approves_what_an_engineer_launched_who_may_not(program: Program, lead: Program) -> None:
    launched = program.post("/runs", {"spec": SPEC, "profile": "lab"}, Idempotency_Key="held-1")
    path = f"/runs/{launched.json['run_id']}"

    refused = program.post(f"{path}/approve")
    approved = lead.post(f"{path}/approve")

    assert (launched.status, launched.json["state"]) == (201, "held")
    assert "the cost of this launch is unknown" in launched.json["detail"]
    require_problem(refused, 403, "not-allowed")
    assert (approved.status, approved.json["state"]) == (200, "preparing")
    require_problem(lead.post(f"{path}/approve"), 422, "spec-error")


def test_a_lead_declines_with_a_reason_and_approves_nothing_of_ones_own(program: Program, lead: Program) -> None:
    launched = program.post("/runs", {"spec": SPEC, "profile": "lab"}, Idempotency_Key="held-2")
    own = lead.post("/runs", {"spec": SPEC, "profile": "lab"}, Idempotency_Key="held-3")

    declined = lead.post(f"/runs/{launched.json['run_id']}/decline", {"reason": "next month"})

    assert (declined.status, declined.json["final_state"]) == (200, "stopped")
    assert declined.json["detail"] == "declined by lena: next month"
    require_problem(lead.post(f"/runs/{own.json['run_id']}/approve"), 403, "not-allowed")


def test_the_client_waits_no_longer_for_a_held_run_and_decides(
    program: Program, lead: Program, api_server: ApiProcess
) -> None:
    engineer, leader = (Client(api_server.url, each.token, unencrypted=True) for each in (program, lead))
    first, second = (engineer.launch(SPEC, "lab")["run_id"] for _ in range(2))

    held = engineer.wait(first)
    approved, declined = leader.approve(first), leader.decline(second, "too dear")

    assert held["run"]["state"] == "held"
    assert (approved["state"], declined["detail"]) == ("preparing", "declined by lena: too dear")


def test_a_check_says_that_the_launch_would_wait(program: Program) -> None:
    checked = program.post("/preflight", {"spec": SPEC, "profile": "lab"})
    free = program.post("/preflight", {"spec": SPEC, "profile": "sandbox"})

    assert free.json["held"] is None
    assert checked.json["held"].startswith("the cost of this launch is unknown")

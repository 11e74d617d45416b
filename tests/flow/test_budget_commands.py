"""Budgets from the shell: set, listed, a launch held with exit code 9, approved or declined; nothing runs before."""

import pytest

from tests.flow.command_line import CommandLine
from tests.sandbox_process import SandboxProcess

LAUNCH = ("run", "quickstart_digits", "--cards", "2", "--profile", "lab", "--set", "auto_stop_hours=2")


@pytest.fixture
def lab(shell: CommandLine, sandbox: SandboxProcess) -> CommandLine:
    """A shell with a profile in which a node hour costs 10 EUR."""
    prices = {"rehearsal": False, "price_per_node_hour": {"sandbox.cpu.2cards": 10.0}, "currency": "EUR"}
    shell.add_profile("lab", sandbox.profile, **prices)
    return shell


def test_a_launch_beyond_the_budget_is_held_and_says_what_is_left(lab: CommandLine) -> None:
    lab.type("budget", "set", "person", "30", "EUR")
    fits = lab.type(*LAUNCH)

    held = lab.type(*LAUNCH)

    assert (fits.exit_code, held.exit_code) == (0, 9)
    assert "this launch is expected to cost 20.00 EUR; the budget of" in held.stderr
    assert "is 30.00 EUR, with 0.00 EUR spent and 20.00 EUR reserved" in held.stderr
    run_id = held.stdout.strip()
    assert f"aisbench approve {run_id}" in held.stderr
    [listed] = lab.answer("runs", "--state", "held")["runs"]
    assert (listed["run_id"], listed["expected_cost"], listed["currency"]) == (run_id, 20.0, "EUR")
    [use] = lab.answer("budget", "list")["uses"]
    assert (use["spent"], use["reserved"], use["left"]) == (0.0, 20.0, 10.0)


def test_an_approved_launch_runs_and_a_declined_one_ends_as_stopped_and_says_why(lab: CommandLine) -> None:
    lab.type("budget", "set", "everybody", "5", "EUR")
    first, second = (lab.type(*LAUNCH, "--set", "parameters.epochs=1", "--wait") for _ in range(2))
    assert (first.exit_code, second.exit_code) == (9, 9), "waiting for an approval could take days"

    approved = lab.type("approve", first.stdout.strip())
    declined = lab.type("decline", second.stdout.strip(), "--reason", "next month")

    assert (approved.exit_code, declined.exit_code) == (0, 0)
    again = lab.type("approve", first.stdout.strip())
    assert again.exit_code == 2
    assert "only launches that wait for approval can be approved or declined" in again.stderr
    states = {run["run_id"]: (run["state"], run["final_state"]) for run in lab.answer("runs")["runs"]}
    assert states[first.stdout.strip()] == ("preparing", None)
    assert states[second.stdout.strip()] == ("collecting", "stopped")
    assert lab.answer("show", second.stdout.strip())["run"]["detail"].endswith(": next month")
    audit = {(entry["change"], entry["outcome"]) for entry in lab.answer("audit")}
    assert {
        ("run.approve", "done"),
        ("run.approve", "failed"),
        ("run.decline", "done"),
        ("budget.save", "done"),
    } <= audit


def test_a_launch_without_a_time_limit_is_held_because_its_cost_is_not_known(lab: CommandLine) -> None:
    lab.type("budget", "set", "person", "1000", "EUR")

    held = lab.type(*LAUNCH[:-2])

    assert held.exit_code == 9
    assert "the cost of this launch is unknown (no time limit is set (auto_stop_hours))" in held.stderr
    lab.type("budget", "set", "person", "1000", "EUR", "--allow-unknown")
    assert lab.type(*LAUNCH[:-2]).exit_code == 0


def test_rehearsals_are_never_held(lab: CommandLine, sandbox: SandboxProcess) -> None:
    lab.add_profile("practice", sandbox.profile, rehearsal=True)
    lab.type("budget", "set", "person", "0", "EUR")

    assert lab.type("run", "quickstart_digits", "--cards", "2", "--profile", "practice").exit_code == 0


def test_wrong_budgets_are_refused_with_what_is_allowed(lab: CommandLine) -> None:
    negative = lab.type("budget", "set", "person", "--", "-1", "EUR")
    named = lab.type("budget", "set", "everybody", "10", "EUR", "--name", "ann")
    missing = lab.type("budget", "remove", "person", "EUR")

    assert {each.exit_code for each in (negative, named, missing)} == {2}
    assert "amount: input should be greater than or equal to 0" in negative.stderr
    assert "a budget of everybody has no name" in named.stderr
    assert "there is no such budget" in missing.stderr
    assert lab.answer("budget", "list") == {"budgets": [], "uses": []}

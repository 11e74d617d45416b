"""Held launches and the follower, against the sandbox: no job before an approval, one after it, none after a week."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from aisbench_core.base.errors import NotAllowed, StaleRun
from aisbench_core.base.messages import Message
from aisbench_core.model import Actor, Role, Run, RunState, SeriesPlan, WayIn
from aisbench_core.people.notifications.channels import channel_of
from tests.actors import named
from tests.flow.following import GOOD, PERSON, SPEC, Bench, bench_on
from tests.receivers import webhook
from tests.sandbox_process import SandboxProcess

LEAD = Actor("lena", frozenset({Role.VIEWER, Role.ENGINEER, Role.LEAD}), WayIn.CONSOLE)
LIMITED = SPEC.model_copy(update={"auto_stop_hours": 2})


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    """A node hour costs 10 EUR, and nobody may spend anything without an approval."""
    sandbox.script(by="look", outputs=GOOD)
    bench = bench_on(sandbox, tmp_path / "data", notify_private_addresses=True)
    prices = {"rehearsal": False, "price_per_node_hour": {"sandbox.cpu.2cards": 10.0}, "currency": "EUR"}
    profile = tmp_path / "data" / "profiles" / "sandbox.yaml"
    profile.write_text(yaml.safe_dump(yaml.safe_load(profile.read_text("utf-8")) | prices), "utf-8")
    bench.core.budgets.save({"scope": "person", "amount": 0, "currency": "EUR"}, named("root"))
    return bench


def jobs_created(sandbox: SandboxProcess) -> int:
    return sandbox.requests()["modelarts"].get("POST training-jobs", 0)


def rested(bench: Bench, run: Run, ticks: int = 5) -> Run:
    for _ in range(ticks):
        bench.tick()
    return bench.run(run)


def test_nothing_is_sent_before_an_approval_and_one_job_after_it(bench: Bench, sandbox: SandboxProcess) -> None:
    held = bench.launch(LIMITED)
    before, jobs_before = rested(bench, held), jobs_created(sandbox)

    bench.core.approvals.approve(held.run_id, LEAD)
    ended = bench.follow(held)

    assert (before.state, before.version, jobs_before) == (RunState.HELD, held.version, 0)
    assert ended.state is RunState.COMPLETED, ended.detail
    assert jobs_created(sandbox) == 1
    [use] = bench.core.budgets.uses()
    assert ended.duration_s
    assert use.spent == pytest.approx(10 * ended.duration_s / 3600)
    assert use.reserved == 0.0
    messages = [str(event.message) for event in bench.core.ledger.events(held.run_id)]
    assert messages[0].startswith("launched: ")
    assert messages[1].startswith("waits for approval: this launch is expected to cost 20.00 EUR")
    assert messages[2] == "approved by lena"


def test_before_a_launch_it_is_clear_that_it_would_wait(bench: Bench) -> None:
    core = bench.core

    reason = core.runs.why_held(LIMITED, "sandbox", PERSON)
    core.budgets.save({"scope": "person", "amount": 20, "currency": "EUR"}, named("root"))

    assert str(reason).startswith("this launch is expected to cost 20.00 EUR")
    assert core.runs.why_held(LIMITED, "sandbox", PERSON) is None
    assert bench.launch(LIMITED).state is RunState.PREPARING
    assert core.runs.why_held(LIMITED, "sandbox", PERSON), "the first launch has reserved it"
    assert core.runs.why_held(LIMITED, "sandbox", "somebody else") is None


def test_a_declined_launch_ends_as_stopped_without_a_job_and_is_recorded_with_the_reason(
    bench: Bench, sandbox: SandboxProcess
) -> None:
    held = bench.launch(LIMITED)

    bench.core.approvals.decline(held.run_id, "not this month", LEAD)
    ended = bench.follow(held)

    assert (ended.state, str(ended.detail)) == (RunState.STOPPED, "declined by lena: not this month")
    assert jobs_created(sandbox) == 0
    recorded = bench.core.warehouse.runs.find_row(held.run_id)
    assert recorded is not None
    assert str(recorded.detail) == "declined by lena: not this month"


def test_a_launch_that_nobody_approves_ends_after_a_week_and_not_before(bench: Bench) -> None:
    held = bench.launch(LIMITED)
    bench.clock.move(6.9 * 86400)
    still = rested(bench, held, 2)

    bench.clock.move(0.2 * 86400)
    ended = bench.follow(held)

    assert still.state is RunState.HELD
    assert (ended.state, str(ended.detail)) == (RunState.STOPPED, "nobody approved it in time")


def test_nobody_but_an_admin_approves_a_launch_of_ones_own(bench: Bench) -> None:
    held = bench.launch(LIMITED)

    with pytest.raises(NotAllowed, match=f"{PERSON} may not approve a launch of their own"):
        bench.core.approvals.approve(held.run_id, replace(LEAD, name=PERSON))

    assert bench.core.approvals.approve(held.run_id, named(PERSON)).state is RunState.PREPARING


def test_a_run_of_somebody_whose_access_was_revoked_is_not_approved(bench: Bench) -> None:
    held = bench.launch(LIMITED)
    bench.core.people.revoke(PERSON, named("root"))

    with pytest.raises(NotAllowed, match=f"the access of {PERSON} was revoked"):
        bench.core.approvals.approve(held.run_id, LEAD)

    assert bench.core.ledger.get(held.run_id).state is RunState.HELD


def test_of_two_leads_who_decide_at_once_one_is_told_that_it_is_decided(bench: Bench) -> None:
    held = bench.launch(LIMITED)
    bench.core.approvals.approve(held.run_id, LEAD)

    with pytest.raises(StaleRun):
        bench.core.ledger.advance(held, held.to(RunState.COLLECTING, final_state=RunState.STOPPED))

    assert bench.run(held).state is RunState.PREPARING


def test_the_person_who_asked_can_stop_it(bench: Bench, sandbox: SandboxProcess) -> None:
    held = bench.launch(LIMITED)

    bench.core.runs.stop(held.run_id, Actor(PERSON, frozenset({Role.VIEWER, Role.ENGINEER}), WayIn.CLI))
    ended = bench.follow(held)

    assert ended.state is RunState.STOPPED
    assert jobs_created(sandbox) == 0


def test_it_survives_a_crash_of_the_follower(bench: Bench, sandbox: SandboxProcess) -> None:
    held = bench.launch(LIMITED)
    rested(bench, held, 2)
    again = Bench(bench.core, bench.clock, bench.core.following.follower())

    assert rested(again, held).state is RunState.HELD
    again.core.approvals.approve(held.run_id, LEAD)
    assert again.follow(held).state is RunState.COMPLETED
    assert jobs_created(sandbox) == 1


def test_people_are_told_once_with_the_amounts_and_a_link_to_the_page_that_decides(bench: Bench) -> None:
    with webhook() as hook:
        fields = {"name": "lab", "url": hook.url, "secret": "0123456789abcdef", "events": ["held"]}
        bench.core.notifications.channels.save(channel_of(fields, Message("channel")), named("root"))
        held = bench.launch(LIMITED)
        series = bench.core.series.launch(SeriesPlan(spec=LIMITED), "sandbox", named(PERSON))

        rested(bench, held, 4)

        told = {event["subject"]: event for event in hook.events()}
    assert {*told} == {held.run_id, series.series_id}
    assert len(hook.events()) == 2
    assert "this launch is expected to cost 20.00 EUR; the budget of" in told[held.run_id]["text"]
    assert told[held.run_id]["url"].endswith(f"/live?run={held.run_id}")
    assert told[series.series_id]["url"].endswith(f"/series?series={series.series_id}")

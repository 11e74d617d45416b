"""kill -9 in every state of acceptances: follower and sandbox. No step is launched twice, and the verdict stays."""

from collections.abc import Iterator

import pytest

from aisbench_core.domain.acceptance.acceptance import Acceptance, AcceptanceState
from aisbench_core.domain.acceptance.decision_rule import StepVerdict
from aisbench_core.wiring import Core
from tests.actors import named
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, PERSON
from tests.flow.killable import Killable
from tests.flow.trouble import jobs_named
from tests.reliability.outcomes import campaign
from tests.sandbox_process import SandboxProcess

ACCEPTANCES = 2
MS_PER_REQUEST = 20
FEWEST_RUNS = 3
SUITE = """\
title: Ours
spec: {workload: quickstart_digits, cards_per_node: 2, flavor: sandbox.cpu.2cards}
scale:
  - {name: first, hours: 0.1, sizes: [{nodes: 1, reference: {value: 200, source: the lab}}]}
  - {name: second, hours: 0.1, sizes: [{nodes: 1, reference: {value: 200, source: the lab}}]}
"""


@pytest.fixture
def follower(shell: CommandLine, core: Core) -> Iterator[Killable]:
    follower = Killable(shell, core)
    yield follower
    follower.kill()


def launch(core: Core, sandbox: SandboxProcess) -> Acceptance:
    sandbox.script(by="look", outputs=GOOD)
    sandbox.latency(MS_PER_REQUEST, MS_PER_REQUEST)
    core.settings.suites_dir.mkdir(exist_ok=True)
    (core.settings.suites_dir / "ours.yaml").write_text(SUITE, "utf-8")
    return core.acceptances.launch(core.acceptances.plan("ours", {}, "lab"), named(PERSON))


def find_state(core: Core, acceptance: Acceptance) -> tuple[object, ...]:
    """What has happened so far: steps, runs, the state of the newest run, and of the acceptance."""
    numbers = range(len(acceptance.plan.steps))
    launched = [core.series.ledger.launched_with(acceptance.get_token(number)) for number in numbers]
    runs = core.series.ledger.runs([series.series_id for series in launched if series])
    newest = runs[-1].state if runs else None
    return sum(map(bool, launched)), len(runs), newest, core.acceptances.get(acceptance.acceptance_id).state


def has_ended(core: Core, acceptance: Acceptance) -> bool:
    return core.acceptances.get(acceptance.acceptance_id).state is not AcceptanceState.RUNNING


def assert_nothing_lost_or_doubled(core: Core, sandbox: SandboxProcess, acceptance: Acceptance) -> None:
    steps = core.acceptances.show_steps(acceptance)
    runs = core.series.ledger.runs([step.series_id for step in steps])
    assert core.acceptances.get(acceptance.acceptance_id).state is AcceptanceState.ACCEPTED
    assert [(step.verdict, step.valid, step.lost) for step in steps] == [(StepVerdict.PASSED, FEWEST_RUNS, 0)] * 2
    assert len(runs) == 2 * FEWEST_RUNS
    assert {len(jobs_named(sandbox, run.job_name)) for run in runs} == {1}


def test_a_killed_follower_changes_no_verdict(core: Core, sandbox: SandboxProcess, follower: Killable) -> None:
    kills = 0
    with campaign("Follower killed in every state of an acceptance", __file__) as row:
        for _ in range(ACCEPTANCES):
            acceptance = launch(core, sandbox)
            while not has_ended(core, acceptance):
                before = find_state(core, acceptance)
                follower.start()
                follower.wait(lambda: find_state(core, acceptance) != before, "the acceptance to go on")  # noqa: B023  # called before the next turn
                follower.kill()
                kills += 1
            assert_nothing_lost_or_doubled(core, sandbox, acceptance)
        row.repetitions = f"{kills} kills of {ACCEPTANCES} acceptances"
        row.outcome = "no step lost, none twice, same verdict"


def test_a_killed_sandbox_changes_no_verdict(core: Core, sandbox: SandboxProcess, follower: Killable) -> None:
    kills = 0
    with campaign("Sandbox killed in every state of an acceptance", __file__) as row:
        follower.start()
        for _ in range(ACCEPTANCES):
            acceptance = launch(core, sandbox)
            while not has_ended(core, acceptance):
                before = find_state(core, acceptance)
                follower.wait(lambda: find_state(core, acceptance) != before, "the acceptance to go on")  # noqa: B023  # called before the next turn
                sandbox.kill()
                sandbox.resume()
                sandbox.script(by="look", outputs=GOOD)
                kills += 1
            assert_nothing_lost_or_doubled(core, sandbox, acceptance)
        row.repetitions = f"{kills} kills of {ACCEPTANCES} acceptances"
        row.outcome = "no step lost, none twice, same verdict"

"""An ended run is deleted for a reason: it is gone from lists and statistics, but still counts as an attempt."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from aisbench_core.base.errors import CloudNotFound, NotAllowed, RunNotFound, SpecError, StaleRun
from aisbench_core.domain.access.audit_entry import ActOutcome
from aisbench_core.model import Actor, Role, Run, RunPart, RunState, WayIn
from aisbench_core.store.audit.audit import AuditQuery
from aisbench_core.warehouse.values.runs import BoardQuery, Validity
from tests.actors import TESTER, named
from tests.flow.following import GOOD, Bench, bench_on
from tests.flow.test_cleaning import directories, paths_below
from tests.sandbox_process import SandboxProcess

REASON = "launched with the wrong data"
ANN = named("ann")


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    return bench_on(sandbox, tmp_path / "data")


def listed(bench: Bench) -> list[str]:
    return [run.run_id for run in bench.core.ledger.page()]


def changes_of(bench: Bench, run: Run) -> Sequence[tuple[str, str, str, str]]:
    """Change, who, by which way, and what was there afterwards, of what people did with the run."""
    found = bench.core.audit.entries(AuditQuery(object=run.run_id, excluded="seal."), TESTER)
    return [(entry.act.change, entry.act.who, entry.act.via, entry.act.after) for entry in found]


def test_a_deleted_run_is_in_no_list_and_no_statistic_and_only_its_record_is_left(bench: Bench) -> None:
    core, kept, run = bench.core, bench.follow(bench.launch()), bench.follow(bench.launch())

    deletion = core.deletions.delete(run.run_id, f" {REASON}\n", ANN)

    assert (deletion.who, deletion.reason, deletion.ended_at) == ("ann", REASON, None)
    assert listed(bench) == [kept.run_id]
    assert core.ledger.count() == 1
    assert [each.run_id for each in core.ledger.page(deleted=True)] == [run.run_id]
    bench.tick()
    assert (core.deletions.find(run.run_id) or pytest.fail("it is lost")).ended_at == bench.clock.now
    assert core.cleaning.plan(run.run_id).items == ()
    assert [paths_below(bench, directory) for directory in directories(bench, run)] == [set(), set()]
    with pytest.raises(CloudNotFound):
        core.jobs.find("sandbox", run.job_id)
    row = core.warehouse.runs.find_row(run.run_id) or pytest.fail("its record is lost")
    assert (row.validity, row.set_aside, row.accuracy) == (Validity.SET_ASIDE, REASON, 0.97)
    assert [item.part for item in core.cleaning.plan(kept.run_id).items] == list(RunPart)
    assert (core.warehouse.runs.find_row(kept.run_id) or pytest.fail("it is lost")).validity is not Validity.SET_ASIDE


def test_a_deleted_run_still_counts_among_the_runs_of_its_configuration(bench: Bench) -> None:
    core, _, run = bench.core, bench.follow(bench.launch()), bench.follow(bench.launch())
    core.deletions.delete(run.run_id, REASON, ANN)
    bench.tick()

    core.storage.rebuild(TESTER)

    (board,) = core.warehouse.board.list_rows(BoardQuery("sandbox", rehearsal=True)).rows
    assert (board.runs, board.set_aside) == (1, 1)
    assert core.storage.check(TESTER).damages == ()
    assert run.run_id not in listed(bench)


def test_who_deleted_it_when_and_why_is_recorded(bench: Bench) -> None:
    run = bench.follow(bench.launch())

    bench.core.deletions.delete(run.run_id, REASON, ANN)
    bench.tick()

    assert changes_of(bench, run)[::-1][1:] == [
        ("run.delete", "ann", "cli", REASON),
        ("run.set_aside", "ann", "follower", REASON),
        ("run.clean", "ann", "follower", ""),
    ]
    said = [(event.actor, event.source, event.message) for event in bench.core.ledger.events(run.run_id)]
    assert ("ann", "cli", f"deleted: {REASON}") in said
    assert said[-1] == ("ann", "follower", "all but its record is removed")


def test_what_another_run_uses_stays_and_the_event_says_so(bench: Bench) -> None:
    run = bench.follow(bench.launch())
    output, _ = directories(bench, run)
    user = bench.launch(run.spec.model_copy(update={"resume_from": run.run_id}))

    bench.core.deletions.delete(run.run_id, REASON, ANN)
    bench.tick()

    assert paths_below(bench, output) != set()
    last = bench.core.ledger.events(run.run_id)[-1].message
    assert f"its outputs stay: {user.run_id} uses files of this run" in last


def test_only_an_ended_run_is_deleted_for_a_reason_by_an_admin(bench: Bench) -> None:
    run, core = bench.launch(), bench.core
    lead = Actor("lea", Role.LEAD.included, WayIn.CONSOLE)

    with pytest.raises(SpecError, match="the run has not ended: it is preparing"):
        core.deletions.delete(run.run_id, REASON, ANN)
    bench.follow(run)
    with pytest.raises(SpecError, match="must not be empty"):
        core.deletions.delete(run.run_id, " \n", ANN)
    with pytest.raises(NotAllowed):
        core.deletions.delete(run.run_id, REASON, lead)
    with pytest.raises(RunNotFound):
        core.deletions.delete("r-none", REASON, ANN)

    assert core.deletions.find(run.run_id) is None
    assert listed(bench) == [run.run_id]
    outcomes = [entry.act.outcome for entry in core.audit.entries(AuditQuery(change="run.delete"), TESTER)]
    assert sorted(outcomes) == [ActOutcome.FAILED] * 3 + [ActOutcome.REFUSED]


def test_a_deleted_run_never_counts_again_and_is_not_collected_again(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="look", exit_code=1)
    run, core = bench.follow(bench.launch()), bench.core
    assert run.state is RunState.FAILED
    seen = core.ledger.get(run.run_id)

    first = core.deletions.delete(run.run_id, REASON, ANN)

    assert core.deletions.delete(run.run_id, "another reason", TESTER) == first
    with pytest.raises(SpecError, match="it was deleted by ann"):
        core.runs.collect_again(run.run_id, TESTER)
    with pytest.raises(StaleRun):  # by somebody who looked before
        core.ledger.advance(seen, seen.to(RunState.COLLECTING, final_state=RunState.FAILED))
    bench.tick()
    with pytest.raises(SpecError, match="it was deleted by ann"):
        core.annotations.set_aside(run.run_id, "another reason", TESTER)
    with pytest.raises(SpecError, match="it was deleted by ann"):
        core.annotations.count_again(run.run_id, TESTER)


def test_the_next_follower_ends_what_one_began(bench: Bench, sandbox: SandboxProcess, tmp_path: Path) -> None:
    """The region fails in the middle: outputs are gone, logs are not, and the follower is killed then."""
    run, core = bench.follow(bench.launch()), bench.core
    output, logs = directories(bench, run)
    core.deletions.delete(run.run_id, REASON, ANN)
    core.annotations.set_aside(run.run_id, REASON, ANN)
    plan = core.cleaning.plan(run.run_id)
    core.cleaning.clean(plan.only([RunPart.JOB, RunPart.OUTPUTS]), ANN)
    assert paths_below(bench, logs) != set()

    after = bench_on(sandbox, tmp_path / "data")
    after.tick()

    assert [paths_below(after, directory) for directory in (output, logs)] == [set(), set()]
    assert (after.core.deletions.find(run.run_id) or pytest.fail("it is lost")).ended_at is not None
    assert [removal.ended_at is not None for removal in core.cleaning.removals(run.run_id)] == [True] * 4
    assert [change for change, *_ in changes_of(after, run)].count("run.set_aside") == 2


def test_a_region_that_does_not_answer_is_asked_again(bench: Bench, sandbox: SandboxProcess) -> None:
    run, core = bench.follow(bench.launch()), bench.core
    sandbox.faults({"service": "modelarts", "status": 503, "times": 99})
    core.deletions.delete(run.run_id, REASON, ANN)

    bench.tick()
    begun = core.deletions.find(run.run_id)
    sandbox.faults()
    bench.tick(10)
    waiting = core.deletions.find(run.run_id)
    bench.tick(60)

    assert begun == waiting
    assert (begun or pytest.fail("it is lost")).ended_at is None
    assert listed(bench) == []
    assert (core.deletions.find(run.run_id) or pytest.fail("it is lost")).ended_at == bench.clock.now

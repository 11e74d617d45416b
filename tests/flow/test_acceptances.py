"""Acceptances: a follower carries their steps one by one, and what it ends with follows from all runs."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from aisbench_core.base.errors import AisbenchError, ConfigError, NotAllowed, SpecError
from aisbench_core.domain.acceptance.acceptance import Acceptance, AcceptanceState
from aisbench_core.domain.acceptance.decision_rule import StepVerdict
from aisbench_core.domain.acceptance.suite import Reference
from aisbench_core.model import Actor, JobTask, NodeDifference, Passport, Role, Run, RunAttempt, RunState, WayIn
from aisbench_core.running.accepting.carrying import start_admission
from aisbench_core.running.accepting.judging import StepProgress
from tests import records as a
from tests.actors import named
from tests.flow.following import PERSON
from tests.series_bench import SeriesBench

SUITE = """\
title: Ours
runs: 5
cv: 0.01
spec: {workload: quickstart_digits, cards_per_node: 2}
scale:
  - name: digits
    hours: 0.5
    sizes:
      - {nodes: 1, reference: {value: 1000, source: the lab}}
      - {nodes: 2, reference: {value: 2000, source: the lab}}
"""

FAST = {1: (998.0, 1003.0, 1001.0, 999.0, 1000.0), 2: (1997.0, 2004.0, 2001.0, 1999.0, 2000.0)}


@dataclass
class Pool:
    """A pool whose jobs reach the speeds that a test says, by number of nodes."""

    bench: SeriesBench
    speeds: dict[int, tuple[float, ...]]

    def launch(self, suite: str = SUITE) -> Acceptance:
        core = self.bench.core
        core.settings.suites_dir.mkdir(exist_ok=True)
        (core.settings.suites_dir / "ours.yaml").write_text(suite, "utf-8")
        return core.acceptances.launch(core.acceptances.plan("ours", {}), named(PERSON))

    def restart(self) -> None:
        """Another process takes over."""
        self.bench = SeriesBench.on(self.bench.core.settings.data_dir)

    def tick(self) -> list[Run]:
        """What a follower does at once; the active runs."""
        core = self.bench.core
        start_admission(core.acceptances, core.tokens.find_actor)()
        return core.ledger.active()

    def carry(self, acceptance: Acceptance, between: Callable[[], object] = lambda: None) -> Acceptance:
        """Carry the acceptance to its end. `between`: what happens before each tick."""
        for _ in range(40):
            between()
            active = self.tick()
            assert len(active) <= 1
            for run in active:
                self.bench.clock.move(5)
                self.end(run)
            acceptance = self.bench.core.acceptances.get(acceptance.acceptance_id)
            if acceptance.state is not AcceptanceState.RUNNING:
                return acceptance
        raise AssertionError("no end")

    def end(self, run: Run) -> None:
        number = ((run.series_index or 1) - 1) % 5
        speed = self.speeds[run.spec.node_count][number]
        if speed:
            self.bench.end(run, speed)
        else:
            self.bench.end(run, state=RunState.FAILED)

    def show(self, acceptance: Acceptance) -> list[StepProgress]:
        return self.bench.core.acceptances.show_steps(acceptance)

    def count_runs(self) -> int:
        return len(list(self.bench.core.ledger.page(tuple(RunState), limit=200)))


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    return Pool(SeriesBench.on(tmp_path / "data"), dict(FAST))


def test_a_pool_as_fast_as_its_reference_is_accepted_for_a_year_after_the_fewest_runs(pool: Pool) -> None:
    ended = pool.carry(pool.launch())

    assert (ended.state, ended.reason) == (AcceptanceState.ACCEPTED, "all steps passed")
    assert ended.ended_at
    assert ended.valid_until
    assert (ended.valid_until - ended.ended_at).days in (365, 366)
    assert [(one.verdict, one.valid, one.lost) for one in pool.show(ended)] == [(StepVerdict.PASSED, 3, 0)] * 2
    assert pool.count_runs() == 6


def test_a_slow_step_refuses_the_pool_and_what_comes_after_is_not_launched(pool: Pool) -> None:
    pool.speeds[1] = (901.0, 899.0, 900.0, 902.0, 898.0)

    ended = pool.carry(pool.launch())

    assert ended.state is AcceptanceState.REFUSED
    assert ended.reason.startswith("step digits-1: between 8")
    assert ended.valid_until is None
    assert [one.verdict for one in pool.show(ended)] == [StepVerdict.FAILED, StepVerdict.UNDECIDED]
    assert [one.series_id for one in pool.show(ended)][1] == ""
    assert pool.count_runs() == 3


def test_near_the_limit_all_planned_runs_are_used_and_nothing_is_decided(pool: Pool) -> None:
    pool.speeds[1] = (951.0, 949.0, 953.0, 947.0, 950.0)

    ended = pool.carry(pool.launch())

    assert ended.state is AcceptanceState.UNDECIDED
    assert "after 5 runs" in ended.reason
    assert pool.count_runs() == 5


def test_one_lost_run_stays_in_the_count_and_two_fail_the_step(pool: Pool) -> None:
    pool.speeds[1] = (0, *FAST[1][1:])
    once = pool.carry(pool.launch())
    pool.speeds[1] = (0, 0, *FAST[1][2:])
    twice = pool.carry(pool.launch())

    assert once.state is AcceptanceState.ACCEPTED
    assert [(one.valid, one.lost) for one in pool.show(once)] == [(3, 1), (3, 0)]
    assert twice.state is AcceptanceState.REFUSED
    assert twice.reason == "step digits-1: 2 runs ended without a valid result; 1 may"


def test_running_the_lost_cell_again_leaves_the_first_attempt_in_the_count(pool: Pool) -> None:
    pool.speeds[1] = (0, 0, *FAST[1][2:])
    ended = pool.carry(pool.launch())
    [first, _] = pool.show(ended)
    pool.speeds[1] = FAST[1]
    pool.bench.core.series.rerun(first.series_id, named(PERSON))
    for _ in range(4):
        for run in pool.tick():
            pool.end(run)

    assert pool.show(ended)[0].lost == 2
    assert pool.bench.core.acceptances.get(ended.acceptance_id).state is AcceptanceState.REFUSED


@pytest.mark.parametrize("first", range(2))
def test_whoever_takes_over_at_any_moment_goes_on_with_the_same_steps(pool: Pool, first: int) -> None:
    """A new process before every, or every second, tick; each tick happens twice."""
    moments: Iterator[int] = itertools.count(first)

    def take_over() -> None:
        if next(moments) % (first + 1) == 0:
            pool.restart()
        pool.tick()

    ended = pool.carry(pool.launch(), take_over)

    assert ended.state is AcceptanceState.ACCEPTED
    assert [(one.verdict, one.valid) for one in pool.show(ended)] == [(StepVerdict.PASSED, 3)] * 2
    assert pool.count_runs() == 6


def test_the_warehouse_is_left_alone_while_a_run_is_active(pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
    acceptance = pool.launch()
    pool.tick()
    [run] = pool.tick()
    pool.end(run)
    pool.tick()
    warehouse = pool.bench.core.settings.data_dir / "warehouse.duckdb"
    content = warehouse.read_bytes()
    warehouse.write_bytes(b"no database")

    pool.tick()

    assert [record.message for record in caplog.records if "accepting" in record.name] == []
    warehouse.write_bytes(content)
    assert pool.carry(acceptance).state is AcceptanceState.ACCEPTED


def test_an_acceptance_is_launched_once_for_one_token(pool: Pool) -> None:
    first = pool.launch()
    core = pool.bench.core
    draft = core.acceptances.plan("ours", {})

    again = [core.acceptances.launch(draft, named(PERSON), "key").acceptance_id for _ in range(2)]

    assert len({first.acceptance_id, *again}) == 2


def test_what_was_planned_holds_although_the_suite_changes(pool: Pool) -> None:
    acceptance = pool.launch()
    file = pool.bench.core.settings.suites_dir / "ours.yaml"
    file.write_text(SUITE.replace("1000", "5000"), "utf-8")

    assert pool.carry(acceptance).state is AcceptanceState.ACCEPTED
    assert pool.bench.core.acceptances.get(acceptance.acceptance_id).plan == acceptance.plan


def test_a_stopped_acceptance_launches_nothing_more(pool: Pool) -> None:
    acceptance = pool.launch()
    pool.tick()

    stopped = pool.bench.core.acceptances.stop(acceptance.acceptance_id, named(PERSON))

    assert stopped.state is AcceptanceState.STOPPED
    assert pool.bench.core.acceptances.stop(acceptance.acceptance_id, named(PERSON)) == stopped
    assert {run.state for run in pool.tick()} <= {RunState.STOPPING, RunState.COLLECTING}
    assert pool.count_runs() == 1


def test_a_step_that_somebody_declines_is_not_decided(pool: Pool) -> None:
    acceptance = pool.launch()
    pool.tick()
    [run] = pool.tick()
    pool.end(run)
    pool.bench.core.series.stop(run.series_id, named(PERSON))

    pool.tick()

    ended = pool.bench.core.acceptances.get(acceptance.acceptance_id)
    assert (ended.state, ended.reason) == (AcceptanceState.UNDECIDED, "step digits-1: 1 valid runs are too few")
    assert [(one.valid, one.lost) for one in pool.show(ended)] == [(1, 0), (0, 0)]


def test_others_stop_it_as_leads_only(pool: Pool) -> None:
    acceptance = pool.launch()

    with pytest.raises(NotAllowed):
        pool.bench.core.acceptances.stop(acceptance.acceptance_id, Actor("somebody", Role.ENGINEER.included, WayIn.CLI))


def test_a_plan_without_references_or_beyond_its_budget_is_not_launched(pool: Pool) -> None:
    core = pool.bench.core
    core.settings.suites_dir.mkdir()
    file = core.settings.suites_dir / "ours.yaml"

    def refuse(text: str, kind: type[AisbenchError]) -> str:
        file.write_text(text, "utf-8")
        with pytest.raises(kind) as raised:
            core.acceptances.plan("ours", MappingProxyType[int, Reference]({}))
        return str(raised.value)

    bare = SUITE.replace(", reference: {value: 1000, source: the lab}", "")
    assert "digits-1 have none" in refuse(bare, SpecError)
    assert "all planned runs need 7.5 node hours" in refuse(SUITE + "budget: {node_hours: 5}\n", SpecError)
    assert "there is no workload" in refuse(SUITE.replace("quickstart_digits", "nothing"), SpecError)
    with pytest.raises(ConfigError):
        core.acceptances.get("nobody")


NODES = """\
title: Nodes
spec: {workload: quickstart_digits, cards_per_node: 2}
health: {nodes: 4, hours: 0.1}
nodes: {nodes: 4, hours: 0.1, runs: 5}
"""

HOSTS = ("node-a", "node-b", "node-c", "node-d")
_NOISE = (0.998, 1.001, 1.002, 0.999)


def end_on_hosts(
    pool: Pool, run: Run, slow: str = "", ill: str = "", hosts: tuple[str, ...] = HOSTS, *, examined: bool = True
) -> None:
    """Let a run end on named nodes, of which one may be slow by 8 % or have an ill card."""
    number = run.series_index or 1
    pool.bench.clock.move(5)
    ended = replace(run, state=RunState.COMPLETED, started_at=pool.bench.clock(), ended_at=pool.bench.clock())
    core = pool.bench.core
    ended = core.ledger.advance(core.ledger.get(run.run_id), replace(ended, code_sha256="c0de" * 16))
    cards = [
        100.0 * _NOISE[(number + node) % 4] * (0.92 if host == slow else 1)
        for node, host in enumerate(hosts)
        for _ in range(2)
    ]
    tasks = tuple(JobTask(f"worker-{node}", "", host) for node, host in enumerate(hosts))
    differences = (NodeDifference(1, ill, "accelerator.health", "Alarm", "OK"),) if ill else ()
    facts = {"accelerator.health": "OK"} if examined else {}
    made = a.record(run.run_id, region="sandbox", rehearsal=True)
    core.series.record(
        replace(
            made,
            run=ended,
            result=a.result(run.spec, cards),
            attempts=(RunAttempt(1, a.T0, tasks=tasks),),
            passport=Passport(4, 4, facts, differences),
        )
    )


def carry_on_hosts(pool: Pool, **changes: Any) -> Acceptance:
    acceptance = pool.launch(NODES)
    for _ in range(40):
        for run in pool.tick():
            end_on_hosts(pool, run, **changes)
        acceptance = pool.bench.core.acceptances.get(acceptance.acceptance_id)
        if acceptance.state is not AcceptanceState.RUNNING:
            break
    return acceptance


def test_healthy_nodes_of_one_speed_pass_both_steps(pool: Pool) -> None:
    ended = carry_on_hosts(pool)

    health, nodes = pool.show(ended)
    assert ended.state is AcceptanceState.ACCEPTED
    assert (health.verdict, health.reason) == (StepVerdict.PASSED, "")
    assert {*nodes.nodes} == {*HOSTS}
    assert nodes.valid < 5


def test_a_slow_node_is_named_and_refuses_the_pool(pool: Pool) -> None:
    ended = carry_on_hosts(pool, slow="node-c")

    assert ended.state is AcceptanceState.REFUSED
    assert ended.reason.startswith("step nodes: 1 slow: node-c (91")


def test_an_ill_card_refuses_the_pool_before_its_speed_is_measured(pool: Pool) -> None:
    ended = carry_on_hosts(pool, ill="node-b")

    assert ended.state is AcceptanceState.REFUSED
    assert ended.reason == "step health: 1 not healthy: node-b: Alarm"
    assert pool.count_runs() == 1


def test_cards_that_no_tool_examined_are_said_and_fail_nothing(pool: Pool) -> None:
    ended = carry_on_hosts(pool, examined=False)

    assert ended.state is AcceptanceState.ACCEPTED
    assert pool.show(ended)[0].reason == "0 of 4 nodes have a tool that examined their cards"


def test_nodes_without_names_are_not_decided(pool: Pool) -> None:
    ended = carry_on_hosts(pool, hosts=("node-a", "node-b", "node-c", ""))

    assert ended.state is AcceptanceState.UNDECIDED
    assert ended.reason == "step nodes: 3 of 4 nodes have a name and a speed"

"""Where runs came from, and what came from them, as a tree."""

from pathlib import Path

import pytest

from aisbench_core.model import Run, RunState
from aisbench_core.running.lineages import MOST_NODES
from aisbench_core.store.ledger.lineage import ParentKind
from tests.actors import TESTER
from tests.flow.following import GOOD, SPEC, Bench, bench_on
from tests.sandbox_process import SandboxProcess


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    return bench_on(sandbox, tmp_path / "data")


def tree_of(bench: Bench, run: Run) -> list[tuple[int, str, ParentKind | None]]:
    return [(node.depth, node.run_id, node.kind) for node in bench.core.lineages.read_tree(run.run_id).nodes]


def clone(bench: Bench, run: Run) -> Run:
    return bench.core.runs.launch(run.spec, "sandbox", TESTER, clone_of=run.run_id)


def test_a_run_stands_below_the_one_that_it_came_from_whichever_is_looked_at(bench: Bench) -> None:
    core, first = bench.core, bench.follow(bench.launch())
    cloned = clone(bench, first)
    repeated = core.reproductions.launch(core.reproductions.check(first.run_id, TESTER), TESTER)
    resumed = bench.launch(cloned.spec.model_copy(update={"resume_from": first.run_id}))
    again = clone(bench, cloned)

    trees = [tree_of(bench, run) for run in (first, cloned, repeated, resumed, again)]

    assert sorted(trees[0]) == sorted(trees[1])
    assert trees[1:] == [trees[0]] * 4
    assert {(depth, kind) for depth, _, kind in trees[0]} == {
        (0, None),
        (1, ParentKind.CLONE),
        (1, ParentKind.REPRODUCTION),
        (1, ParentKind.RESUME),
        (2, ParentKind.CLONE),
    }
    assert trees[0][trees[0].index((1, cloned.run_id, ParentKind.CLONE)) + 1] == (2, again.run_id, ParentKind.CLONE)


def test_another_attempt_at_a_cell_of_a_series_stands_below_the_first(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="look", exit_code=1)
    core = bench.core
    series = core.series.launch(core.series.plan(SPEC, {"repeats": 1}).plan, "sandbox", TESTER)
    bench.tick()
    [run] = core.ledger.page()
    assert bench.follow(run).state is RunState.FAILED

    core.series.rerun(series.series_id, TESTER)
    bench.tick()

    [second] = [other for other in core.ledger.page() if other.run_id != run.run_id]
    assert tree_of(bench, second) == [(0, run.run_id, None), (1, second.run_id, ParentKind.RETRY)]


def test_a_run_without_others_is_a_tree_of_its_own(bench: Bench) -> None:
    run = bench.launch()

    assert tree_of(bench, run) == [(0, run.run_id, None)]


def test_a_clone_of_a_run_that_the_ledger_does_not_have_names_it(bench: Bench) -> None:
    run = bench.core.runs.launch(SPEC, "sandbox", TESTER, clone_of="imported-1")

    assert tree_of(bench, run) == [(0, "imported-1", None), (1, run.run_id, ParentKind.CLONE)]


def test_a_large_tree_keeps_the_way_to_the_run_and_counts_the_rest(bench: Bench) -> None:
    first = bench.launch()
    clones = [clone(bench, first) for _ in range(MOST_NODES + 3)]
    last = clone(bench, clones[0])

    tree = bench.core.lineages.read_tree(last.run_id)

    assert len(tree.nodes) == MOST_NODES
    assert tree.left_out == len(clones) + 2 - MOST_NODES
    assert {first.run_id, clones[0].run_id, last.run_id} <= {node.run_id for node in tree.nodes}

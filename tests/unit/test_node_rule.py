"""Slow nodes of an acceptance: all of them are named, and no other."""

import numpy as np
import pytest

from aisbench_core.domain.acceptance.node_rule import NodeVerdict, judge_nodes

NODES = [f"node-{number:02}" for number in range(64)]
SLOW = {"node-07", "node-20", "node-63"}
PLANNED, SHARE, ALPHA = 5, 0.95, 0.05


def measure(seed: int, cv: float = 0.01, runs: int = PLANNED) -> list[dict[str, float]]:
    """Runs of which each is faster or slower as a whole."""
    random = np.random.default_rng(seed)
    return [
        {node: 900 * float(np.exp(random.normal(0, cv) + drift)) * (0.92 if node in SLOW else 1) for node in NODES}
        for drift in random.normal(0, 0.05, runs)
    ]


def name_slow(runs: list[dict[str, float]]) -> set[str]:
    return {name for name, node in judge_nodes(runs, SHARE, ALPHA, PLANNED).items() if node.verdict is NodeVerdict.SLOW}


@pytest.mark.parametrize("seed", range(50))
def test_three_nodes_that_are_eight_percent_slow_are_named_and_no_other(seed: int) -> None:
    runs = measure(seed)
    looks = [name_slow(runs[:count]) for count in range(1, PLANNED + 1)]

    assert set().union(*looks) == SLOW


def test_one_run_names_nobody() -> None:
    assert name_slow(measure(1, runs=1)) == set()


def test_nodes_of_a_good_pool_are_ok() -> None:
    runs = [{node: speed / (0.92 if node in SLOW else 1) for node, speed in run.items()} for run in measure(2)]

    assert {node.verdict for node in judge_nodes(runs, SHARE, ALPHA, PLANNED).values()} == {NodeVerdict.OK}


def test_where_runs_scatter_too_much_nothing_is_decided() -> None:
    verdicts = judge_nodes(measure(3, cv=0.2), SHARE, ALPHA, PLANNED)

    assert {node.verdict for node in verdicts.values()} == {NodeVerdict.UNDECIDED}


def test_a_single_node_is_compared_with_nobody() -> None:
    verdicts = judge_nodes([{"a": 1.0}, {"a": 2.0}], SHARE, ALPHA, PLANNED)

    assert verdicts["a"].verdict is NodeVerdict.UNDECIDED
    assert judge_nodes([], SHARE, ALPHA, PLANNED) == {}

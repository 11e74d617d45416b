"""What the region has: pools and nodes, as a person writes them down and as they are kept."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from aisbench_sandbox.capacity import Capacity, DedicatedPool, Plan

FOUR = Plan(pools=(DedicatedPool(name="pool-a", flavor="modelarts.pool.visual.8xlarge", nodes=4, bad=frozenset({1})),))


def test_isolated_nodes_get_no_jobs_and_stay_isolated_after_a_restart(tmp_path: Path) -> None:
    capacity = Capacity(tmp_path / "capacity.json", None, 16)
    capacity.set(FOUR)

    capacity.isolate("pool-a", ["pool-a-node-1"])

    restarted = Capacity(tmp_path / "capacity.json", None, 16)
    for each in (capacity, restarted):
        assert [host.name for host in each.hosts()["pool-a"]] == ["pool-a-node-0", "pool-a-node-2", "pool-a-node-3"]
        assert len(each.largest("pool-a")) == 4
        assert each.is_bad("pool-a", "pool-a-node-1")
        assert not each.is_bad("pool-a", "pool-a-node-0")


def test_the_plan_that_a_sandbox_is_started_with_replaces_what_was_kept(tmp_path: Path) -> None:
    Capacity(tmp_path / "capacity.json", None, 16).set(FOUR)
    few = Plan(pools=(DedicatedPool(name="few", flavor="sandbox.cpu.2cards", nodes=1),))

    capacity = Capacity(tmp_path / "capacity.json", few, 16)
    capacity.set(FOUR)
    capacity.reset()

    assert capacity.plan == few


def test_bad_public_nodes_are_handed_out_once(tmp_path: Path) -> None:
    capacity = Capacity(tmp_path / "capacity.json", Plan(bad_public_nodes=3), 16)

    assert [capacity.take_bad_nodes("", 2) for _ in range(3)] == [2, 1, 0]
    assert capacity.take_bad_nodes("pool-a", 2) == 0


@pytest.mark.parametrize(
    "pool",
    [
        {"name": "a", "flavor": "modelarts.unknown", "nodes": 1},
        {"name": "a", "flavor": "sandbox.cpu.1card", "nodes": 1, "bad": [1]},
        {"name": "A b", "flavor": "sandbox.cpu.1card", "nodes": 1},
        {"name": "a", "flavor": "sandbox.cpu.1card", "nodes": -1},
        {"name": "a", "flavor": "sandbox.cpu.1card", "nodes": 1, "colour": "red"},
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(pool: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Plan.model_validate({"pools": [pool]})


def test_two_pools_have_two_names() -> None:
    with pytest.raises(ValidationError, match="same name"):
        Plan(pools=(FOUR.pools[0], FOUR.pools[0]))

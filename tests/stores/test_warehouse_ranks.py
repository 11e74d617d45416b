"""Cards by node: the map stays small however many cards there are, and no straggler is lost in it."""

import numpy as np
import pytest

from aisbench_core.warehouse.facade import Warehouse
from tests import records as a


def cards(count: int, slow: dict[int, float]) -> list[float]:
    """So many cards that differ a little, and some that are slow."""
    values = list(np.random.default_rng(1).normal(1000, 3, count))
    return [slow.get(rank, value) for rank, value in enumerate(values)]


@pytest.mark.every_store
def test_a_cluster_counts_its_ranks_through_over_the_nodes(warehouse: Warehouse) -> None:
    warehouse.record(a.record("four", node_count=4, throughputs=cards(32, {13: 900.0, 30: 940.0})))

    found = warehouse.cards.find_map("four")

    assert found
    assert found.by_card
    assert (found.spread.ranks, found.spread.nodes, found.spread.stragglers) == (32, 4, 2)
    assert [(cell.node, cell.card) for cell in found.cells[:9]] == [*((0, card) for card in range(8)), (1, 0)]
    assert [(each.node, each.card, each.rank) for each in found.stragglers] == [(1, 5, 13), (3, 6, 30)]
    assert found.stragglers[0].share == pytest.approx(0.9, abs=0.01)
    assert [(cell.node, cell.card) for cell in found.cells if cell.stragglers] == [(1, 5), (3, 6)]


def test_single_servers_count_their_own_cards(warehouse: Warehouse) -> None:
    warehouse.record(a.record("alone", mode="single_server", node_count=2, throughputs=cards(16, {9: 800.0})))

    found = warehouse.cards.find_map("alone")

    assert found
    assert [(each.node, each.card) for each in found.stragglers] == [(1, 1)]


@pytest.mark.parametrize(("nodes", "cards_per_node", "most"), [(250, 8, 250), (2_000, 1, 1_000)])
def test_of_many_cards_nodes_become_cells_and_no_straggler_is_lost(
    warehouse: Warehouse, nodes: int, cards_per_node: int, most: int
) -> None:
    slow = {rank: 900.0 - rank / 100 for rank in range(0, nodes * cards_per_node, 29)}
    values = cards(nodes * cards_per_node, slow)
    warehouse.record(a.record("many", node_count=nodes, cards_per_node=cards_per_node, throughputs=values))

    found = warehouse.cards.find_map("many")

    assert found
    assert not found.by_card
    assert len(found.cells) == most
    assert sum(cell.ranks for cell in found.cells) == nodes * cards_per_node
    assert sum(cell.stragglers for cell in found.cells) == found.spread.stragglers == len(slow)
    assert len(found.stragglers) == 50
    assert found.stragglers[0].rank == max(slow)


def test_the_spread_of_several_runs_is_asked_for_at_once(warehouse: Warehouse) -> None:
    warehouse.rebuild([a.record("a", throughputs=[1, 2, 3, 4, 5, 6, 7, 8]), a.record("b"), a.imported("c")])

    found = warehouse.cards.fetch_spreads(["a", "b", "c"])

    assert sorted(found) == ["a", "b"]
    assert (found["a"].lowest, found["a"].median, found["a"].highest, found["a"].stragglers) == (1, 4.5, 8, 4)
    assert warehouse.cards.find_map("c") is None

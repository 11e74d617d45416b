"""What acceptances keep in the ledger, and ask the warehouse for."""

from pathlib import Path

import pytest

from aisbench_core.domain.acceptance.acceptance import AcceptanceState, end_acceptance
from aisbench_core.model import Event, Level, WayIn
from aisbench_core.warehouse.facade import Warehouse
from tests.actors import named
from tests.flow.following import PERSON
from tests.series_bench import SeriesBench
from tests.stores.test_warehouse_nodes import on_hosts

SUITE = """\
title: Ours
spec: {workload: quickstart_digits, cards_per_node: 2}
scale: [{name: a, hours: 1, sizes: [{nodes: 1, reference: {value: 9, source: here}}]}]
"""


@pytest.mark.every_store
def test_an_acceptance_is_stored_once_found_by_its_beginning_and_ended_once(tmp_path: Path, ledger_url: str) -> None:
    bench = SeriesBench.on(tmp_path / "data", ledger=ledger_url)
    service = bench.core.acceptances
    bench.core.settings.suites_dir.mkdir()
    (bench.core.settings.suites_dir / "ours.yaml").write_text(SUITE, "utf-8")
    stored, again = (service.launch(service.plan("ours", {}), named(PERSON), "key") for _ in range(2))
    running = service.ledger.list_running()
    event = Event(stored.acceptance_id, bench.clock(), WayIn.FOLLOWER, Level.INFO, "ended")

    ended = end_acceptance(stored, AcceptanceState.ACCEPTED, "all steps passed", bench.clock())
    outcomes = [service.ledger.end(ended, event) for _ in range(2)]

    assert stored == again
    assert running == [stored]
    assert outcomes == [True, False]
    assert service.get(stored.acceptance_id[:-2]) == ended
    assert service.list_newest() == [ended]
    assert service.ledger.list_running() == []


@pytest.mark.every_store
def test_nodes_are_compared_by_name_and_those_of_one_name_by_number(warehouse: Warehouse) -> None:
    warehouse.record_many([on_hosts(1, "h0", "h1", "h2", slow="h2"), on_hosts(2, "same", "same")])

    shares = warehouse.cards.find_node_shares(["r-1", "r-2", "r-3"])

    assert shares["r-1"] == pytest.approx({"h0": 1.0, "h1": 1.0, "h2": 0.9})
    assert {*shares} == {"r-1", "r-2"}
    assert {*shares["r-2"]} == {"same #0", "same #1"}

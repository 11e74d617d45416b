"""Whoever changes something through the core is named: in what it records, or in the log."""

import inspect
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from aisbench_core.config.settings import Settings
from aisbench_core.domain.access.changes import log_change
from aisbench_core.exchange.importing.service import Columns
from aisbench_core.model import Actor, Role
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.records.saved_views import SavedViews
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER

CHANGE = re.compile(
    r"bring|clean|collect_again|compact|create|delete|forget|keep|store_evaluations|launch|make|mark_baseline|merge|move|note|pause|rebuild"
    r"|remember|rename|rerun|resume|revoke|save|save_keys|save_profile|state|stop|tag|take_over|unmark_baseline"
)
BY_THE_CORE = {
    "Audit.remember": "whoever appends entries calls it, after the transaction",
    "Systems.take_over": "Runs.create calls it, for whoever launches",
    "Warehouse.compact": "Storage.compact calls it",
    "Warehouse.rebuild": "Storage.rebuild calls it",
    "WatchLedger.save": "the stall guard calls it, for the follower",
}
"""Changes that no page and no command calls."""


def changes(core: Core) -> Iterator[tuple[str, inspect.Signature]]:
    """Every public method that changes something, by its qualified name."""
    services = {SavedViews, Columns, *(type(each) for name, each in vars(core).items() if name[0] != "_")} - {Ledger}
    for service in services:
        for name, method in inspect.getmembers(service, inspect.isfunction):
            if CHANGE.fullmatch(name) and method.__qualname__ not in BY_THE_CORE:
                yield method.__qualname__, inspect.signature(method)


def test_every_change_through_the_core_takes_an_actor(tmp_path: Path) -> None:
    found = dict(changes(open_core(Settings(data_dir=tmp_path / "data"))))

    nameless = {name for name, signature in found.items() if signature.parameters.get("actor") is None}

    assert nameless == set()
    assert len(found) >= 30


def test_a_change_is_logged_with_who_made_it_and_how(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="aisbench_core"):
        log_change(TESTER, "delete view 'nightly' of leaderboard")

    assert caplog.messages == ["tester (cli): delete view 'nightly' of leaderboard"]


def test_who_is_on_this_machine_has_every_role() -> None:
    assert isinstance(TESTER, Actor)
    assert TESTER.roles == frozenset(Role)

"""What sentences were made from, in the ledger: kept beside their text, and not needed of older rows."""

from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.base.messages import Message, in_chinese
from aisbench_core.model import Event, Level
from aisbench_core.store.ledger.ledger import Ledger
from tests import records as a


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "ledger.sqlite3"


def test_a_ledger_keeps_what_its_sentences_were_made_from(file: Path) -> None:
    why = Message("stopped by {who}", who="none")
    Ledger(file).add(replace(a.run("r-1"), detail=why), Event("r-1", a.T0, "follower", Level.INFO, why, "running"))

    found, [event] = Ledger(file).get("r-1"), Ledger(file).events("r-1")

    assert [in_chinese(each) for each in (found.detail, event.message, event.actor)] == ["由 none 停止"] * 2 + [
        "running"
    ]
    assert isinstance(event.actor, Message), "so it is not taken for a sentence of an older version"

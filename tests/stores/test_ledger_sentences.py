"""What sentences were made from, in the ledger: kept beside their text, and not needed of older rows."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.messages import Message, in_chinese
from aisbench_core.model import Event, Level, RunState
from aisbench_core.running.ledger import Ledger
from tests import records as a


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "ledger.sqlite3"


def test_sentences_of_an_older_version_are_kept_without_what_they_were_made_from(file: Path) -> None:
    older = replace(a.run("r-1"), state=RunState.FAILED, detail="the job ended as Failed")
    Ledger(file).add(older, Event("r-1", a.T0, "follower", Level.INFO, "running: all", "ann@lab (process 3)"))
    with sqlite3.connect(file, isolation_level=None) as con:
        newest = ("runs detail_data", "events message_data", "events actor_data", "series trouble_data")
        for table, column in map(str.split, (*newest, "beats who_data")):
            con.execute(f"alter table {table} drop column {column}")
        con.execute("pragma user_version = 4")

    found, [event] = Ledger(file).get("r-1"), Ledger(file).events("r-1")

    texts = [found.detail, event.message, event.actor]
    assert texts == ["the job ended as Failed", "running: all", "ann@lab (process 3)"]
    assert not [text for text in texts if isinstance(text, Message)]


def test_a_ledger_keeps_what_its_sentences_were_made_from(file: Path) -> None:
    why = Message("stopped by {who}", who="none")
    Ledger(file).add(replace(a.run("r-1"), detail=why), Event("r-1", a.T0, "follower", Level.INFO, why, "running"))

    found, [event] = Ledger(file).get("r-1"), Ledger(file).events("r-1")

    assert [in_chinese(each) for each in (found.detail, event.message, event.actor)] == ["由 none 停止"] * 2 + [
        "running"
    ]
    assert isinstance(event.actor, Message), "so it is not taken for a sentence of an older version"

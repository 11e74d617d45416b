"""What sentences were made from, in the ledger: kept beside their text, and not needed of older rows."""

from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.base.messages import Message, in_chinese
from aisbench_core.model import Event, Level, StopCause, StopKind
from aisbench_core.store.ledger.ledger import Ledger
from tests import records as a


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "ledger.sqlite3"


@pytest.mark.parametrize(
    ("cause", "chinese"),
    [
        (StopCause(StopKind.PERSON, "ann"), "由 ann 停止"),
        (StopCause(StopKind.SEARCH, Message("stopped before a job was created")), "由搜索停止：创建作业前已停止"),
        (StopCause(StopKind.STALL, 75), "已有 75 分钟没有任何进展迹象"),
    ],
    ids=lambda value: value.kind if isinstance(value, StopCause) else "",
)
def test_a_ledger_keeps_why_a_run_was_stopped_and_says_it_in_both_languages(
    file: Path, cause: StopCause, chinese: str
) -> None:
    Ledger(file).add(replace(a.run("r-1"), stop_cause=cause))

    found = Ledger(file).get("r-1").stop_cause

    assert found == cause
    assert in_chinese(found.sentence) == chinese


def test_a_ledger_keeps_what_its_sentences_were_made_from(file: Path) -> None:
    why = Message("stopped by {who}", who="none")
    Ledger(file).add(replace(a.run("r-1"), detail=why), Event("r-1", a.T0, "follower", Level.INFO, why, "running"))

    found, [event] = Ledger(file).get("r-1"), Ledger(file).events("r-1")

    assert [in_chinese(each) for each in (found.detail, event.message, event.actor)] == ["由 none 停止"] * 2 + [
        "running"
    ]
    assert isinstance(event.actor, Message), "so it is not taken for a sentence of an older version"

"""Chinese pages: our sentences are Chinese, and what a job said stays as it is."""

from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.base.messages import Message, join_parts, make_verbatim
from aisbench_core.model import Event, Level, Run, RunState
from aisbench_core.running.following.profile_follower import state_message
from aisbench_core.store.ledger.ledger import Ledger
from pages._ui.shell.errors import escape_markdown
from tests import records as a
from tests.console.conftest import OpenPage, texts

ANYBODYS = ["ValueError: all", "RuntimeError: none", "running", "failed"]


def stored(data_dir: Path, run: Run) -> Run:
    """The run in the ledger, with its move as the follower tells it."""
    return Ledger(data_dir / "ledger.sqlite3").add(
        run, Event(run.run_id, a.T0, "follower", Level.ERROR, state_message(run))
    )


@pytest.mark.parametrize("said", ANYBODYS)
def test_a_page_tells_what_a_job_died_of_in_its_own_words(open_page: OpenPage, data_dir: Path, said: str) -> None:
    why = join_parts("; ", [Message("the job ended as {phase}", phase="Failed"), said])
    stored(data_dir, replace(a.run("r-1"), state=RunState.FAILED, detail=why))

    app = open_page("live", run="r-1", lang="zh")

    assert escape_markdown(f"作业以 Failed 结束；{said}") in [caption.value for caption in app.caption]
    told_rows = [cell for table in app.dataframe for cell in table.value.astype(str).to_numpy().ravel()]
    assert f"失败：作业以 Failed 结束；{said}" in told_rows


@pytest.mark.parametrize("said", ANYBODYS)
def test_a_page_tells_trouble_that_passes_once(open_page: OpenPage, data_dir: Path, said: str) -> None:
    trouble = Message("the ledger {path} cannot be used: {reason}", path="all", reason=said)
    run = replace(a.run("r-1"), state=RunState.RUNNING, ended_at=None, attempts=3, detail=trouble)
    stored(data_dir, run)

    app = open_page("live", run="r-1", lang="zh")

    assert escape_markdown(f"台账 all 无法使用：{said}") in texts(app)
    assert texts(app).count("台账 all 无法使用") == 1
    assert "retrying" not in texts(app)


@pytest.mark.parametrize("said", [*ANYBODYS, "the job ended as Failed"])
def test_a_page_quotes_what_the_cloud_says_of_a_job(open_page: OpenPage, data_dir: Path, said: str) -> None:
    stored(data_dir, replace(a.run("r-1"), state=RunState.RUNNING, ended_at=None, detail=make_verbatim(said)))

    app = open_page("live", run="r-1", lang="zh")

    assert escape_markdown(said) in [each.value for each in app.markdown]

"""The page of a failed run says why at its top, in both languages, and opens a corrected draft with one click."""

from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.specfile import from_yaml
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.model import JobDetails, RunSpec, RunState
from aisbench_core.running.job_watch import write_details
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.run_paths import RunFolder
from tests import records as a
from tests.console.conftest import BROWSER_KEY, OpenPage, texts
from tests.console.job_details import AGAIN, HANG

RUN = "r20260301-090000-oomoom"
LOG = "[rank0]: step 1\n[rank1]: RuntimeError: NPU out of memory. Tried to allocate *2.00* GiB (NPU 1)\n"


@pytest.fixture
def spec() -> RunSpec:
    asked = {"framework_version": "", "engine_name": "", "engine_version": "", "parameters": {"batch_size": 64}}
    return (
        Workloads(HOME / "workloads").get("quickstart_digits").fill_spec(a.spec(workload="quickstart_digits", **asked))
    )


def store(data: Path, spec: RunSpec, log: str, state: RunState = RunState.FAILED, **changes: object) -> None:
    ended = {} if state.is_terminal else {"ended_at": None, "duration_s": None}
    run = a.run(RUN, spec, profile="sandbox", state=state, final_state=state, **{**ended, **changes})
    Ledger(data / "ledger.sqlite3").add(run)
    folder = RunFolder(data / "runs" / RUN)
    folder.logs.mkdir(parents=True)
    folder.log(0).write_text(log, "utf-8")


def test_a_failed_run_says_why_with_its_lines_and_what_to_do(
    open_page: OpenPage, data_dir: Path, spec: RunSpec
) -> None:
    store(data_dir, spec, LOG)

    english, chinese = (open_page("live", run=RUN, lang=lang) for lang in ("en", "zh"))

    assert "Why it failed: Card out of memory" in texts(english)
    assert "Node 0 · Rank 1 · Line 2" in texts(english)
    assert any("Tried to allocate *2.00* GiB" in html.proto.body for html in english.get("html"))
    assert "Reduce the batch size" in texts(english)
    assert r"batch\_size: 64 → 32" in texts(english)
    assert "失败原因：加速卡显存不足" in texts(chinese)
    assert "请减小批大小" in texts(chinese)
    links = [
        [link for link in app.page_link if link.label == label]
        for app, label in ((english, "Log line"), (chinese, "日志行"))
    ]
    assert all(f"node=0&offset={LOG.index('[rank1]')}" in link.proto.query_string for (link,) in links)
    assert all([header.anchor for header in app.header if header.anchor] == ["log"] for app in (english, chinese))


def test_the_corrected_draft_shows_its_change(open_page: OpenPage, data_dir: Path, spec: RunSpec) -> None:
    store(data_dir, spec, LOG)
    app = open_page("live", run=RUN)

    app.button(key="corrected-draft").click().run()

    stored = Ledger(data_dir / "ledger.sqlite3").draft(f"from-{RUN}.{BROWSER_KEY[:8]}")
    assert stored
    assert from_yaml(stored) == spec.model_copy(update={"parameters": {**spec.parameters, "batch_size": 32}})
    assert app.title[0].value == "New run"
    assert "**Fields changed from the original: 1**" in texts(app)
    (changed,) = [frame.value for frame in app.dataframe if "Original" in frame.value]
    assert changed.iloc[0].tolist()[1:] == ["64", "32"]


def test_an_unknown_cause_is_said_and_nothing_is_proposed(open_page: OpenPage, data_dir: Path, spec: RunSpec) -> None:
    store(data_dir, spec, "step 1\n")

    app = open_page("live", run=RUN)

    assert "Why it failed: unknown" in texts(app)
    assert "No rule matches this failure" in texts(app)
    assert "[Go to the log](#log)" in texts(app)
    assert not [button for button in app.button if button.key == "corrected-draft"]


@pytest.mark.parametrize("state", [RunState.STOPPED, RunState.COMPLETED])
def test_a_run_that_was_stopped_or_completed_has_no_such_block_and_no_error(
    open_page: OpenPage, data_dir: Path, spec: RunSpec, state: RunState
) -> None:
    store(data_dir, spec, LOG, state, detail="stopped by ann" if state is RunState.STOPPED else "")

    app = open_page("live", run=RUN)

    assert "Why it" not in texts(app)
    assert [error.value for error in app.error] == []


def test_a_run_that_hangs_says_so_and_how_the_next_one_is_restarted(
    open_page: OpenPage, data_dir: Path, spec: RunSpec
) -> None:
    store(data_dir, spec, "step 9\n", RunState.RUNNING)
    write_details(JobDetails((HANG,), attempts=(replace(AGAIN, number=1),)), RunFolder(data_dir / "runs" / RUN))

    app = open_page("live", run=RUN)

    assert "Why it hangs: The job hangs, according to the platform" in texts(app)
    assert [button for button in app.button if button.key == "corrected-draft"]

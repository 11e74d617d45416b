"""Cleaning up a run on its page: sizes first, one part or more, and the page says afterwards what was removed."""

from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.model import Removal, RunPart
from aisbench_core.store.run_folders.removals import read_removals, write_removals
from aisbench_core.store.run_folders.run_paths import RunFolder
from tests.actors import TESTER
from tests.console.conftest import OpenPage, texts
from tests.console.seeds import ACTIVE_RUN, DONE_RUN
from tests.flow.following import GOOD, Bench, bench_on
from tests.records import T0
from tests.sandbox_process import SandboxProcess


@pytest.fixture
def bench(sandbox: SandboxProcess, data_dir: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    return bench_on(sandbox, data_dir)


def keys(app: AppTest) -> set[str]:
    return {str(button.key) for button in app.button}


def test_only_the_parts_that_are_ticked_are_removed_and_the_page_says_so(open_page: OpenPage, bench: Bench) -> None:
    run = bench.follow(bench.launch())
    app = open_page("live", run=run.run_id)

    app.button(key="clean-open").click().run()
    shown, yes = texts(app), app.button(key="clean-yes")
    app.checkbox(key="clean-logs").check().run()
    app.checkbox(key="clean-folder").check().run()
    app.button(key="clean-yes").click().run()

    assert f"{run.run_id}/ · files: " in shown
    assert "files:" in shown
    assert yes.disabled
    assert not app.exception
    assert {removal.part for removal in bench.core.cleaning.removals(run.run_id)} == {RunPart.LOGS, RunPart.FOLDER}
    assert "clean-yes" not in keys(app)
    assert "Logs in OBS: removed" in texts(app)
    assert "No log for node 0." in texts(app)
    assert [item.part for item in bench.core.cleaning.plan(run.run_id).items] == [RunPart.JOB, RunPart.OUTPUTS]


def test_keeping_everything_closes_the_dialog_and_the_next_one_looks_again(open_page: OpenPage, bench: Bench) -> None:
    run = bench.follow(bench.launch())
    app = open_page("live", run=run.run_id)
    app.button(key="clean-open").click().run()

    app.button(key="clean-no").click().run()
    closed = keys(app)
    bench.core.cleaning.clean(bench.core.cleaning.plan(run.run_id, [RunPart.LOGS]), TESTER)
    app.button(key="clean-open").click().run()

    assert "clean-yes" not in closed
    assert "Nothing left" in texts(app)
    assert app.checkbox(key="clean-logs").disabled


def test_a_region_that_does_not_answer_hinders_no_clean_up_here(open_page: OpenPage, used: Path) -> None:
    logs = used / "runs" / DONE_RUN / "logs"
    logs.mkdir(parents=True)
    (logs / "worker-0.log").write_text("step 1\n")
    app = open_page("live", run=DONE_RUN)

    app.button(key="clean-open").click().run()
    shown = texts(app)
    app.checkbox(key="clean-folder").check().run()
    app.button(key="clean-yes").click().run()

    assert "Kept:" in shown
    assert not logs.exists()
    assert "Fetched logs and other local files: removed" in texts(app)


def test_an_active_run_offers_no_clean_up(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    assert "clean-open" not in keys(open_page("live", run=ACTIVE_RUN))


def test_an_interrupted_removal_and_a_damaged_account_are_said(open_page: OpenPage, used: Path) -> None:
    folder = RunFolder(used / "runs" / DONE_RUN)
    folder.path.mkdir(parents=True)
    begun = Removal(RunPart.OUTPUTS, "/bench/out/", 3, 10, "ann", T0)
    write_removals(folder, [begun, replace(begun, part=RunPart.LOGS, ended_at=T0)])

    page = texts(open_page("live", run=DONE_RUN))
    folder.removals.write_text("nonsense")
    damaged = texts(open_page("live", run=DONE_RUN))

    assert "Outputs in OBS: removal started" in page
    assert "Logs in OBS: removed" in page
    assert "cannot be read" in damaged
    with pytest.raises(Exception, match="cannot be read"):
        read_removals(folder)

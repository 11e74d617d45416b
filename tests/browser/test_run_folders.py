"""A console in a browser whose runs another machine follows: no folder is shared, and the log grows on the page."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from aisbench_core.cloud.clouds import Clouds
from aisbench_core.config.settings import Settings
from aisbench_core.model import RunState
from aisbench_core.wiring import Core, open_core
from tests.actors import named
from tests.browser.prepared_console import PreparedConsole
from tests.browser.visit import OpenWindow
from tests.flow.command_line import CommandLine
from tests.flow.following import PERSON, SPEC
from tests.flow.killable import Killable
from tests.postgres_server import PASSWORD, PostgresServer
from tests.sandbox_process import SandboxProcess
from tests.team_ledger import PASSWORD_VARIABLE, url_of

pytestmark = pytest.mark.postgres


@pytest.fixture
def team(region: SandboxProcess, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The settings that both machines share."""
    monkeypatch.setenv(PASSWORD_VARIABLE, PASSWORD)
    postgres.create("seen")
    yield {"ledger": url_of(postgres, "seen"), "run_folders": f"obs://{region.bucket}/seen", "profile": "lab"}
    postgres.drop("seen")


def core_of(folder: Path, team: dict[str, str]) -> Core:
    return open_core(Settings.model_validate({"data_dir": folder, **team}))


def test_a_page_shows_the_growing_log_of_a_run_that_another_machine_follows(
    region: SandboxProcess, team: dict[str, str], window: OpenWindow, tmp_path: Path
) -> None:
    shells = [CommandLine(tmp_path / name, region) for name in ("a", "b")]
    for shell in shells:
        shell.environment |= {f"AISBENCH_{name.upper()}": value for name, value in team.items()}
    a, b = (core_of(shell.data_dir, team) for shell in shells)
    follower = Killable(shells[1], b)
    console = PreparedConsole.start(shells[0].data_dir, console_follows="false", **team)
    try:
        follower.start()
        run = a.runs.launch(SPEC.model_copy(update={"parameters": {"epochs": 3000}}), "lab", named(PERSON))
        visit = window(console)
        visit.open(f"/live?run={run.run_id}")

        log = visit.page.get_by_role("log", name="Log", exact=True)
        expect(log).to_contain_text("epoch", timeout=60_000)
        early = log.inner_text()
        expect(log).not_to_have_text(early, timeout=60_000)
        a.runs.stop(run.run_id, named(PERSON))
        follower.wait(lambda: a.ledger.get(run.run_id).state is RunState.STOPPED, "the run to end")
        expect(visit.page.get_by_text("Stopped").first).to_be_visible(timeout=60_000)
        assert visit.troubles() == []

        path = f"/{region.bucket}/seen/runs/{run.run_id}/logs/"
        objects = Clouds(a.settings, 30.0)("lab").objects
        for stat in objects.list(path):
            objects.put(stat.path, b"not what was published")
        shutil.rmtree(shells[0].data_dir / "runs")
        visit.reload()
        visit.picture("run-folders")

        warning = visit.page.get_by_text(re.compile("are this machine's copies and may be out of date"))
        expect(warning).to_contain_text("worker-0.log")
        expect(visit.page.get_by_text("Stopped").first).to_be_visible()
        assert visit.troubles() == []
    finally:
        follower.kill()
        console.stop()

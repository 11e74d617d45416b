"""A run is put together from what the region holds by clicking only: dataset, pool, image and checkpoint."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock
from playwright.sync_api import Locator

from aisbench_core.domain.authoring.specfile import from_yaml
from aisbench_core.model import RunSpec, RunState
from aisbench_core.store.ledger.ledger import Ledger
from tests import records as a
from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.test_drafts import drafts
from tests.browser.visit import OpenWindow, Visit
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient

EARLIER = "r20260301-080200-cccccc"
POOL = "pool-aisb-0123456789abcdef0123456789abcdef"


@pytest.fixture
def region(scripted_sandbox: SandboxProcess) -> Iterator[SandboxProcess]:
    """A region with a pool, and a dataset two directories deep."""
    scripted_sandbox.reset()
    pool = {"name": POOL, "flavor": "modelarts.kat1.8xlarge", "nodes": 4}
    scripted_sandbox.admin("PUT", "capacity", {"pools": [pool]})
    TrainingClient(scripted_sandbox).put("sets/digits/digits.csv.gz", "12345")
    yield scripted_sandbox
    scripted_sandbox.reset()


@pytest.fixture
def console(region: SandboxProcess, tmp_path: Path) -> Iterator[ConsoleProcess]:
    """A console with an ended run; nobody follows, so that it stays as it is."""
    (tmp_path / "sandbox").mkdir()
    shutil.copy(region.data_dir / "profile.yaml", tmp_path / "sandbox")
    earlier = replace(a.run(EARLIER, a.spec(workload="quickstart_digits"), state=RunState.FAILED), profile="sandbox")
    Ledger(tmp_path / "ledger.sqlite3").add(earlier)
    with FileLock(tmp_path / "follower.lock"):
        process = PreparedConsole.start(tmp_path)
        yield process
        process.stop()


def click(visit: Visit, button: Locator) -> None:
    button.click()
    visit.rest()


def stored(data_dir: Path) -> RunSpec:
    (text,) = drafts(data_dir).values()
    return from_yaml(text)


def test_dataset_pool_image_and_checkpoint_are_picked_by_clicking_only(
    console: ConsoleProcess, window: OpenWindow, region: SandboxProcess
) -> None:
    visit = window(console)
    visit.open("/configure?profile=sandbox")
    page = visit.page

    click(visit, visit.keyed("browse-inputs.data_url").get_by_role("button", name="Browse"))
    for directory in ("sets", "digits"):
        click(visit, page.get_by_role("button", name=directory, exact=False).last)
    click(visit, visit.keyed("browse-inputs.data_url-use").get_by_role("button"))
    visit.unfold("Cards, pool and priority")
    click(visit, visit.keyed("choose-pool_id").get_by_role("button", name="Choose"))
    click(visit, visit.keyed("choose-pool_id-0").get_by_role("button"))
    visit.unfold("Code and image")
    click(visit, visit.keyed("choose-engine").get_by_role("button", name="Choose"))
    click(visit, visit.keyed("choose-engine-0").get_by_role("button"))
    click(visit, visit.keyed("choose-image_url").get_by_role("button", name="Choose"))
    for name in ("sandbox-team", "bench/resnet", "v2"):
        click(visit, page.get_by_role("button", name=name, exact=True))
    visit.unfold("Limits and recovery")
    visit.pick(page.get_by_label("Resume from", exact=True), re.compile(EARLIER))

    spec = stored(console.data_dir)
    assert [(each.name, each.path) for each in spec.inputs] == [("data_url", f"/{region.bucket}/sets/digits/")]
    assert spec.pool_id == POOL
    assert (spec.engine_name, spec.engine_version) != ("", "")
    assert spec.image_url == "sandbox-team/bench/resnet:v2"
    assert spec.resume_from == EARLIER
    assert visit.troubles() == []

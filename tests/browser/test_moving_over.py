"""A lab moves over: its old configuration is read, mended at a click and launched, and its job stopped by name."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.console_process import ConsoleProcess
from tests.browser.test_story import expect_state
from tests.browser.visit import OpenWindow, Visit
from tests.sandbox_process import SandboxProcess
from tests.training_client import ENGINE, TrainingClient
from tests.unit.upstream_files import ACCESS_KEY, LOCAL, SECRET_KEY, config, session

JOB = "aisbench-debug"

ENDLESS = "import time\nprint('step 1', flush=True)\nfor _ in range(600):\n    time.sleep(1)\n"
"""A training that somebody has to stop."""


FINDINGS = {
    "saving more often costs throughput": "parameters.save_checkpoint_steps: 12000",
}
"""What is wrong with it in this region, and what mends it."""


@pytest.fixture
def file(region: SandboxProcess, tmp_path: Path) -> Path:
    """An old configuration for this region, whose checkpoints are saved more often than they should be."""
    access_key, secret_key = region.keys
    access = LOCAL.replace(ACCESS_KEY, access_key).replace(SECRET_KEY, secret_key)
    access = access.replace("0123456789abcdef0123456789abcdef", region.project_id).replace("cn-north-4", "lab")
    access = access.replace("'server': 'http://127.0.0.1:9'", f"'server': '{region.obs_url}'")
    job = session(
        "session_config_v2",
        inputs=f"'/{region.bucket}/enwiki/'",
        code_dir=f"'/{region.bucket}/bert/'",
        boot_file=f"'/{region.bucket}/bert/run_pretrain.py'",
        out_base_url=f'"/{region.bucket}/result/"',
        framework_version=repr(ENGINE),
        train_instance_type="'sandbox.cpu.1card'",
    )
    text = config(access.replace("http://127.0.0.1:9", region.modelarts_url), job)
    file = tmp_path / "modelarts_config.py"
    file.write_text(
        text.replace("'save_checkpoint_steps', 'value': '12000'", "'save_checkpoint_steps', 'value': '500'")
    )
    return file


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """The training code on this machine."""
    folder = tmp_path / "bert"
    folder.mkdir()
    (folder / "run_pretrain.py").write_text(ENDLESS, "utf-8")
    return folder


def test_a_lab_launches_its_old_configuration_and_stops_the_job_by_its_name(
    console: ConsoleProcess, region: SandboxProcess, window: OpenWindow, file: Path, code: Path
) -> None:
    client = TrainingClient(region)
    for name in ("train/a", "val/b", "ms_bert_large.ckpt"):
        client.put(f"enwiki/{name}", "data")
    visit = window(console)
    visit.open("/configure")

    read_in(visit, file, code)
    mend(visit)
    launch(visit)
    expect_state(visit, "Running")
    stop_by_name(visit)

    assert visit.troubles() == []


def read_in(visit: Visit, file: Path, code: Path) -> None:
    """Choose the file, say where the code lies, keep profile and keys, and begin a draft."""
    visit.open_drafts()
    visit.keyed("import").get_by_role("button").click()
    visit.page.locator("input[type=file]").set_input_files(file)
    expect(visit.keyed("import-use").get_by_role("button")).to_be_visible()
    visit.rest()
    folder = visit.keyed("import-code").get_by_role("textbox")
    folder.fill(str(code))
    folder.press("Enter")
    visit.rest()
    visit.keyed("import-keys").get_by_text("Also write the keys").click()
    visit.rest()
    visit.keyed("import-save").get_by_role("button").click()
    expect(visit.page.get_by_text("and its keys are saved")).to_be_visible()
    visit.keyed("import-use").get_by_role("button").click()
    expect(visit.page).to_have_url(re.compile(r"draft=import-[\w-]+&profile=lab"))
    expect(visit.page.get_by_role("dialog")).to_have_count(0)
    visit.rest()


def mend(visit: Visit) -> None:
    """See what is wrong with it, and take each proposed fix at a click."""
    visit.picture("moving-over-finding")
    for said, fix in FINDINGS.items():
        finding = visit.page.locator('[class*="st-key-finding-"]').get_by_text(said)
        expect(finding.first).to_be_visible()
        visit.page.get_by_role("button", name=re.compile(f"Fix: {fix}")).click()
        expect(finding).to_have_count(0)
        visit.rest()


def launch(visit: Visit) -> None:
    visit.keyed("launch").get_by_role("button").click()
    expect(visit.keyed("launch-yes")).to_be_visible()
    visit.rest()
    visit.picture("moving-over-launch")
    visit.keyed("launch-yes").get_by_role("button").click()
    expect(visit.page).to_have_url(re.compile(r"/live\?.*run="))


def stop_by_name(visit: Visit) -> None:
    """Ask the region for its jobs, find this one by its name, and stop it."""
    visit.open(f"/region?show=jobs&q={JOB}")
    visit.rest()
    job = visit.page.locator('[class*="st-key-job-"]').filter(has_text=JOB)
    expect(job).to_have_count(1)
    visit.picture("moving-over-jobs")
    job.get_by_role("button", name="Stop…").click()
    visit.keyed("stop-job-yes").get_by_role("button").click()
    expect(visit.page.get_by_role("dialog")).to_have_count(0)
    visit.open(f"/runs?q={JOB}")
    visit.page.get_by_role("link", name=re.compile(JOB)).first.click()
    expect_state(visit, "Stopped")

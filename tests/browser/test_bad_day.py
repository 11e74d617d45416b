"""Bad days: the region is gone, the keys are wrong, the console is killed. The page says so, and nothing is lost."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import expect

from tests.browser.conftest import QUICK
from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.visit import OpenWindow, Visit
from tests.sandbox_process import SandboxProcess

SECRET = "TOPSECRETKEYTHATNOBODYMAYEVERSEE00"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A data folder in which a sandbox can start."""
    (tmp_path / "sandbox").mkdir()
    return tmp_path


@pytest.fixture
def pretending(place: Path) -> Iterator[SandboxProcess]:
    """A sandbox whose jobs run until they are told otherwise; those of its second life end soon."""
    process = SandboxProcess.start(place / "sandbox")
    process.script(by="hold")
    yield process
    process.stop()


@pytest.fixture
def beside(pretending: SandboxProcess) -> Iterator[ConsoleProcess]:
    """A console beside that sandbox; it gives up on a request soon."""
    process = PreparedConsole.start(pretending.data_dir.parent, request_seconds="2", **QUICK)
    yield process
    process.stop()


def test_a_region_that_goes_away_is_said_in_a_sentence_and_tried_again(
    beside: ConsoleProcess, pretending: SandboxProcess, window: OpenWindow
) -> None:
    visit = window(beside)
    run_id = visit.launch_draft()
    expect(visit.page.locator(".stMarkdownBadge", has_text="Running")).to_be_visible()

    pretending.kill()

    retrying = visit.page.get_by_role("alert").filter(has_text="Retrying (attempt")
    expect(retrying).to_be_visible()
    assert_is_a_sentence(retrying.inner_text())
    assert retrying.inner_text().lower().count("retrying") == 1
    visit.picture("bad-day-live")
    healthy_page_of_an_unhealthy_region(visit)

    pretending.resume()

    visit.open(f"/live?run={run_id}")
    expect(visit.page.locator(".stMarkdownBadge", has_text="Running")).to_be_visible()
    expect(retrying).to_have_count(0)
    assert visit.troubles() == []


def test_a_launch_into_a_region_that_is_gone_waits_for_it(
    beside: ConsoleProcess, pretending: SandboxProcess, window: OpenWindow
) -> None:
    visit = window(beside)
    visit.open("/configure")
    pretending.kill()

    visit.keyed("launch").get_by_role("button").click()

    dialog = visit.page.get_by_role("dialog")
    expect(dialog).to_contain_text("The region does not answer")
    visit.picture("bad-day-launch")
    visit.keyed("launch-yes").get_by_role("button").click()
    expect(visit.page.get_by_role("alert").filter(has_text="Retrying (attempt")).to_be_visible()
    pretending.resume()

    expect(visit.page.locator(".stMarkdownBadge", has_text="Completed")).to_be_visible()
    assert pretending.requests()["modelarts"]["POST training-jobs"] == 1
    assert visit.troubles() == []


def test_wrong_keys_are_one_sentence_without_a_key(
    beside: ConsoleProcess, pretending: SandboxProcess, window: OpenWindow
) -> None:
    use_wrong_keys(pretending.data_dir)
    visit = window(beside)

    visit.open("/health")

    refused = visit.page.get_by_role("alert").filter(has_text=re.compile("OBS|ModelArts"))
    expect(refused).to_have_count(2)
    for service in refused.all():
        assert_is_a_sentence(service.inner_text())
        assert "403" in service.inner_text() or "401" in service.inner_text() or "key" in service.inner_text()
    visit.picture("bad-day-keys")
    for path in ("/configure", "/runs", "/live"):
        assert_no_key_on(visit)
        visit.open(path)
    assert_no_key_on(visit)
    assert SECRET not in beside.said
    assert visit.troubles() == []


def test_a_killed_console_comes_back_with_the_run_and_the_page_reconnects(
    beside: ConsoleProcess, window: OpenWindow
) -> None:
    visit = window(beside)
    run_id = visit.launch_draft()
    expect(visit.page.locator(".stMarkdownBadge", has_text="Running")).to_be_visible()

    beside.kill()
    expect(visit.page.locator('[data-testid="stApp"][data-test-connection-state="CONNECTED"]')).to_have_count(0)
    visit.picture("bad-day-restart")
    beside.resume()

    expect(visit.page.locator('[data-testid="stApp"][data-test-connection-state="CONNECTED"]')).to_be_visible()
    visit.settle()
    expect(visit.page.get_by_text(run_id).first).to_be_visible()
    expect(visit.page.locator(".stMarkdownBadge", has_text="Running")).to_be_visible()
    expect(visit.page.locator(".stMarkdownBadge", has_text="Following").first).to_be_visible()
    expect(visit.page.get_by_text("No follower")).to_have_count(0)


def healthy_page_of_an_unhealthy_region(visit: Visit) -> None:
    """Health itself works, and says of each service in one sentence that it does not."""
    visit.open("/health")
    services = visit.page.get_by_role("alert").filter(has_text="http://127.0.0.1")
    expect(services).to_have_count(2)
    for service in services.all():
        assert_is_a_sentence(service.inner_text())
        assert "cannot be reached" in service.inner_text()
    visit.picture("bad-day-health")


def use_wrong_keys(sandbox_dir: Path) -> None:
    file = sandbox_dir / "credentials.yaml"
    keys = yaml.safe_load(file.read_text("utf-8"))
    file.write_text(yaml.safe_dump(keys | {"secret_key": SECRET}), "utf-8")


def assert_is_a_sentence(text: str) -> None:
    """Short, and nothing that only a programmer could read."""
    assert len(text) < 400, text
    for word in ("Traceback", "Error(", "Exception", "<urllib3", "object at 0x", "Max retries"):
        assert word not in text, text


def assert_no_key_on(visit: Visit) -> None:
    assert SECRET not in visit.says()
    assert "Traceback" not in visit.says()

"""An engineer asks for money, a lead approves behind the sign-in, and the job runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import pytest
import yaml
from playwright.sync_api import expect

from aisbench_core.config.settings import Settings
from aisbench_core.model import RunState
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER
from tests.browser.conftest import QUICK
from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.reverse_proxy import ADDRESS, COOKIE, ReverseProxy
from tests.browser.test_signed_in import Proxied
from tests.browser.visit import OpenWindow, Visit

DONE_MS = 90_000
GROUPS = {"eve": "perf", "lena": "leads", "boss": "admins"}


@pytest.fixture(scope="module")
def console(region_folder: Path) -> Iterator[ConsoleProcess]:
    """A console on which a node hour costs 10 EUR."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORWARDED_ALLOW_IPS", "")
        process = PreparedConsole.start(
            region_folder, identity="proxy", trusted_proxies=ADDRESS, profile="lab",
            group_roles="perf=engineer, leads=lead, admins=admin", **QUICK,
        )  # fmt: skip
    profile = yaml.safe_load((region_folder / "sandbox" / "profile.yaml").read_text("utf-8"))
    prices = {"rehearsal": False, "price_per_node_hour": {"sandbox.cpu.2cards": 10.0}, "currency": "EUR"}
    profiles = process.data_dir / "profiles"
    profiles.mkdir(exist_ok=True)
    (profiles / "lab.yaml").write_text(yaml.safe_dump(profile | prices | {"name": "lab"}), "utf-8")
    yield process
    process.stop()


@pytest.fixture(scope="module")
def proxy(console: ConsoleProcess) -> Iterator[ReverseProxy]:
    """The proxy before it: an engineer, a lead, and an admin."""
    proxy = ReverseProxy(urlsplit(console.url).port or 0, GROUPS)
    proxy.start()
    yield proxy
    proxy.stop()


@pytest.fixture
def core(console: ConsoleProcess) -> Core:
    """The console's core in a shell of its machine."""
    return open_core(Settings(data_dir=console.data_dir))


def enter(window: OpenWindow, proxy: ReverseProxy, console: ConsoleProcess, name: str) -> Visit:
    """A window of somebody who has signed in at the proxy."""
    visit = window(cast("ConsoleProcess", Proxied(proxy, console)))
    visit.page.context.add_cookies([{"name": COOKIE, "value": name, "url": proxy.url}])
    return visit


def test_an_engineer_asks_for_money_a_lead_approves_and_the_job_runs(
    console: ConsoleProcess, proxy: ReverseProxy, window: OpenWindow, core: Core
) -> None:
    core.budgets.save({"scope": "team", "name": "perf", "amount": 1, "currency": "EUR"}, TESTER)
    eve = enter(window, proxy, console, "eve")
    run_id = eve.launch_draft()
    expect(eve.page.get_by_text("eve requested this launch")).to_be_visible()
    expect(eve.keyed("approve").get_by_role("button")).to_be_disabled()
    assert core.ledger.get(run_id).state is RunState.HELD

    lena = enter(window, proxy, console, "lena")
    lena.open(f"/live?run={run_id}")  # the link of the message
    lena.keyed("approve").get_by_role("button").click()

    expect(lena.page.get_by_text("Approved. It starts now.")).to_be_visible()
    expect(eve.page.get_by_text("eve requested this launch")).to_have_count(0)
    expect(eve.page.get_by_text("Completed").first).to_be_visible(timeout=DONE_MS)
    assert core.ledger.get(run_id).state is RunState.COMPLETED
    events = [str(event.message) for event in core.ledger.events(run_id)]
    assert "the budget of team perf" in events[1]
    assert "approved by lena" in events
    assert (eve.troubles(), lena.troubles()) == ([], [])


def test_an_admin_sets_a_budget_and_everybody_sees_what_is_left(
    console: ConsoleProcess, proxy: ReverseProxy, window: OpenWindow
) -> None:
    boss = enter(window, proxy, console, "boss")
    boss.open("/spending")
    boss.page.get_by_role("button", name="Set a budget").click()
    boss.page.get_by_role("textbox", name="Amount").fill("250")
    boss.page.get_by_label("Currency").fill("EUR")
    boss.page.get_by_role("button", name="Save").click()
    expect(boss.page.get_by_text("The budget is saved.")).to_be_visible()

    lena = enter(window, proxy, console, "lena")
    lena.open("/spending")

    expect(lena.page.get_by_text("of 250.00 EUR").first).to_be_visible()
    expect(lena.page.get_by_role("button", name="Set a budget")).to_have_count(0)
    assert (boss.troubles(), lena.troubles()) == ([], [])

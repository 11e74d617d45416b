"""A first look at a console without results: the demo history, by hand, with the README's pictures of it."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.console_process import ConsoleProcess
from tests.browser.grids import action_bar, grid
from tests.browser.prepared_console import PreparedConsole
from tests.browser.visit import OpenWindow


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A console on its first day."""
    process = PreparedConsole.start(tmp_path_factory.mktemp("demo"))
    yield process
    process.stop()


def test_a_newcomer_follows_a_regression_of_the_demo_and_removes_it(
    console: ConsoleProcess, window: OpenWindow
) -> None:
    visit = window(console)

    visit.open("/")
    visit.page.get_by_role("button", name="Show a demo history").click()
    expect(visit.page.get_by_text("−4.1 … −4.5 % on 1, 2, 4, 8 nodes")).to_be_visible()
    expect(visit.page).to_have_title("▼ 1 Home – AISBench")
    visit.rest()
    visit.publish("home")

    visit.menu("Leaderboard")
    expect(visit.page.get_by_role("group", name=re.compile("^Leaderboard table")).first).to_contain_text("▲ +2.")
    visit.rest()
    visit.publish("leaderboard")

    visit.open("/leaderboard?show=groups&model=ResNet-50 v1.5")
    boxes = grid(visit, "Leaderboard table").locator("tbody").get_by_role("checkbox")
    for row in (0, 2):
        boxes.nth(row).check()
        visit.rest()
    action_bar(visit).get_by_role("link", name="Compare").click()
    verdict = visit.page.get_by_role("heading", level=2).first
    expect(verdict).to_have_text(re.compile(r"r2\.0 is 4\.\d % slower than r1\.10 \(3\.\d–5\.\d %\)"))
    visit.rest()
    visit.publish("compare", height=1000)

    visit.open("/")
    visit.page.get_by_role("button", name="Remove the demo history").click()
    expect(visit.page.get_by_role("button", name="Show a demo history")).to_be_visible()
    assert visit.troubles() == []

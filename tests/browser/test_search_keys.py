"""The quick search is used by keys alone: arrows choose, Enter opens, and no two results read the same."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.visit import OpenWindow, Visit


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A console on its first day."""
    process = PreparedConsole.start(tmp_path_factory.mktemp("searched"))
    yield process
    process.stop()


def begin_search(visit: Visit) -> None:
    visit.open("/health")
    visit.page.keyboard.press("Control+k")
    expect(visit.page.get_by_role("searchbox")).to_be_focused()
    visit.rest()


def test_arrows_choose_a_result_and_enter_opens_it(alone: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(alone)
    begin_search(visit)
    links = visit.page.get_by_role("dialog").get_by_role("link")

    visit.page.keyboard.press("ArrowDown")
    expect(links.nth(0)).to_be_focused()
    visit.page.keyboard.press("ArrowUp")
    expect(visit.page.get_by_role("searchbox")).to_be_focused()
    for _ in range(3):
        visit.page.keyboard.press("ArrowDown")
    expect(links.nth(2)).to_be_focused()
    title = links.nth(2).inner_text().split()[-1]
    visit.page.keyboard.press("Enter")

    expect(visit.page.get_by_role("heading", level=1, name=title)).to_be_visible()
    expect(visit.page.get_by_role("dialog")).to_have_count(0)
    assert visit.troubles() == []


def test_enter_in_the_field_opens_the_first_result_of_what_was_typed(alone: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(alone)
    begin_search(visit)

    visit.page.keyboard.type("scal")
    visit.page.keyboard.press("Enter")

    expect(visit.page).to_have_url(re.compile("/scaling"))
    expect(visit.page.get_by_role("dialog")).to_have_count(0)


def test_a_letter_on_a_result_goes_on_typing(alone: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(alone)
    begin_search(visit)
    visit.page.keyboard.type("s")
    visit.page.keyboard.press("ArrowDown")

    visit.page.keyboard.type("ca")

    expect(visit.page.get_by_role("searchbox")).to_have_value("sca")

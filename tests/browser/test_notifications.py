"""A channel is added by keyboard alone, in a real browser: fields of keys send what was typed, however one leaves."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.visit import OpenWindow

ADDRESS = "http://127.0.0.1:9/tok-en"


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    process = PreparedConsole.start(tmp_path_factory.mktemp("notifications"))
    yield process
    process.stop()


def test_a_channel_is_added_by_keyboard(console: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(console)
    visit.open("/notifications")
    visit.keyed("notify-add").get_by_role("button").press("Enter")
    dialog, keyboard = visit.page.get_by_role("dialog"), visit.page.keyboard

    dialog.get_by_label("Name", exact=True).focus()
    keyboard.type("lab")
    keyboard.press("Tab")
    dialog.get_by_label("Address", exact=True).focus()
    keyboard.type(ADDRESS)
    keyboard.press("Tab")  # to the button that shows the address
    secret = dialog.get_by_label("Secret of the webhook", exact=True)
    secret.focus()
    keyboard.type("short")
    dialog.get_by_role("button", name="Save").press("Enter")
    expect(dialog).to_contain_text("a webhook needs a secret of at least 16 characters")
    visit.picture("notifications-refused")

    secret.fill("0123456789abcdef")
    keyboard.press("Tab")
    dialog.get_by_role("button", name="Save").press("Enter")

    expect(visit.keyed("channel-lab")).to_contain_text("http://127.0.0.1/…")
    assert "tok-en" not in visit.says()
    assert visit.troubles() == []

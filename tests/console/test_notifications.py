"""The page of notifications: channels are added, changed, tested and removed, and no key reaches the page."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit import config
from streamlit.testing.v1 import AppTest

from aisbench_core.base.clock import utc_now
from aisbench_core.base.messages import Message
from aisbench_core.config.settings import Settings
from aisbench_core.model import Notice
from aisbench_core.people.notifications.channels import NotificationChannels
from aisbench_core.wiring import open_core
from tests.console.conftest import OpenPage, newest, texts
from tests.receivers import Hook, webhook

SECRET = "0123456789abcdef-secret"


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hook]:
    monkeypatch.setenv("AISBENCH_NOTIFY_PRIVATE_ADDRESSES", "true")
    with webhook() as started:
        yield started


def added(open_page: OpenPage, url: str, name: str = "lab") -> AppTest:
    app = newest(open_page("notifications").button, "notify-add").click().run()
    newest(app.text_input, "notify-name").set_value(name)
    newest(app.text_input, "notify-url-").set_value(url)
    newest(app.text_input, "notify-secret-").set_value(SECRET)
    saved: AppTest = newest(app.button, "notify-save").click().run()
    return saved


def stored(data_dir: Path) -> NotificationChannels:
    return NotificationChannels(Settings(data_dir=data_dir))


def test_a_channel_is_added_tested_and_removed(open_page: OpenPage, data_dir: Path, hook: Hook) -> None:
    app = added(open_page, hook.url)
    assert "Saved channel lab." in texts(app)
    assert stored(data_dir).get("lab").url.get_secret_value() == hook.url

    app = newest(app.button, "test-lab").click().run()
    assert "lab accepted the test message." in texts(app)
    assert "This is a test of channel lab" in hook.events()[0]["text"]
    assert "tok-en" not in texts(app)

    app = newest(app.button, "remove-lab").click().run()
    app = newest(app.button, "notify-remove-yes").click().run()
    assert "Removed channel lab." in texts(app)
    assert stored(data_dir).all() == []


def test_a_changed_channel_keeps_its_address(open_page: OpenPage, data_dir: Path, hook: Hook) -> None:
    added(open_page, hook.url)
    app = newest(open_page("notifications").button, "edit-lab").click().run()

    newest(app.multiselect, "notify-events-lab").set_value(["completed"])
    newest(app.button, "notify-save").click().run()

    channel = stored(data_dir).get("lab")
    assert channel.events == ("completed",)
    assert channel.url.get_secret_value() == hook.url


@pytest.mark.parametrize(
    ("name", "url", "said"),
    [
        ("lab", "ftp://tok-en@host", "must begin with one of"),
        ("Lab 3", "feishu://tok-en", "name"),
        ("lab", "", "url"),
    ],
)
def test_a_wrong_channel_is_refused_without_repeating_its_address(
    open_page: OpenPage, data_dir: Path, name: str, url: str, said: str
) -> None:
    app = added(open_page, url, name)

    assert said in texts(app)
    assert "tok-en" not in texts(app)
    assert not app.exception
    assert stored(data_dir).all() == []


def test_messages_are_listed_with_what_became_of_them(open_page: OpenPage, data_dir: Path, hook: Hook) -> None:
    added(open_page, hook.url)
    core = open_core(Settings(data_dir=data_dir, notify_private_addresses=True))
    core.ledger.announce(Notice("held:s-1:4", "s-1", "held", utc_now(), Message("the budget is used up")))
    core.notifications.tick()

    app = open_page("notifications")

    [row] = next(frame.value for frame in app.dataframe).to_dict("records")
    assert (row["Event"], row["Run or series"], row["Channel"], row["State"]) == (
        "over budget, waiting", "s-1", "lab", "sent",
    )  # fmt: skip


def test_a_damaged_file_of_channels_is_named_without_its_content(open_page: OpenPage, data_dir: Path) -> None:
    file = data_dir / "notifications.yaml"
    file.write_text("lab: {url: [tok-en", "utf-8")
    file.chmod(0o600)

    app = open_page("notifications")

    assert "notifications.yaml" in texts(app)
    assert "tok-en" not in texts(app)
    assert not app.exception


def test_links_in_messages_name_the_port_that_the_console_is_served_on(open_page: OpenPage, hook: Hook) -> None:
    before = config.get_option("server.port")
    config.set_option("server.port", 9123)
    try:
        app = added(open_page, hook.url)
        newest(app.button, "test-lab").click().run()
    finally:
        config.set_option("server.port", before)

    assert hook.events()[0]["url"] == "http://127.0.0.1:9123/notifications"

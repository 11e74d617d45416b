"""Mails of notifications: what others wrote is one subject and a body, never a header."""

import email
from datetime import UTC, datetime

import pytest

from aisbench_core.base.messages import Message
from aisbench_core.config.settings import Settings
from aisbench_core.model import News, NewsKind
from aisbench_core.people.notifications.channels import channel_of
from aisbench_core.people.notifications.sending import Letter, MessageSender
from tests.receivers import mail_server

NOW = datetime(2026, 11, 25, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r", "\u2028", "\x0b", "\x85"])
def test_a_name_adds_no_header_and_no_receiver(end: str) -> None:
    name = f"series{end}Bcc: victim@example.org{end}{end}a body"
    news = News("n1", NewsKind.HELD, name, NOW, Message("Held"), Message("text {name}", name=name), {})

    with mail_server() as box:
        url = f"mailto://127.0.0.1:{box.port}/?from=lab@example.org&to=ann@example.org"
        channel = channel_of({"name": "lab", "url": url, "events": [NewsKind.HELD]}, Message("channel"))
        sender = MessageSender(Settings(notify_private_addresses=True))
        sender.send(channel, Letter("m1", [news], lambda _: "http://127.0.0.1:8501/series"), NOW)

    [mail] = map(email.message_from_string, box.mails)
    assert mail["Bcc"] is None
    assert mail["Cc"] is None
    assert "victim" not in str(mail["To"])
    assert "series" in str(email.header.make_header(email.header.decode_header(str(mail["Subject"]))))

"""A webhook's receiver cannot send the console anywhere else."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from aisbench_core.base.messages import Message
from aisbench_core.config.settings import Settings
from aisbench_core.model import News, NewsKind
from aisbench_core.people.notifications.channels import channel_of
from aisbench_core.people.notifications.sending import Letter, MessageSender, NotSent
from tests.receivers import webhook

NOW = datetime(2026, 11, 25, 9, 30, tzinfo=UTC)
SECRET = "0123456789abcdef-secret"


@contextmanager
def leading_to(target: str, status: int) -> Iterator[str]:
    """A receiver that answers with a redirect."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Location", target)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_webhook_that_leads_elsewhere_is_not_followed(status: int) -> None:
    news = News("n1", NewsKind.HELD, "s1", NOW, Message("Held"), Message("text"), {})

    with webhook() as inside, leading_to(inside.url, status) as outside:
        channel = channel_of(
            {"name": "lab", "url": outside, "secret": SECRET, "events": [NewsKind.HELD]}, Message("channel")
        )
        with pytest.raises(NotSent, match=str(status)):
            MessageSender(Settings(notify_private_addresses=True)).send(
                channel, Letter("m1", [news], lambda _: ""), NOW
            )

        assert inside.events() == []

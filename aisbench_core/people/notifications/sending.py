"""Sending one message: to a webhook, signed, or through apprise to mail and chats; never to a private address."""

import hashlib
import hmac
import json
import logging
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aisbench_core.base.errors import AisbenchError, ConfigError
from aisbench_core.base.messages import Message, in_chinese, join_parts
from aisbench_core.config.settings import Settings
from aisbench_core.model import News
from aisbench_core.people.notifications.channels import (
    MAIL,
    MIN_SECRET,
    NotificationChannel,
    expand_variables,
    mail_problem,
)
from aisbench_core.people.notifications.destinations import is_public

if TYPE_CHECKING:
    from urllib3 import HTTPConnectionPool

SECONDS = 10.0

_NO_ANSWER = Message("the recipient did not accept the message")


class NotSent(AisbenchError):
    """A recipient did not accept a message; it may later."""


@dataclass(frozen=True, slots=True)
class Letter:
    """What is sent: one event, or several as a digest. `link` leads to the page of an event."""

    message_id: str
    news: Sequence[News]
    link: Callable[[News], str]

    def title(self, language: str) -> str:
        """One line; a rehearsal says so."""
        if len(self.news) > 1:
            text: str = Message("{count} events", count=len(self.news))
        else:
            text = join_parts(": ", [self.news[0].title, self.news[0].subject])
        rehearsals = all(each.facts.get("rehearsal") for each in self.news)
        said = Message("Rehearsal: {title}", title=text) if rehearsals else text
        return f"AISBench: {_translate_text(language, said)}"

    def body(self, language: str) -> str:
        """A line for each event, and where to read on."""
        lines = (
            f"{_translate_text(language, each.title)}: {_translate_text(language, each.text)}\n{self.link(each)}"
            for each in self.news
        )
        return "\n\n".join(lines)

    def as_json(self, language: str) -> dict[str, Any]:
        """What webhooks get; docs/notifications.md has the fields."""
        return {
            "id": self.message_id,
            "title": self.title(language),
            "events": [
                {
                    "id": each.news_id,
                    "event": each.kind.value,
                    "subject": each.subject,
                    "at": each.at.isoformat(),
                    "text": _translate_text(language, each.text),
                    "url": self.link(each),
                    **each.facts,
                }
                for each in self.news
            ],
        }


class MessageSender:
    """Sends letters. Raises ConfigError and NotSent, whose sentences hold no address and no key."""

    def __init__(self, settings: Settings) -> None:
        self._may_be_private = settings.notify_private_addresses

    def send(self, channel: NotificationChannel, letter: Letter, now: datetime) -> None:
        """Send, and return when the recipient has accepted it."""
        if channel.is_webhook:
            self._post_letter(channel, letter, now)
        else:
            self._notify_service(channel, letter)

    def _post_letter(self, channel: NotificationChannel, letter: Letter, now: datetime) -> None:
        try:
            parts = urlsplit(expand_variables(channel.url.get_secret_value()))
            host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:  # its text holds a part of the address
            raise _make_address_error(channel) from None
        address = self._resolve_address(host, port)
        body = json.dumps(letter.as_json(channel.language), ensure_ascii=False).encode()
        stamp = str(int(now.timestamp()))
        secret = expand_variables(channel.secret.get_secret_value() if channel.secret else "")
        if len(secret) < MIN_SECRET:  # a variable can hold anything
            raise ConfigError(Message("a webhook needs a secret of at least {count} characters", count=MIN_SECRET))
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "Host": parts.netloc.rpartition("@")[2],
            "User-Agent": "aisbench-console",
            "X-AISBench-Id": letter.message_id.encode("ascii", "backslashreplace").decode(),
            "X-AISBench-Timestamp": stamp,
            "X-AISBench-Signature": sign_body(secret, stamp, body),
        }
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        import urllib3  # takes 0.05 s, which commands need not wait for

        # Connected to the address that was checked: asked again, the name may have another.
        try:
            with _make_pool(parts.scheme, address, port, host) as pool:
                # Only the status is read: an answer without end would hold up all other messages.
                response = pool.urlopen(
                    "POST", target, body, headers, retries=False, redirect=False, preload_content=False
                )
                response.close()
        except urllib3.exceptions.HTTPError as error:
            raise NotSent(
                # Only the kind of error: its text may hold the address.
                Message("the recipient cannot be reached ({why})", why=type(error).__name__)
            ) from None
        if not 200 <= response.status < 300:
            raise NotSent(Message("the recipient answered with HTTP {status}", status=response.status))

    def _notify_service(self, channel: NotificationChannel, letter: Letter) -> None:
        import apprise  # takes 0.1 s, and most consoles have no such channel

        logging.getLogger("apprise").setLevel(logging.CRITICAL)  # its lines may hold addresses with their keys
        asset = apprise.AppriseAsset(app_id="AISBench", secure_logging=True, async_mode=False)
        address = expand_variables(channel.url.get_secret_value())
        if problem := mail_problem(address):
            name = channel.name
            raise ConfigError(Message("the address of channel {name} cannot be used: {why}", name=name, why=problem))
        service = apprise.Apprise.instantiate(address, asset=asset)
        if service is None:
            raise _make_address_error(channel)
        if channel.scheme in MAIL:
            mail: Any = service
            self._resolve_address(mail.smtp_host, mail.port or 25)
        sent = service.notify(title=letter.title(channel.language), body=letter.body(channel.language))
        if not sent:
            raise NotSent(_NO_ANSWER)

    def _resolve_address(self, host: str, port: int) -> str:
        """An address of the host. Raises ConfigError if any of its addresses is private and that is not allowed."""
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise NotSent(Message("the recipient's host name cannot be resolved")) from None
        addresses = [str(entry[4][0]) for entry in found]
        if not self._may_be_private and not all(map(is_public, addresses)):
            raise ConfigError(
                Message("the recipient is at a private address"),
                Message("an admin can allow that with notify_private_addresses: true"),
            )
        return addresses[0]


def sign_body(secret: str, stamp: str, body: bytes) -> str:
    """HMAC-SHA256 over timestamp, a full stop and the body, so that neither can be exchanged or sent again later."""
    return "sha256=" + hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _make_address_error(channel: NotificationChannel) -> ConfigError:
    return ConfigError(
        Message("the address of channel {name} is not complete", name=channel.name),
        Message("docs/notifications.md shows the form for each service"),
    )


def _make_pool(scheme: str, address: str, port: int, host: str) -> "HTTPConnectionPool":
    import urllib3

    timeout = urllib3.Timeout(SECONDS)
    if scheme == "http":
        return urllib3.HTTPConnectionPool(address, port, timeout=timeout)
    return urllib3.HTTPSConnectionPool(address, port, timeout=timeout, assert_hostname=host, server_hostname=host)


def _translate_text(language: str, text: str) -> str:
    return in_chinese(text) if language == "zh" else str(text)

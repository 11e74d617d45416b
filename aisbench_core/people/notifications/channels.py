"""Channels: what is told to whom; kept in `data/notifications.yaml`, mode 0600, since addresses hold keys."""

import re
from collections.abc import Mapping
from typing import Annotated, Self
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator

from aisbench_core.base import strict_yaml
from aisbench_core.base.documents import parse_private, read_private
from aisbench_core.base.errors import ConfigError, Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import require_writable, write_whole
from aisbench_core.base.value_errors import make_refusal
from aisbench_core.config.settings import Settings, read_environment
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import log_change
from aisbench_core.model import Actor, Frozen, NewsKind

# Schemes of apprise that are offered; the others would send results to places that nobody here has tried.
MAIL = ("mailto", "mailtos")
CHATS = ("feishu", "dingtalk", "wecombot", "slack")
WEBHOOK = ("http", "https")

MIN_SECRET = 16  # characters of the secret of a webhook

# Of mail addresses. Apprise's others read key files or fetch keys from elsewhere.
MAIL_OPTIONS = frozenset({"from", "to", "cc", "bcc", "reply", "smtp", "user", "pass", "name", "mode", "verify"})

# Only variables that are meant for this: whoever edits channels could send any other one away.
VARIABLES = "AISBENCH_NOTIFY_"
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")

DEFAULT_KINDS = (
    *(NewsKind.FAILED, NewsKind.STALLED, NewsKind.ALERT, NewsKind.REGRESSION, NewsKind.RECORD, NewsKind.HELD),
    *(NewsKind.SKIPPED, NewsKind.SERIES, NewsKind.BUDGET),
)


class NotificationChannel(Frozen):
    """One recipient, and what it is told. Empty filters match everything."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$", description="how the channel is called")]
    url: Annotated[SecretStr, Field(description="address with its keys, or ${AISBENCH_NOTIFY_…} for them")]
    secret: Annotated[
        SecretStr | None, Field(validate_default=True, description="signs webhooks, at least 16 characters")
    ] = None
    events: Annotated[tuple[NewsKind, ...], Field(min_length=1, description="what is told")] = DEFAULT_KINDS
    workloads: Annotated[tuple[str, ...], Field(description="only runs of these workloads")] = ()
    people: Annotated[tuple[str, ...], Field(description="only runs that these people launched")] = ()
    view: Annotated[str, Field(description="only runs that a saved view of the leaderboard shows")] = ""
    language: Annotated[str, Field(pattern="^(en|zh)$", description="language of the messages")] = "en"

    @field_validator("secret")
    @classmethod
    def _signs_a_webhook(cls, secret: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        url = info.data.get("url")  # missing if it is invalid itself, which is reported already
        is_webhook = url is not None and _get_scheme(url) in WEBHOOK
        if secret is not None and url is not None and not is_webhook:
            raise make_refusal(Message("signs webhooks only: leave it out"))
        if is_webhook and len(secret.get_secret_value() if secret else "") < MIN_SECRET:
            raise make_refusal(Message("a webhook needs a secret of at least {count} characters", count=MIN_SECRET))
        return secret

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        scheme = self.scheme
        if scheme not in (*MAIL, *CHATS, *WEBHOOK):
            allowed = ", ".join((*MAIL, *CHATS, *WEBHOOK))
            raise make_refusal(Message("must begin with one of {allowed}, followed by ://", allowed=allowed))
        if "$" not in self.url.get_secret_value() and (problem := self._address_problem()):
            raise make_refusal(problem)
        return self

    def _address_problem(self) -> Message | None:
        address = self.url.get_secret_value()
        if not self.is_webhook:
            return mail_problem(address)
        try:
            parts = urlsplit(address)
            is_complete = bool(parts.hostname) and parts.port != 0
        except ValueError:  # such as a port that is no number; its text holds a part of the address
            is_complete = False
        if not is_complete:
            return Message("is not an address of a webhook, such as https://host/path")
        return Message("holds a name or password before @: use a path that is a secret") if parts.username else None

    @property
    def scheme(self) -> str:
        """What the address begins with, in small letters."""
        return _get_scheme(self.url)

    @property
    def is_webhook(self) -> bool:
        """Whether it is a webhook of ours rather than a service that apprise knows."""
        return self.scheme in WEBHOOK

    @property
    def masked(self) -> str:
        """The address without anything that could be a key: scheme, and the host of webhooks and mail."""
        address = self.url.get_secret_value()
        if self.scheme in CHATS or "$" in address:
            return f"{self.scheme}://…"
        try:
            host = urlsplit(address).hostname or ""
        except ValueError:  # such as an unfinished IPv6 address
            host = ""
        return f"{self.scheme}://{host}/…"


class NotificationChannels:
    """The file of channels. Threads and processes may share it; the last writer wins."""

    def __init__(self, settings: Settings) -> None:
        self._file = settings.notifications_path

    def all(self) -> list[NotificationChannel]:
        """Every channel, by name. Raises ConfigError and SpecError when the file cannot be used."""
        if not self._file.exists():
            return []
        stored = read_private(self._file)
        return [self._parse_channel(name, stored[name]) for name in sorted(stored)]

    def get(self, name: str) -> NotificationChannel:
        """One channel. Raises ConfigError if there is none of that name."""
        channels = self.all()
        found = next((channel for channel in channels if channel.name == name), None)
        if found is None:
            known = ", ".join(channel.name for channel in channels) or Message("none")
            raise ConfigError(
                Message("there is no channel named {name!r}; known channels: {known}", name=name, known=known),
                Message("add it on the page Notifications, or with `aisbench notify add`"),
            )
        return found

    @permitted
    def save(self, channel: NotificationChannel, actor: Actor, *, replace: bool = False) -> None:
        """Add a channel. Raises ConfigError if there is another one of that name, unless it may be replaced."""
        require_writable(self._file.parent)
        stored = read_private(self._file) if self._file.exists() else {}
        if stored.get(channel.name) == _to_plain(channel):
            return
        if channel.name in stored and not replace:
            raise ConfigError(
                Message("there is a channel named {name!r} already", name=channel.name),
                Message("choose another name, or replace it"),
            )
        log_change(actor, f"notification channel {channel.name} saved")
        self._write_channels(stored | {channel.name: _to_plain(channel)})

    @permitted
    def remove(self, name: str, actor: Actor) -> None:
        """Remove a channel. Raises ConfigError if there is none of that name."""
        require_writable(self._file.parent)
        self.get(name)
        log_change(actor, f"notification channel {name} removed")
        stored = read_private(self._file)
        self._write_channels({other: entry for other, entry in stored.items() if other != name})

    def _write_channels(self, stored: Mapping[str, object]) -> None:
        write_whole(self._file, strict_yaml.dump(dict(stored)).encode())

    def _parse_channel(self, name: str, entry: object) -> NotificationChannel:
        title = Message("channel {name} ({file})", name=name, file=self._file.name)
        if not isinstance(entry, dict):
            raise SpecError(title, [Problem("document", Message("must hold `key: value` lines"))])
        return channel_of({"name": name, **entry}, title)


def channel_of(answers: Mapping[str, object], title: Message) -> NotificationChannel:
    """A channel from what somebody entered. Raises SpecError, which repeats no address."""
    try:
        return parse_private(NotificationChannel, answers, title)
    except SpecError as error:
        raise SpecError(title, [_without_address(problem) for problem in error.problems]) from None


def _without_address(problem: Problem) -> Problem:
    """What is wrong with the channel as a whole is wrong with its address; whatever was found there may be a key."""
    if problem.field == "document" or problem.field.startswith("url"):
        return Problem("url", problem.message)
    return problem


def _get_scheme(url: SecretStr) -> str:
    return url.get_secret_value().partition("://")[0].lower()


def mail_problem(address: str) -> Message | None:
    """Why this address of mail is refused; None of any other one, or if there is nothing wrong with it."""
    scheme, _, rest = address.partition("://")
    options = {name.lower() for name, _ in parse_qsl(rest.partition("?")[2], keep_blank_values=True)}
    if scheme.lower() not in MAIL or options <= MAIL_OPTIONS:
        return None
    return Message(
        "has options of mail that are not allowed; allowed: {allowed}", allowed=", ".join(sorted(MAIL_OPTIONS))
    )


def expand_variables(text: str) -> str:
    """The text with the values of its ${AISBENCH_NOTIFY_…}. Raises ConfigError on other names, or if one is not set."""
    variables = read_environment()
    other = [name for name in _VARIABLE.findall(text) if not name.startswith(VARIABLES)]
    if other:
        raise ConfigError(
            Message("an address refers to {names}", names=", ".join(other)),
            Message("names of variables for channels begin with {start}", start=VARIABLES),
        )
    missing = [name for name in _VARIABLE.findall(text) if not variables.get(name)]
    if missing:
        raise ConfigError(
            Message("the environment has no {names}", names=", ".join(missing)),
            Message("set it for the follower"),
        )
    return _VARIABLE.sub(lambda match: variables[match[1]], text)


def _to_plain(channel: NotificationChannel) -> dict[str, object]:
    fields = channel.model_dump(mode="json", exclude_defaults=True, exclude={"name", "url", "secret"})
    secret = {"secret": channel.secret.get_secret_value()} if channel.secret else {}
    return {"url": channel.url.get_secret_value()} | secret | fields

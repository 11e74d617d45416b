"""The address of a team's ledger in PostgreSQL. It holds no secret: the password is looked up for each connection."""

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message

SCHEMES = ("postgresql", "postgres")

_SECRET = ("password", "sslpassword", "passfile")


@dataclass(frozen=True, slots=True)
class LedgerAddress:
    """A database by its URL, and a lookup of its password (empty: PostgreSQL's client finds it)."""

    url: str
    password: Callable[[], str] = field(repr=False)

    def __str__(self) -> str:
        return self.url


def ledger_address(url: str, password: Callable[[], str]) -> LedgerAddress:
    """The address in the settings. Raises ConfigError, which never repeats what may be a password."""
    hint = Message("write the setting `ledger` (AISBENCH_LEDGER) as postgresql://user@host/dbname")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ConfigError(Message("the address of the ledger cannot be read"), hint) from None
    if parts.scheme not in SCHEMES:
        raise ConfigError(Message("the address of the ledger is not a PostgreSQL address"), hint)
    if parts.password is not None or any(name in _SECRET for name, _ in parse_qsl(parts.query)):
        raise ConfigError(
            Message("the address of the ledger holds a password"),
            Message(
                "take it out, and set AISBENCH_LEDGER_PASSWORD, or `ledger: {password: …}` in data/credentials.yaml"
            ),
        )
    if not parts.path.strip("/"):
        raise ConfigError(Message("the address of the ledger names no database"), hint)
    return LedgerAddress(url, password)

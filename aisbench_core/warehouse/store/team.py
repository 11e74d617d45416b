"""Where a team's warehouse is: a DuckLake whose catalogue is in PostgreSQL and whose files are on OBS.

The place holds no secret. Password and keys are asked for when an engine starts, and stay in its memory.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message

SCHEME = "ducklake:postgres:"
"""What the name of a team warehouse begins with; what PostgreSQL's clients call a connection string follows."""

CONNECT_S = 5
"""How long to wait for PostgreSQL's first answer, where the connection string says nothing else."""

_HINT = Message(
    "write it as {scheme}host=db.example.com dbname=aisbench user=aisbench, or {scheme}postgresql://user@host/dbname",
    scheme=SCHEME,
)
_PAIR = re.compile(r"\b(\w++)\s*+=\s*+('(?:[^'\\]|\\.)*+'|[^\s']++)")
_DATA_PATH = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9._=-]+)*/?")


@dataclass(frozen=True, slots=True)
class Bucket:
    """How to reach the bucket: its server's host (with a port, if it is not the usual one), region, keys and proxy."""

    host: str
    tls: bool
    region: str
    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    security_token: str = field(default="", repr=False)
    verify_tls: bool = True
    proxy: str = ""
    proxy_user: str = field(default="", repr=False)
    proxy_password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Access:
    """What opens a team's warehouse: PostgreSQL's password (empty: as its client finds it), and the bucket."""

    password: str = field(repr=False)
    bucket: Bucket

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be in any text."""
        bucket = self.bucket
        known = (self.password, bucket.secret_key, bucket.security_token, bucket.proxy_password)
        return tuple(secret for secret in known if secret)


@dataclass(frozen=True, slots=True)
class TeamPlace:
    """The catalogue's connection string, where the files are (`s3://bucket/prefix/`), and who knows the secrets."""

    catalog: str
    data_path: str
    access: Callable[[], Access] = field(repr=False)

    def __str__(self) -> str:
        return f"{SCHEME}{self.catalog}"

    @property
    def connection(self) -> str:
        """The connection string for PostgreSQL's client, with a bounded wait."""
        return self.catalog if "connect_timeout=" in self.catalog else f"{self.catalog} connect_timeout={CONNECT_S}"


def team_place(name: str, data_path: str, access: Callable[[], Access]) -> TeamPlace:
    """The place that settings mean. Raises ConfigError, never repeating what may be a password."""
    if not name.startswith(SCHEME):
        raise ConfigError(Message("this kind of team warehouse is not known"), _HINT)
    catalog = _catalog(name.removeprefix(SCHEME).strip())
    if not _DATA_PATH.fullmatch(data_path):
        raise ConfigError(
            Message("the files of a team warehouse cannot be kept in {data_path!r}", data_path=data_path),
            Message("set warehouse_data (AISBENCH_WAREHOUSE_DATA) to s3://bucket/prefix"),
        )
    return TeamPlace(catalog, data_path.rstrip("/") + "/", access)


def _catalog(text: str) -> str:
    """A connection string of `key=value` pairs, without a password."""
    pairs = _of_address(text) if "://" in text else _of_pairs(text)
    if any(key in pairs for key in ("password", "sslpassword", "passfile")):
        raise ConfigError(
            Message("the connection string of the warehouse holds a password"),
            Message(
                "take it out, and set AISBENCH_WAREHOUSE_PASSWORD, or `warehouse: {password: …}` in "
                "data/credentials.yaml"
            ),
        )
    if not pairs.get("dbname"):
        raise ConfigError(Message("the connection string of the warehouse names no database (dbname)"), _HINT)
    return " ".join(f"{key}={_quoted(value)}" for key, value in pairs.items())


def _of_pairs(text: str) -> dict[str, str]:
    found = {key: _bare(value) for key, value in _PAIR.findall(text)}
    if not found or _PAIR.sub("", text).strip():
        raise ConfigError(Message("the connection string of the warehouse cannot be read"), _HINT)
    return found


def _of_address(text: str) -> dict[str, str]:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ConfigError(Message("the connection string of the warehouse cannot be read"), _HINT) from None
    if parts.scheme not in ("postgres", "postgresql"):
        raise ConfigError(Message("the connection string of the warehouse cannot be read"), _HINT)
    named = {
        "host": parts.hostname,
        "port": str(port) if port else None,
        "user": parts.username,
        "password": parts.password,
        "dbname": parts.path.lstrip("/"),
    }
    return {key: unquote(value) for key, value in named.items() if value} | dict(parse_qsl(parts.query))


def _bare(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith("'") else value


def _quoted(value: str) -> str:
    if re.fullmatch(r"[\w./:@%+,-]+", value):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

"""The location of a team's warehouse: a DuckLake whose catalogue is in PostgreSQL and whose files are on OBS.

It holds no secret. Password and keys are looked up when an engine starts, and stay in its memory.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message

# The prefix of a team warehouse's name; a PostgreSQL connection string follows.
SCHEME = "ducklake:postgres:"

# What is asked of libpq, unless the connection string says something else: how long to wait for a connection, and
# after how long a host that vanished without a word is given up, by probes and while something is sent (in ms).
TIMEOUTS = {
    "connect_timeout": 5,
    **{"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 30_000},
}

_HINT = Message(
    "write it as {scheme}host=db.example.com dbname=aisbench user=aisbench, or {scheme}postgresql://user@host/dbname",
    scheme=SCHEME,
)
_PAIR = re.compile(r"\b(\w++)\s*+=\s*+('(?:[^'\\]|\\.)*'|[^\s']++)")
_DATA_PATH = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9._=-]+)*/?")


@dataclass(frozen=True, slots=True)
class Bucket:
    """How to reach the bucket. `host` has a port if it is not the default one."""

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
    """Credentials of a team's warehouse: PostgreSQL's password (empty: its client finds it), and the bucket."""

    password: str = field(repr=False)
    bucket: Bucket

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no message may contain."""
        bucket = self.bucket
        return tuple(filter(None, (self.password, bucket.secret_key, bucket.security_token, bucket.proxy_password)))


@dataclass(frozen=True, slots=True)
class TeamLocation:
    """The catalogue's connection string, the files' path (`s3://bucket/prefix/`), and a lookup of the credentials."""

    catalog: str
    data_path: str
    access: Callable[[], Access] = field(repr=False)

    def __str__(self) -> str:
        return f"{SCHEME}{self.catalog}"

    @property
    def connection(self) -> str:
        """The connection string with the timeouts that it lacks."""
        own = _of_pairs(self.catalog) or {}
        return " ".join([self.catalog, *(f"{key}={value}" for key, value in TIMEOUTS.items() if key not in own)])


def team_location(name: str, data_path: str, access: Callable[[], Access]) -> TeamLocation:
    """The location in the settings. Raises ConfigError, which never repeats what may be a password."""
    if not name.startswith(SCHEME):
        raise ConfigError(Message("this kind of team warehouse is not known"), _HINT)
    catalog = _parse_catalog(name.removeprefix(SCHEME).strip())
    if not _DATA_PATH.fullmatch(data_path):
        raise ConfigError(
            Message("the files of a team warehouse cannot be kept in {data_path!r}", data_path=data_path),
            Message("set warehouse_data (AISBENCH_WAREHOUSE_DATA) to s3://bucket/prefix"),
        )
    return TeamLocation(catalog, data_path.rstrip("/") + "/", access)


def _parse_catalog(text: str) -> str:
    """A connection string of `key=value` pairs, without a password."""
    pairs = _of_url(text) if "://" in text else _of_pairs(text)
    if pairs is None:
        raise ConfigError(Message("the connection string of the warehouse cannot be read"), _HINT)
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
    return " ".join(f"{key}={_quote_value(value)}" for key, value in pairs.items())


def _of_pairs(text: str) -> dict[str, str] | None:
    pairs = {
        key: re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith("'") else value
        for key, value in _PAIR.findall(text)
    }
    return pairs if pairs and not _PAIR.sub("", text).strip() else None


def _of_url(text: str) -> dict[str, str] | None:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("postgres", "postgresql"):
        return None
    named = {
        "host": parts.hostname,
        "port": str(port) if port else None,
        "user": parts.username,
        "password": parts.password,
        "dbname": parts.path.lstrip("/"),
    }
    return {key: unquote(value) for key, value in named.items() if value} | dict(parse_qsl(parts.query))


def _quote_value(value: str) -> str:
    if re.fullmatch(r"[\w./:@%+,-]+", value):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

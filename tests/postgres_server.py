"""A PostgreSQL of our own from the system's package, as a test sees it: databases, sudden death and return."""

import contextlib
import ctypes
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.ports import free_port

READY_SECONDS = 60.0
USER = "aisbench"
PASSWORD = "a 'quoted' password"
_LIBC = ctypes.CDLL(None)
_DIE_WITH_PARENT = 1
_DEBIAN = Path("/usr/lib/postgresql")
_UNPRIVILEGED = ("postgres", "nobody")
_SETTINGS = {
    "unix_socket_directories": "",
    "fsync": "off",  # a process may die in these tests, the machine does not
    "autovacuum": "off",  # its commits would change revisions that a test compares
    "full_page_writes": "off",
    "max_connections": "60",
    "shared_buffers": "16MB",
    "log_min_messages": "fatal",
}


class PostgresServer:
    """Starts on a free port, over a temporary folder; PostgreSQL refuses to be root, so somebody else runs it then."""

    def __init__(self, address: str = "", settings: Mapping[str, str] = MappingProxyType({})) -> None:
        """`address`: one of this machine beside 127.0.0.1, for clients of its network. `settings`: beside the usual."""
        self._settings = {**_SETTINGS, **settings}
        self._listen = ["127.0.0.1", *([address] if address else [])]
        self.folder = Path(tempfile.mkdtemp(prefix="aisbench-postgres-"))
        self.port = free_port()
        self._bin = _programs()
        self.user = next(name for name in _UNPRIVILEGED if _is_known(name)) if os.geteuid() == 0 else None
        self._process: subprocess.Popen[bytes] | None = None
        if self.user:
            shutil.chown(self.folder, self.user)
        self._make()

    def resume(self) -> None:
        """Start, and wait until it answers."""
        settings = self._settings | {"listen_addresses": ",".join(self._listen)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._process = self._start("postgres", "-D", str(self._data), "-p", str(self.port), *options)
        until = time.monotonic() + READY_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.02)

    def kill(self) -> None:
        """End it as `kill -9` of all its processes does."""
        process, self._process = self._process, None
        assert process is not None
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    @property
    def is_running(self) -> bool:
        """Whether it was not ended."""
        return self._process is not None

    def stop(self) -> None:
        """End it and leave nothing behind."""
        if self._process is not None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def create(self, database: str) -> str:
        """A new, empty database; its connection string, without the password."""
        self.sql(f'create database "{database}"')
        return self.address(database)

    def drop(self, database: str) -> None:
        """Remove a database, whoever is connected to it."""
        self.sql(f'drop database if exists "{database}" with (force)')

    def address(self, database: str) -> str:
        """The connection string of a database, without the password."""
        return f"host=127.0.0.1 port={self.port} user={USER} dbname={database}"

    def sql(self, statement: str, database: str = "postgres") -> list[str]:
        """The rows that psql prints."""
        return self._ask("psql", "-v", "ON_ERROR_STOP=1", "-d", database, "-qAtX", "-c", statement).splitlines()

    def dump(self, database: str) -> str:
        """A database as SQL that any later PostgreSQL takes."""
        text = self._ask("pg_dump", "--no-owner", "--no-privileges", "-d", database)
        ours = (r"\restrict", r"\unrestrict", "--")  # words to the newest psql only, and comments
        return "".join(line for line in text.splitlines(keepends=True) if line.strip() and not line.startswith(ours))

    def restore(self, database: str, text: str) -> None:
        """What was dumped."""
        self._ask("psql", "-v", "ON_ERROR_STOP=1", "-d", database, "-qAtX", told=text)

    def _ask(self, program: str, *arguments: str, told: str = "") -> str:
        done = subprocess.run(
            [self._bin / program, "-h", "127.0.0.1", "-p", str(self.port), "-U", USER, *arguments],
            env={**os.environ, "PGPASSWORD": PASSWORD},
            input=told,
            text=True,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _make(self) -> None:
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        options = [
            "-U",
            USER,
            "--auth=scram-sha-256",
            f"--pwfile={secret}",
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C",
        ]
        made = self._start("initdb", "-D", str(self._data), *options)
        assert made.wait(READY_SECONDS * 2) == 0, (self.folder / "log").read_text()[-2000:]
        with (self._data / "pg_hba.conf").open("a") as allowed:
            allowed.writelines(f"host all all {address}/24 scram-sha-256\n" for address in self._listen)

    def _start(self, program: str, *arguments: str) -> "subprocess.Popen[bytes]":
        as_user: dict[str, Any] = {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid} if self.user else {}
        if self.user:
            as_user["extra_groups"] = []
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [self._bin / program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
                preexec_fn=_end_with_parent,  # noqa: PLW1509  # by its last user: changing to it would undo this
                **as_user,
            )

    def _answers(self) -> bool:
        with contextlib.suppress(AssertionError):
            return self.sql("select 1") == ["1"]
        return False


def _end_with_parent() -> None:
    """Should the tests be killed, the server ends with them (Linux)."""
    if sys.platform == "linux":
        _LIBC.prctl(_DIE_WITH_PARENT, signal.SIGKILL)


def _programs() -> Path:
    """Where the newest PostgreSQL of this machine has its programs."""
    found = shutil.which("postgres")
    folders: Sequence[Path] = [Path(found).resolve().parent] if found else list(_DEBIAN.glob("*/bin"))
    usable = [folder for folder in folders if (folder / "initdb").exists() and (folder / "psql").exists()]
    assert usable, "these tests need PostgreSQL: install your system's package (Debian: apt-get install postgresql)"
    return max(usable, key=lambda folder: [int(number) for number in re.findall(r"\d+", str(folder))])


def _is_known(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True

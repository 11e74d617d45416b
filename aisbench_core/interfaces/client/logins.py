"""The tokens of this user by server, in a file for nobody else; and which server the environment names."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from aisbench_core.base.documents import read_private
from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import write_whole

SERVER, TOKEN, UNENCRYPTED = "AISBENCH_SERVER", "AISBENCH_TOKEN", "AISBENCH_UNENCRYPTED"

FILE = "tokens.json"


@dataclass(frozen=True, slots=True)
class Logins:
    """Stored tokens."""

    folder: Path

    @property
    def file(self) -> Path:
        """The file, mode 0600."""
        return self.folder / FILE

    def all(self) -> dict[str, str]:
        """Every token by server. Raises ConfigError if others can read the file."""
        stored = read_private(self.file) if self.file.exists() else {}
        return {str(server): str(token) for server, token in stored.items()}

    def add(self, server: str, token: str) -> None:
        """Store a token, in place of an earlier one."""
        self._write_tokens(self.all() | {address_of(server): token})

    def remove(self, server: str) -> bool:
        """Remove the token of a server; whether there was one."""
        stored = self.all()
        found = stored.pop(address_of(server), None)
        if found:
            self._write_tokens(stored)
        return found is not None

    def token_for(self, server: str, environment: Mapping[str, str]) -> str:
        """The token of the environment, or else the stored one. Raises ConfigError without either."""
        token = environment.get(TOKEN) or self.all().get(address_of(server), "")
        if not token:
            raise ConfigError(
                Message("there is no token for {server}", server=server),
                Message("run `aisbench login {server}`, or set AISBENCH_TOKEN", server=server),
            )
        return token

    def server(self, environment: Mapping[str, str]) -> str:
        """The server of the environment, or else the only one with a stored token. Raises ConfigError."""
        if named := environment.get(SERVER, "").strip():
            return named
        stored = sorted(self.all())
        if len(stored) == 1:
            return stored[0]
        raise ConfigError(
            Message("there are tokens for several servers: {servers}", servers=", ".join(stored))
            if stored
            else Message("no server is named, and `aisbench login` has stored none"),
            Message("give its address, such as https://bench.example, or set AISBENCH_SERVER"),
        )

    def _write_tokens(self, tokens: Mapping[str, str]) -> None:
        write_whole(self.file, json.dumps(tokens, indent=2).encode())


def address_of(server: str) -> str:
    """An address in one form, whatever letters its name is written with."""
    parts = urlsplit(server)
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{parts.path.rstrip('/')}"

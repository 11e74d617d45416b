"""The commands that run on this server: how many at once, whose they are, and each key once."""

import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import Message
from aisbench_core.interfaces.commands.process import CommandProcess
from aisbench_core.interfaces.commands.request import CommandRequest
from aisbench_core.model.token import Token

AT_ONCE = 16
AT_ONCE_PER_NAME = 4
# Keys that are remembered; the ledger remembers those of launches for ever.
MOST_KEYS = 10_000


class TooManyCommands(AisbenchError):
    """As many commands are running as this server, or one name, may have at once."""


class CommandKeyReused(AisbenchError):
    """A command with this key was carried out before."""


class CommandNotFound(AisbenchError):
    """No command with that id is running with this token."""


@dataclass(slots=True)
class RunningCommands:
    """Starts commands and finds them again. Threads may share it."""

    _running: dict[str, tuple[Token, CommandProcess]] = field(default_factory=dict)
    _keys: "OrderedDict[tuple[str, str], None]" = field(default_factory=OrderedDict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def admit(self, token: Token, key: str, request: CommandRequest, check: Callable[[], None]) -> CommandProcess:
        """A command that may start, and counts until `release`. `check`: raises if the token opens nothing any more.

        Raises TooManyCommands and CommandKeyReused."""
        process = CommandProcess(secrets.token_hex(16), token.token_id, key, request, check)
        with self._guard:
            self._require_room(token)
            self._require_new(token, key)
            self._running[process.command_id] = (token, process)
        return process

    def release(self, process: CommandProcess) -> None:
        """Make room for another one."""
        with self._guard:
            self._running.pop(process.command_id, None)

    def get(self, command_id: str, token: Token) -> CommandProcess:
        """A running command of this token. Raises CommandNotFound."""
        with self._guard:
            owner, process = self._running.get(command_id, (token, None))
        if process is None or owner.token_id != token.token_id:
            raise CommandNotFound(
                Message("no command {command_id} is running with this token", command_id=_mask_id(command_id))
            )
        return process

    def _require_room(self, token: Token) -> None:
        # By name: everybody may make any number of tokens.
        own = sum(owner.name == token.name for owner, _ in self._running.values())
        if own >= AT_ONCE_PER_NAME or len(self._running) >= AT_ONCE:
            whose = Message("in your name") if own >= AT_ONCE_PER_NAME else Message("on this server")
            count = own if own >= AT_ONCE_PER_NAME else len(self._running)
            raise TooManyCommands(
                Message("{count} commands are running {whose} already", count=count, whose=whose),
                Message("try again when one of them has ended"),
            )

    def _require_new(self, token: Token, key: str) -> None:
        if (token.name, key) in self._keys:
            raise CommandKeyReused(
                Message("a command with this key was carried out already"),
                Message("send a new random value for each command"),
            )
        self._keys[token.name, key] = None
        while len(self._keys) > MOST_KEYS:
            self._keys.popitem(last=False)


def _mask_id(command_id: str) -> str:
    return command_id if re.fullmatch(r"[0-9a-f]{1,32}", command_id) else "…"

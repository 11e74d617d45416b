"""The server that commands are sent to, and its errors as those of the command line."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aisbench_core.base.errors import AisbenchError, ConfigError, ServerUnavailable, TokenRefused
from aisbench_core.base.messages import Message
from aisbench_core.config.settings import read_environment
from aisbench_core.interfaces.client import ApiProblem, Client
from aisbench_core.interfaces.client.logins import SERVER

BUSY = (502, 503, 504)


@dataclass(frozen=True, slots=True)
class CommandServer:
    """A server, and a client with this user's token."""

    address: str
    client: Client


def named_server() -> str:
    """The server of the environment; empty without one."""
    return read_environment().get(SERVER, "").strip()


def server_at(address: str, token: str = "") -> CommandServer:
    """A server with a token, by default the user's. Raises ConfigError."""
    return CommandServer(address, Client(address, token))


@contextmanager
def problems_of(server: CommandServer) -> Iterator[None]:
    """A context that raises what the server says as errors with the exit codes of the command line."""
    try:
        yield
    except ApiProblem as problem:
        raise _to_error(server, problem) from problem


def _to_error(server: CommandServer, problem: ApiProblem) -> AisbenchError:
    if problem.status == 0:
        return _no_answer(problem)
    if problem.status == 401:
        return TokenRefused(problem.message, Message("`aisbench login {server}` stores another", server=server.address))
    if problem.code == "no-such-path" or not problem.code:
        if problem.status in BUSY:
            return ServerUnavailable(
                Message("{server} answered HTTP {status}", server=server.address, status=problem.status)
            )
        return ConfigError(
            Message(
                "{server} does not run commands: it answered HTTP {status}",
                server=server.address,
                status=problem.status,
            ),
            Message("check the address; a server of an earlier version must be updated"),
        )
    return (ServerUnavailable if problem.status in BUSY else ConfigError)(problem.message)


def _no_answer(problem: ApiProblem) -> AisbenchError:
    why = getattr(problem.__cause__, "reason", problem.__cause__)
    if isinstance(why, ssl.SSLError):
        hint = Message("if your own CA issued its certificate, set SSL_CERT_FILE to that CA's certificate")
        return ConfigError(problem.message, hint)
    return ServerUnavailable(problem.message)

"""`aisbench login`, `logout` and `whoami`: the server that commands run on, and as whom."""

import sys
from typing import Any

import click

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.config.settings import user_config_folder
from aisbench_core.domain.access.permissions import role_of
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor
from aisbench_core.interfaces.cli.options import command
from aisbench_core.interfaces.cli.remote.server import named_server, problems_of, server_at
from aisbench_core.interfaces.client.logins import Logins, address_of


@command()
@click.argument("server", metavar="URL")
def login(server: str, as_json: bool) -> None:
    """Check a token with a server, and store it for the commands that run there.

    The token is asked for, or read from stdin if that is no terminal. It is stored in the user's configuration folder,
    readable by nobody else. AISBENCH_TOKEN is used instead where it is set. Commands run on the server while
    AISBENCH_SERVER names it.
    """
    address = address_of(server)
    token = _entered_token().strip()
    if not token:
        raise ConfigError(Message("no token was entered"), Message("`aisbench token create` creates one"))
    found = server_at(address, token)
    with problems_of(found):
        owner = found.client.get("/token")
    logins = Logins(user_config_folder())
    logins.add(address, token)
    display.print_result({"server": address, **owner}, as_json, lambda: _format_owner(address, owner))
    display.print_message(f"token stored in {logins.file}; to use the server: export AISBENCH_SERVER={address}")


@command()
@click.argument("server", metavar="[URL]", required=False)
def logout(server: str | None) -> None:
    """Remove the stored token of a server, by default of AISBENCH_SERVER.

    It stays valid until it expires or is revoked: `aisbench token revoke`.
    """
    address = server or named_server()
    if not address:
        raise click.UsageError("name a server, or set AISBENCH_SERVER")
    removed = Logins(user_config_folder()).remove(address)
    display.print_message(f"token of {address} removed" if removed else f"there is no stored token of {address}")


@command()
@click.pass_context
def whoami(ctx: click.Context, /, as_json: bool) -> None:
    """Show in whose name and with which role commands run, and where."""
    if not (address := named_server()) or ctx.find_root().params["local"]:
        here = get_actor()
        answer = {"server": None, "name": here.name, "role": role_of(here), "read_only": False}
        display.print_result(answer, as_json, lambda: f"{here.name}  {answer['role']}  on this machine")
        return
    server = server_at(address)
    with problems_of(server):
        owner = server.client.get("/token")
    display.print_result({"server": address, **owner}, as_json, lambda: _format_owner(address, owner))


def _entered_token() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline()
    return str(click.prompt("token", hide_input=True, err=True))


def _format_owner(address: str, owner: dict[str, Any]) -> str:
    limits = ", read only" if owner["read_only"] else ""
    return f"{owner['name']}  {owner['role']}{limits}  on {address}, until {owner['expires_at'][:10]}"

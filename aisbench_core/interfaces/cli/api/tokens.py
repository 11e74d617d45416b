"""`aisbench token`: what programs show instead of signing in."""

from datetime import datetime

import click

from aisbench_core.base import formats
from aisbench_core.base.documents import parse_document
from aisbench_core.base.messages import Message
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.options import Group, choose_value, yes_option
from aisbench_core.model import Role
from aisbench_core.model.token import Token, TokenRequest

DAYS = 90

token = Group("token", help="Create, list and revoke tokens, with which programs use the API.")


@token.command()
@click.argument("name")
@click.option("--role", type=choose_value(Role), default="viewer", show_default=True, help="What it may do.")
@click.option("--read-only", is_flag=True, help="Let it read what its role may read, and change nothing.")
@click.option("--days", type=int, default=DAYS, show_default=True, metavar="N", help="Days until it expires, 1 to 366.")
def create(name: str, role: str, read_only: bool, days: int, as_json: bool) -> None:
    """Create a token and print it once; only its hash is stored.

    Whatever is changed with it is recorded under NAME.
    """
    answers = {"name": name, "role": role, "read_only": read_only, "days": days}
    request = parse_document(TokenRequest, answers, Message("the token"))
    created, text = open_core(writing=True).tokens.create(request, get_actor())
    display.print_result({**display.as_dict(created), "token": text.plain}, as_json, lambda: text.plain)
    display.print_message(
        f"token {created.token_id} expires on {display.local_time(created.expires_at)}; it is not shown again"
    )


@token.command("list")
def list_(as_json: bool) -> None:
    """List tokens, the newest first, with their last use. It is stored once a minute at most.

    Over a server, only admins see those of others.
    """
    core = open_core(writing=False)
    tokens, now = core.tokens.visible(get_actor()), core.clock()
    answer = [{**display.as_dict(one), "state": one.state(now)} for one in tokens]
    display.print_result(answer, as_json, lambda: display.table_of(tokens, _build_columns(now)))


@token.command()
@click.argument("token_id", metavar="TOKEN")
@yes_option
def revoke(token_id: str, yes: bool, as_json: bool) -> None:
    """Revoke a token, named by its id or a unique prefix of it: it stops working at once."""
    core = open_core(writing=True)
    if not yes:
        click.confirm(f"revoke token {token_id}?", abort=True, err=True)
    revoked = core.tokens.revoke(token_id, get_actor())
    answer = {**display.as_dict(revoked), "state": revoked.state(core.clock())}
    display.print_result(answer, as_json, lambda: f"{revoked.token_id}  revoked")


def _build_columns(now: datetime) -> display.Columns[Token]:
    return {
        "token": lambda one: one.token_id,
        "name": lambda one: one.name,
        "role": lambda one: f"{one.role}, read only" if one.read_only else str(one.role),
        "state": lambda one: str(one.state(now)),
        "created": lambda one: display.local_time(one.created_at),
        "by": lambda one: one.created_by,
        "expires": lambda one: display.local_time(one.expires_at),
        "last used": lambda one: display.local_time(one.last_used_at) if one.last_used_at else formats.MISSING,
    }

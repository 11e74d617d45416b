"""`aisbench session`: which browsers are signed in, and how to sign them out."""

import click

from aisbench_core.base import formats
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.options import Group, yes_option
from aisbench_core.people.accounts.open_sessions import OpenSession

session = Group("session", help="List and end the sessions of people who signed in with OpenID Connect.")


@session.command("list")
def list_(as_json: bool) -> None:
    """List open sessions, the last used one first; browser and address were recorded at sign-in.

    Over a server, only admins see those of others. The last use is recorded every five minutes at most.
    """
    sessions = open_core(writing=False).open_sessions.visible(get_actor())
    answer = [display.as_dict(one) for one in sessions]
    display.print_result(answer, as_json, lambda: display.table_of(sessions, COLUMNS))


@session.command()
@click.argument("session_id", metavar="SESSION")
@yes_option
def end(session_id: str, yes: bool, as_json: bool) -> None:
    """End a session, named by its id or a unique prefix of it: its pages end within a minute."""
    core = open_core(writing=True)
    if not yes:
        click.confirm(f"end session {session_id}?", abort=True, err=True)
    ended = core.open_sessions.end(session_id, get_actor())
    display.print_result(display.as_dict(ended), as_json, lambda: f"{ended.session_id}  ended")


@session.command()
@click.argument("name")
@yes_option
def end_all(name: str, yes: bool, as_json: bool) -> None:
    """End all sessions of a person, who can sign in again: `aisbench people revoke` prevents that."""
    core = open_core(writing=True)
    if not yes:
        click.confirm(f"end all sessions of {name}?", abort=True, err=True)
    ended = core.open_sessions.end_all(name, get_actor())
    answer = [display.as_dict(one) for one in ended]
    display.print_result(answer, as_json, lambda: f"{name}  {len(ended)} ended")


COLUMNS: display.Columns[OpenSession] = {
    "session": lambda one: one.session_id,
    "name": lambda one: one.name,
    "began": lambda one: display.local_time(one.began_at),
    "last used": lambda one: display.local_time(one.active_at),
    "browser": lambda one: one.browser or formats.MISSING,
    "address": lambda one: one.address or formats.MISSING,
}

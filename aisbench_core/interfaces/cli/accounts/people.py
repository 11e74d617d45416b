"""`aisbench people`: who may do what on a console with sign-in."""

import click

from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.options import Group, choose_value, yes_option
from aisbench_core.model import Role
from aisbench_core.people.accounts.people import Person

people = Group("people", help="List people, give them roles, and revoke their access.")


@people.command("list")
def list_(as_json: bool) -> None:
    """List everybody who signed in or was given a role."""
    everybody = open_core(writing=False).people.all(get_actor())
    display.print_result([_to_answer(one) for one in everybody], as_json, lambda: display.table_of(everybody, COLUMNS))


@people.command()
@click.argument("name")
@click.argument("role", type=choose_value(Role))
def set_role(name: str, role: str, as_json: bool) -> None:
    """Give a person a role, also before the first sign-in, or restore revoked access.

    If a group of the identity provider gives a higher role, that one counts.
    """
    person = open_core(writing=True).people.set_role(name, Role(role), get_actor())
    display.print_result(_to_answer(person), as_json, lambda: f"{person.name}  {person.role}")
    if person.role != role:
        display.print_message(f"a group of {name} gives the role {person.role}, which counts")


@people.command()
@click.argument("name")
@yes_option
def revoke(name: str, yes: bool, as_json: bool) -> None:
    """Revoke a person's access: their pages stop working within a minute, and their tokens at once.

    This includes names of programs that have never signed in: neither their tokens nor their schedules work any more.
    """
    core = open_core(writing=True)
    if not yes:
        click.confirm(f"revoke the access of {name}?", abort=True, err=True)
    person = core.people.revoke(name, get_actor())
    display.print_result(_to_answer(person), as_json, lambda: f"{person.name}  revoked")


@people.command()
@click.argument("name")
def release(name: str, as_json: bool) -> None:
    """Let another account of the OpenID Connect provider sign in under a name, with its role and runs.

    Needed when a provider was replaced. The next account that signs in with the name gets it. A name without such an
    account, as one that was misspelt or that a proxy sent, is forgotten with its role or revocation.
    """
    open_core(writing=True).people.release(name, get_actor())
    display.print_result({"name": name}, as_json, lambda: f"{name}  released")


COLUMNS: display.Columns[Person] = {
    "name": lambda one: one.name,
    "role": lambda one: "revoked" if one.revoked else str(one.role),
    "given": lambda one: one.given_role or "",
    "by group": lambda one: one.group_role or "",
    "last seen": lambda one: display.local_time(one.last_seen_at),
    "changed": lambda one: display.local_time(one.changed_at),
    "by": lambda one: one.changed_by,
}


def _to_answer(person: Person) -> dict[str, object]:
    return {**display.as_dict(person), "role": person.role}

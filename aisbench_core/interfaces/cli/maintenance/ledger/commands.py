"""`aisbench ledger`: where it is kept."""

import click

from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.options import Group

ledger = Group("ledger", help="Move the ledger into PostgreSQL.")


@ledger.command()
@click.argument("to", metavar="TO")
def copy(to: str) -> None:
    """Copy ledger.sqlite3 into an empty database, compare both, and verify the audit there.

    TO is the setting `ledger` of a team: postgresql://user@host/dbname; its password is in AISBENCH_LEDGER_PASSWORD or
    in the credentials. Stop the console and the follower first. Nothing is changed here.
    """
    copied = open_core(writing=True).ledger_copies.copy(to, get_actor())
    rows = display.format_count(sum(copied.rows.values()), "row")
    runs = display.format_count(copied.rows["runs"], "run")
    click.echo(f"{rows} are equal in both, with {runs}; audit entries verified: {copied.audit.entries:,}")
    display.print_message(f"to use it, set ledger to {to} on every machine, and restart aisbench")

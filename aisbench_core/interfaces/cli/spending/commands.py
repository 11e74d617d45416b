"""`aisbench spending`: costs per currency and node hours, as a table, JSON or CSV."""

from collections.abc import Callable

import click

from aisbench_core.base import formats
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import open_core
from aisbench_core.interfaces.cli.options import choose_value, command
from aisbench_core.warehouse.answers.spending import csv_text
from aisbench_core.warehouse.values.spending import Spending, SpendingBy, SpendingQuery, Spent, month_of


@command()
@click.option(
    "--by",
    type=choose_value(SpendingBy),
    default=SpendingBy.PERSON.value,
    show_default=True,
    help="What a row is about.",
)
@click.option("--from", "first", metavar="YYYY-MM", default="", help="Only runs launched in this month (UTC) or later.")
@click.option("--to", "last", metavar="YYYY-MM", default="", help="Only runs launched in this month or earlier.")
@click.option("--person", "people", multiple=True, help="Only runs of this person; can be repeated, as those below.")
@click.option("--workload", "workloads", multiple=True, help="Only this workload.")
@click.option("--profile", "profiles", multiple=True, help="Only this profile.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV: a line for each row and currency.")
def spending(  # click passes each option by its name
    by: str,
    first: str,
    last: str,
    people: tuple[str, ...],
    workloads: tuple[str, ...],
    profiles: tuple[str, ...],
    as_csv: bool,
    as_json: bool,
) -> None:
    """Show what runs cost, at the prices at launch, per currency, with node hours.

    All runs that have ended count, whether they completed or not; rehearsals and imported results do not. Node hours
    without a known price are not priced: they are not part of any amount. Months are those of the launches.
    """
    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")
    start, end = (month_of(text, name) if text else None for name, text in (("from", first), ("to", last)))
    query = SpendingQuery(SpendingBy(by), start, end, people, workloads, profiles)
    found = open_core(writing=False).warehouse.spending.of(query)
    if as_csv:
        click.echo(csv_text(found), nl=False)
    else:
        display.print_result(found, as_json, lambda: _format_spending(found))


def _format_spending(spending: Spending) -> str:
    rows = [*spending.rows, spending.total] if spending.rows else []
    columns: display.Columns[Spent] = {
        str(spending.by): lambda row: "total" if row is spending.total else display.clip_text(row.name) or "no series",
        **{f">{currency}": _format_amount(currency) for currency in spending.currencies},
        ">node hours": lambda row: formats.format_number(row.node_hours),
        ">not priced": lambda row: (
            f"{formats.format_number(row.unpriced_hours)} node hours" if row.unpriced_hours else ""
        ),
        ">runs": lambda row: f"{row.runs:,}",
        ">not completed": lambda row: f"{row.not_completed:,}",
    }
    return display.table_of(rows, columns, {">not priced"} if spending.is_priced_throughout else set())


def _format_amount(currency: str) -> Callable[[Spent], str]:
    def text(row: Spent) -> str:
        amount = row.amounts.get(currency)
        return formats.MISSING if amount is None else f"{amount:,.2f}"

    return text

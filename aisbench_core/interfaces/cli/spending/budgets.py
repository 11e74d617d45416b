"""`aisbench budget`, `approve` and `decline`: what may be spent, and launches beyond it."""

import click

from aisbench_core.base.formats import format_money
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.options import Group, choose_value, command
from aisbench_core.model import BudgetScope, BudgetUse, StoredBudget

budget = Group("budget", help="Limit what launches may cost before they need approval.")


@budget.command("list")
def list_(as_json: bool) -> None:
    """List budgets and how much of each is used: this month, or in total for a series.

    Reserved is what active runs are expected to cost beyond what they have cost so far.
    """
    budgets = open_core(writing=False).budgets
    stored, uses = budgets.all(), budgets.uses()
    answer = {"budgets": [_to_answer(one) for one in stored], "uses": [_to_usage(one) for one in uses]}
    display.print_result(answer, as_json, lambda: _format_budgets(stored, uses))


@budget.command("set")
@click.argument("scope", type=choose_value(BudgetScope))
@click.argument("amount", type=float)
@click.argument("currency")
@click.option(
    "--name", default="", help="Person, team or series; empty: a default for each one without a budget of its own."
)
@click.option("--allow-unknown", is_flag=True, help="Launches whose cost is not known need no approval.")
def set_(scope: str, amount: float, currency: str, name: str, allow_unknown: bool, as_json: bool) -> None:
    """Set a budget: of a person, of a team or of everybody for each month (UTC), or of a series for all of it.

    It replaces the one of the same scope, name and currency. Launches that no budget has room for wait for `aisbench
    approve`. Teams are user groups of the proxy or identity provider.
    """
    answers = {
        "scope": scope, "name": name, "amount": amount, "currency": currency, "allow_unknown": allow_unknown,
    }  # fmt: skip
    stored = open_core(writing=True).budgets.save(answers, get_actor())
    display.print_result(
        _to_answer(stored), as_json, lambda: f"{_format_title(stored)}  {format_money(amount, currency)}"
    )


@budget.command()
@click.argument("scope", type=choose_value(BudgetScope))
@click.argument("currency")
@click.option("--name", default="", help="That of this person, team or series.")
def remove(scope: str, currency: str, name: str, as_json: bool) -> None:
    """Remove a budget. Launches that already wait for approval keep waiting."""
    removed = open_core(writing=True).budgets.remove(BudgetScope(scope), name, currency, get_actor())
    display.print_result(_to_answer(removed), as_json, lambda: f"{_format_title(removed)}  removed")


@command()
@click.argument("launch", metavar="RUN|SERIES")
def approve(launch: str, as_json: bool) -> None:
    """Approve a held run or series: it begins now, whatever its budgets say. `aisbench runs --state held` lists runs.

    Of a series all cells that are still to be launched are approved.
    """
    approvals = open_core(writing=True).approvals
    decided = approvals.find(launch)
    decide = approvals.approve_series if approvals.is_series(decided) else approvals.approve
    decide(decided, get_actor())
    display.print_result({"id": decided, "decision": "approved"}, as_json, lambda: f"{decided}  approved")


@command()
@click.argument("launch", metavar="RUN|SERIES")
@click.option("--reason", default="", help="Why, for the person who asked.")
def decline(launch: str, reason: str, as_json: bool) -> None:
    """Decline a held run or series: it ends as stopped, and no job is created. Active runs of a series go on."""
    approvals = open_core(writing=True).approvals
    decided = approvals.find(launch)
    decide = approvals.decline_series if approvals.is_series(decided) else approvals.decline
    decide(decided, reason, get_actor())
    display.print_result({"id": decided, "decision": "declined"}, as_json, lambda: f"{decided}  declined")


def _format_title(stored: StoredBudget) -> str:
    budget = stored.budget
    return (
        f"{budget.scope} {budget.name}".strip()
        if budget.name or budget.scope == "everybody"
        else f"each {budget.scope}"
    )


def _to_answer(stored: StoredBudget) -> dict[str, object]:
    return stored.budget.model_dump(mode="json") | {"changed_at": stored.changed_at, "changed_by": stored.changed_by}


def _to_usage(use: BudgetUse) -> dict[str, object]:
    amounts = {"spent": use.spent, "reserved": use.reserved, "left": use.left}
    return {"scope": use.budget.scope, "name": use.subject, "currency": use.budget.currency, **amounts}


def _format_budgets(stored: list[StoredBudget], uses: list[BudgetUse]) -> str:
    set_columns: display.Columns[StoredBudget] = {
        "budget": _format_title,
        ">amount": lambda one: format_money(one.budget.amount, one.budget.currency),
        "unknown costs": lambda one: "allowed" if one.budget.allow_unknown else "held",
        "set by": lambda one: one.changed_by,
    }
    use_columns: display.Columns[BudgetUse] = {
        "used by": lambda use: f"{use.budget.scope} {use.subject}".strip(),
        ">spent": lambda use: format_money(use.spent, use.budget.currency),
        ">reserved": lambda use: format_money(use.reserved, use.budget.currency),
        ">left": lambda use: format_money(use.left, use.budget.currency),
    }
    tables = [display.table_of(stored, set_columns), *([display.table_of(uses, use_columns)] if uses else [])]
    return "\n\n".join(tables)

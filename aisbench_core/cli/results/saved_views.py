"""`aisbench views`: views that users saved in the console."""

from typing import TYPE_CHECKING
from urllib.parse import urlencode

import click

from aisbench_core.cli import display
from aisbench_core.cli.core import actor, open_core
from aisbench_core.cli.options import as_json
from aisbench_core.errors import Problem, SpecError
from aisbench_core.messages import Message

if TYPE_CHECKING:
    from aisbench_core.warehouse.records.saved import SavedView

PAGES = ("leaderboard", "compare", "history", "scaling")


@click.group()
def views() -> None:
    """List and delete views saved in the console."""


@views.command(name="list")
@click.option("--page", default="", type=click.Choice(["", *PAGES]), help="Only views of this page.")
@as_json
def list_(page: str, as_json: bool) -> None:
    """List saved views with their short address and the full one."""
    saved = open_core(writing=False).warehouse.saved_views.on(page)
    answer = [
        {
            **display.as_dict(view),
            "short": _short_address(view),
            "long": f"/{view.page}?{urlencode(view.address, doseq=True)}",
        }
        for view in saved
    ]
    display.result(answer, as_json, lambda: _table(saved))


@views.command()
@click.argument("page", type=click.Choice(PAGES))
@click.argument("name")
def delete(page: str, name: str) -> None:
    """Delete a saved view, for everyone who uses the warehouse."""
    if not open_core(writing=True).warehouse.saved_views.delete(page, name, actor()):
        problem = Problem("name", Message("no view of {page} has this name", page=page), repr(name))
        raise SpecError(Message("the view"), [problem])
    click.echo(f"{page}: {name} deleted")


def _short_address(view: "SavedView") -> str:
    """The address that opens the view, relative to the console's."""
    return f"/{view.page}?{urlencode({'view': view.name})}"


def _table(views: "list[SavedView]") -> str:
    columns: display.Columns[SavedView] = {
        "page": lambda view: view.page,
        "name": lambda view: view.name,
        "saved by": lambda view: view.saved_by,
        "saved": lambda view: display.local_time(view.saved_at),
        "address": _short_address,
    }
    return display.table_of(views, columns)

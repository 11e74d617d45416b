"""`aisbench views`: the views that people saved in the console."""

from typing import TYPE_CHECKING
from urllib.parse import urlencode

import click

from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core, open_core_for_reading
from aisbench_core.errors import Problem, SpecError
from aisbench_core.messages import Message

if TYPE_CHECKING:
    from aisbench_core.warehouse.records.saved import SavedView

PAGES = ("leaderboard", "compare", "history", "scaling")


@click.group()
def views() -> None:
    """List and delete the views that people saved in the console."""


@views.command(name="list")
@click.option("--page", default="", type=click.Choice(["", *PAGES]), help="Only views of this page.")
@as_json
def list_(page: str, as_json: bool) -> None:
    """List the saved views, with the short address and what they show."""
    found = open_core_for_reading().warehouse.people.views(page)
    answer = [{**_fields(each), "short": short(each), "long": long(each)} for each in found]
    heads = ("page", "name", "saved by", "saved", "address")
    rows = [(each.page, each.name, each.saved_by, shown.moment(each.saved_at), short(each)) for each in found]
    shown.answer(answer, as_json, lambda: shown.table(heads, rows))


@views.command()
@click.argument("page", type=click.Choice(PAGES))
@click.argument("name")
def delete(page: str, name: str) -> None:
    """Delete a saved view, for everybody who shares the warehouse."""
    if not open_core().warehouse.people.delete_view(page, name):
        raise SpecError(
            Message("the view"), [Problem("name", Message("is not among the views of {page}", page=page), repr(name))]
        )
    click.echo(f"{page}: {name} is deleted")


def short(view: "SavedView") -> str:
    """The address that opens the view, below the console's own."""
    return f"/{view.page}?{urlencode({'view': view.name})}"


def long(view: "SavedView") -> str:
    """The address that the view stands for."""
    return f"/{view.page}?{urlencode(view.address, doseq=True)}"


def _fields(view: "SavedView") -> dict[str, object]:
    return {name: getattr(view, name) for name in view.__dataclass_fields__}

"""`aisbench imports`: which imports there were, and undoing one that was a mistake."""

from typing import TYPE_CHECKING

import click

from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core, open_core_for_reading

if TYPE_CHECKING:
    from aisbench_core.warehouse.records.imported import Import


@click.group()
def imports() -> None:
    """List imports, or forget one."""


@imports.command(name="list")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many.")
@click.option("--offset", type=click.IntRange(0), default=0, help="How many to pass over.")
@as_json
def list_(limit: int, offset: int, as_json: bool) -> None:
    """List imports, newest first: what `aisbench import` or the page stored at one moment."""
    found, total = open_core_for_reading().history.imports(limit, offset)
    shown.answer({"imports": [_facts(each) for each in found], "total": total}, as_json, lambda: _table(found))
    if offset + len(found) < total:
        shown.talk(f"{len(found)} of {total} imports")


@imports.command()
@click.argument("import_id", metavar="IMPORT")
@click.option("--keep-remarks", is_flag=True, help="Tags and notes stay, for when the same results are imported again.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@as_json
def forget(import_id: str, keep_remarks: bool, yes: bool, as_json: bool) -> None:
    """Remove the runs of an import, with everything that hangs on them. Launched runs are never removed.

    IMPORT is an id from `aisbench imports list`, or a beginning of it that no other shares. Results, cards, events,
    remarks and baselines go from the warehouse, also from a team's, and the runs' folders from this machine.
    """
    history = open_core().history
    one = history.get_import(import_id)
    if not yes:
        click.confirm(_question(one, keep_remarks), abort=True, err=True)
    gone = history.forget(one, keep_remarks=keep_remarks)
    shown.answer({**_facts(one), "forgotten": gone}, as_json, lambda: f"{_runs(gone)} of {one.files} forgotten")


def _question(one: "Import", keep_remarks: bool) -> str:
    kept = "stay" if keep_remarks else "go, too"
    remarked = f" ({one.remarked} with tags or notes, which {kept})" if one.remarked else ""
    return f"Forget {_runs(one.runs)} of {one.files}, imported {shown.moment(one.at)}{remarked}?"


def _facts(one: "Import") -> dict[str, object]:
    return {
        "import_id": one.import_id,
        "imported_at": one.at,
        "runs": one.runs,
        "first_file": one.first,
        "last_file": one.last,
        "regions": one.regions,
        "remarked": one.remarked,
    }


def _table(found: "list[Import]") -> str:
    heads = ("import", "at", ">runs", "files", "regions", ">remarked")
    rows = [
        (each.import_id, shown.moment(each.at), str(each.runs), each.files, ", ".join(each.regions), str(each.remarked))
        for each in found
    ]
    return shown.table(heads, rows)


def _runs(count: int) -> str:
    return f"{count:,} {'run' if count == 1 else 'runs'}"

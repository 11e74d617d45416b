"""`aisbench note` and `tag`: what people remark of runs, whoever made them."""

from typing import TYPE_CHECKING

import click

from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core, open_core_for_reading, user
from aisbench_core.cli.results.results import full_id

if TYPE_CHECKING:
    from aisbench_core.model import Remarks

ADD, REMOVE = "+", "-"


@click.command()
@click.argument("run_id", metavar="RUN")
@click.argument("text", required=False)
@as_json
def note(run_id: str, text: str | None, as_json: bool) -> None:
    """Write a run's note anew, or show it and its tags; empty TEXT takes it away.

    The note before is printed to stderr, and stays in the run's history.
    """
    core = (open_core if text is not None else open_core_for_reading)()
    run_id = full_id(core, run_id)
    known = core.remarks.of(run_id)
    if text is not None:
        seen = known.noted.at if known.noted else None
        after = core.remarks.note(run_id, text, user(), seen)
        if known.noted and known.note and after.note != known.note:
            shown.talk(f"before, by {known.noted.who} at {shown.moment(known.noted.at)}: {known.note}")
        known = after
    _show(known, run_id, as_json)


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("run_id", metavar="RUN")
@click.argument("changes", metavar="[+TAG|-TAG]...", nargs=-1, type=click.UNPROCESSED)
@as_json
def tag(run_id: str, changes: tuple[str, ...], as_json: bool) -> None:
    """Add tags to a run (+TAG) and remove others (-TAG), or show them. For one tag, the last change counts."""
    wrong = [change for change in changes if change[:1] not in (ADD, REMOVE)]
    if wrong:
        raise click.BadParameter(f"{wrong[0]!r} begins with neither + nor -", param_hint="TAG")
    core = (open_core if changes else open_core_for_reading)()
    run_id = full_id(core, run_id)
    added = [change[1:] for change in changes if change.startswith(ADD)]
    removed = [change[1:] for change in changes if change.startswith(REMOVE)]
    known = core.remarks.tag(run_id, added, removed, user()) if changes else core.remarks.of(run_id)
    _show(known, run_id, as_json)


def remarks_text(known: "Remarks") -> str:
    """Tags and note as a person reads them; empty when there are none."""
    by = f" ({known.noted.who}, {shown.moment(known.noted.at)})" if known.noted else ""
    facts = [("tags", ", ".join(known.tags)), ("note", f"{known.note}{by}" if known.note else "")]
    return shown.visible(shown.listing(facts))


def _show(known: "Remarks", run_id: str, as_json: bool) -> None:
    answer = {"run_id": run_id, "tags": known.tags, "note": known.note, "changes": known.changes}
    shown.answer(answer, as_json, lambda: remarks_text(known) or "no tags and no note")

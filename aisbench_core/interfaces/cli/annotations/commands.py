"""`aisbench rename`, `note`, `set-aside` and `tag`: what people say about runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from aisbench_core.base.errors import DamagedLedger, RunNotFound
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.options import command
from aisbench_core.interfaces.cli.results.results import full_id

if TYPE_CHECKING:
    from aisbench_core.model import Annotations
    from aisbench_core.wiring import Core


@command()
@click.argument("name", required=False)
def rename(run_id: str, name: str | None, as_json: bool) -> None:
    """Give a run a name, or show it. An empty NAME brings the default back: workload, version, size, parameters."""
    core = open_core(writing=name is not None)
    run_id = full_id(core, run_id)
    if name is not None:
        core.annotations.rename(run_id, name, get_actor())
    answer = {"run_id": run_id, "name": _get_name(core, run_id)}
    display.print_result(answer, as_json, lambda: answer["name"])


def _get_name(core: Core, run_id: str) -> str:
    try:
        return core.run_names.of([core.ledger.get(run_id)])[run_id]
    except (RunNotFound, DamagedLedger):  # it was imported
        row = core.warehouse.runs.find_row(run_id)
        return core.annotations.of(run_id).name or (row.title if row else "")


@command()
@click.argument("text", required=False)
def note(run_id: str, text: str | None, as_json: bool) -> None:
    """Set a run's note, or show it with the run's tags. An empty TEXT deletes the note.

    The previous note is printed to stderr, and kept in the run's history.
    """
    core = open_core(writing=text is not None)
    run_id = full_id(core, run_id)
    annotations = core.annotations.of(run_id)
    if text is not None:
        before, last_note = annotations.note, annotations.last_note
        # Refused if another note came meanwhile.
        annotations = core.annotations.note(run_id, text, get_actor(), last_note.at if last_note else None)
        if last_note and before and annotations.note != before:
            display.print_message(f"before, by {last_note.who} at {display.local_time(last_note.at)}: {before}")
    _print_annotations(annotations, run_id, as_json)


@command()
@click.argument("reason", required=False)
@click.option("--undo", is_flag=True, help="Let the run count again.")
def set_aside(run_id: str, reason: str | None, undo: bool, as_json: bool) -> None:
    """Leave a run out of statistics, for a REASON. Without one, show why it is left out.

    The run stays in lists, reports and the count of attempts (V09).
    """
    if undo and reason is not None:
        raise click.BadParameter("must not be given with --undo", param_hint="REASON")
    core = open_core(writing=undo or reason is not None)
    run_id = full_id(core, run_id)
    if undo:
        annotations = core.annotations.count_again(run_id, get_actor())
    elif reason is not None:
        annotations = core.annotations.set_aside(run_id, reason, get_actor())
    else:
        annotations = core.annotations.of(run_id)
    answer = {"run_id": run_id, "set_aside": annotations.reason_set_aside, "changes": annotations.changes}
    display.print_result(answer, as_json, lambda: _describe_set_aside(annotations))


def _describe_set_aside(annotations: Annotations) -> str:
    if change := annotations.set_aside:
        return f"set aside by {change.who} at {display.local_time(change.at)}: {change.text}"
    return "not set aside"


@command(context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("words", metavar="RUN... [+TAG|-TAG]...", nargs=-1, required=True, type=click.UNPROCESSED)
def tag(words: tuple[str, ...], as_json: bool) -> None:
    """Add (+TAG) and remove (-TAG) tags of runs, or show them. If a tag is given twice, the last change counts.

    Runs with the tag `pinned` stand first on the page Runs.
    """
    runs = [word for word in words if not word.startswith(("+", "-"))]
    added, removed = ([word[1:] for word in words if word.startswith(sign)] for sign in "+-")
    if not runs:
        raise click.BadParameter("name a run before the tags", param_hint="RUN")
    core = open_core(writing=bool(added or removed))
    tagged = {}
    for run_id in [full_id(core, run) for run in runs]:
        changes = bool(added or removed)
        annotations = core.annotations
        tagged[run_id] = annotations.tag(run_id, added, removed, get_actor()) if changes else annotations.of(run_id)
    if len(tagged) == 1:
        [(run_id, one)] = tagged.items()
        _print_annotations(one, run_id, as_json)
        return
    answer = [{"run_id": run_id, "tags": one.tags} for run_id, one in tagged.items()]
    lines = [f"{run_id}  {', '.join(one.tags) or 'no tags'}" for run_id, one in tagged.items()]
    display.print_result({"runs": answer}, as_json, lambda: "\n".join(lines))


def annotations_text(annotations: Annotations) -> str:
    """Tags and note, or nothing without any."""
    note, last_note = annotations.note, annotations.last_note
    aside = [("set aside", _describe_set_aside(annotations))] if annotations.set_aside else []
    author = f" ({last_note.who}, {display.local_time(last_note.at)})" if last_note else ""
    return display.format_fields(
        ("tags", ", ".join(annotations.tags)), ("note", f"{note}{author}" if note else ""), *aside
    )


def _print_annotations(annotations: Annotations, run_id: str, as_json: bool) -> None:
    answer = {"run_id": run_id, **display.pick_fields(annotations, "tags", "note", "changes")}
    display.print_result(answer, as_json, lambda: annotations_text(annotations) or "no tags, no note")

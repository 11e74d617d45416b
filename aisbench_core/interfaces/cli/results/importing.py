"""`aisbench import` and `imports`: results that were measured elsewhere or earlier, and undoing their import."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from aisbench_core.base import formats
from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.exchange.evidence.checking import is_bundle
from aisbench_core.exchange.importing.choices import Choices, ImportAnswers, Preview, Provenance, Saved
from aisbench_core.exchange.importing.understanding import understand_results
from aisbench_core.exchange.readers.results import ParsedResult, Table, Unread
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.options import Group, add_assignments, add_paging, choose_value, command, yes_option
from aisbench_core.interfaces.cli.remote.paths import OBS, ImportSource
from aisbench_core.model import Mode

if TYPE_CHECKING:
    from aisbench_core.warehouse.values.imported import Import
    from aisbench_core.wiring import Core

FACTS = (
    *("workload", "model", "framework", "framework_version"),
    *("throughput_definition", "unit", "node_count", "cards_per_node"),
)
# How many files that could not be read are listed; `--json` lists all.
MAX_UNREAD = 20

CLAIMS = "imported results are unverified claims: they get no rank, and are no baseline for runs launched here"


@command("import")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=ImportSource())
@click.option("--profile", default="", metavar="NAME", help="Where the results were measured; opens obs:// paths.")
@click.option("--region", default="", metavar="ID", help="Where they were measured, if there is no profile for it.")
@click.option("--workload", default="", metavar="NAME", help="Workload of all results.")
@click.option("--model", default="", metavar="NAME", help="Model of all results.")
@click.option("--framework", default="", metavar="NAME", help="Framework of all results.")
@click.option("--framework-version", default="", metavar="V", help="Framework version of all results.")
@click.option(
    "--definition", "throughput_definition", default="", metavar="ID", help="Throughput definition of all results."
)
@click.option("--unit", default="", metavar="UNIT", help="Unit of all throughputs, as tokens/s.")
@click.option("--mode", type=choose_value(Mode), help="Mode of all results.")
@click.option("--nodes", "node_count", type=int, help="Number of nodes of all results.")
@click.option("--cards", "cards_per_node", type=int, help="Cards per node of all results.")
@add_assignments(
    "--map",
    "mapping",
    form="HEADER=FIELD",
    at_last=True,
    help="Field of a table column, or parameter.NAME, which decides speed; remembered for later imports. HEADER= "
    "ignores it; an unknown FIELD lists all.",
)
@click.option(
    "--utc-offset",
    type=click.FloatRange(-14, 14),
    default=8,
    show_default=True,
    help="Hours, for times without a zone.",
)
@click.option("--replace", is_flag=True, help="Store results again that were imported before, with these options.")
@click.option("--dry-run", is_flag=True, help="Show what would be stored and how columns are read; store nothing.")
@click.pass_context
def import_results(ctx: click.Context, /, paths: tuple[str, ...], dry_run: bool, as_json: bool, **options: Any) -> None:
    """Import existing results: logs, result folders, tables, and archives of them.

    PATH is a file, a folder, or a directory in OBS (obs://bucket/directory/). Logs are those of ais-bench-stubs and
    train_modelarts.py; tables are CSV or Excel. Each result is stored once, however often it is imported; what was not
    measured stays empty. Imported results are labelled as such. Without --profile and --region, their region is
    "imported".

    From a bundle of evidence (`aisbench evidence bundle`), runs are imported with their folders, as verified if its key
    is trusted here (`aisbench evidence trust`), else as claims. A bundle that was changed is refused.
    """
    core = open_core(writing=not dry_run)
    if any(_is_bundle(path) for path in paths):
        _import_bundles(core, ctx, paths, dry_run, as_json)
        return
    options["mapping"] = dict(options["mapping"])
    mode = Mode(options["mode"]) if options["mode"] else None
    answers = ImportAnswers(mode=mode, **{fact: options[fact] for fact in FACTS})
    where = core.imports.where(options["profile"], options["region"])
    choices = Choices(where, answers, replace=options["replace"])
    unread: list[Unread] = []
    results = _read_results(core, paths, options, unread)
    if dry_run:
        tables = _list_tables(core, paths, options["mapping"])
        previews = core.imports.preview(results, choices, get_actor())
        count = _print_previews(previews, tables, unread, as_json)
    else:
        core.imports.columns.remember(options["mapping"], get_actor())  # also if the import fails: the user has said it
        saved = core.imports.save(results, choices, get_actor(), lambda done: display.print_message(f"{done} results"))
        count = _print_saved(saved, where, unread, as_json)
    for item in unread[:MAX_UNREAD]:
        display.print_message(f"not read: {item.source}: {item.reason}")
    if len(unread) > MAX_UNREAD:
        display.print_message(f"not read: {len(unread) - MAX_UNREAD} more; --json lists all")
    if not count:
        raise ConfigError(Message("no results found"), Message("docs/import.md lists the supported formats"))


def _is_bundle(path: str) -> bool:
    return not path.startswith(OBS) and is_bundle(Path(path))


def _import_bundles(core: Core, ctx: click.Context, paths: Sequence[str], dry_run: bool, as_json: bool) -> None:
    """Import the runs of bundles. Options that describe results are refused: bundles describe their own."""
    typed = {name for name in ctx.params if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    if not_allowed := typed - {"paths", "dry_run", "as_json"}:
        option = min(param.opts[0] for param in ctx.command.params if param.name in not_allowed)
        raise ConfigError(
            Message("{option} cannot be used with a bundle of evidence", option=option), Message("remove the option")
        )
    for path in paths:
        if not _is_bundle(path):
            raise ConfigError(
                Message("{path} is not a bundle of evidence", path=path),
                Message("import bundles and other results with separate commands"),
            )
    act = core.bundle_imports.preview if dry_run else core.bundle_imports.save
    names = {path: display.file_name(path) for path in paths}
    taken = {}
    for path, name in names.items():
        with Path(path).open("rb") as content:
            taken[name] = act(content, Path(name).name, get_actor())
    answer = {
        path: {
            "new": len(one.new),
            "known": one.existing,
            "left_out": one.excluded,
            **display.pick_fields(one, "verified_by", "fingerprint"),
        }
        for path, one in taken.items()
    }
    lines = [
        f"{path}: {len(one.new):,} new runs, {one.existing:,} already imported"
        + (f", {one.excluded:,} rehearsals left out" if one.excluded else "")
        + (f", verified by {one.verified_by}" if one.verified_by else f", claims: nobody here trusts {one.fingerprint}")
        for path, one in taken.items()
    ]
    display.print_result({"taken": answer}, as_json, lambda: "\n".join(lines))


def _read_results(
    core: Core, paths: Sequence[str], options: Mapping[str, Any], unread: list[Unread]
) -> Iterator[ParsedResult]:
    """The results one at a time, so that any number fits into memory; what cannot be read goes to `unread`."""
    zone = timezone(timedelta(hours=options["utc_offset"]))
    for path in paths:
        if path.startswith(OBS):
            profile = core.regions.profile(options["profile"]).name  # an empty name is the default profile
            items = core.imports.read_obs(profile, path, options["mapping"], zone)
        else:
            items = core.imports.read(Path(path), options["mapping"], zone)
        for item in items:
            if isinstance(item, Unread):
                unread.append(item)  # one bad file must not stop a thousand others
            else:
                yield item


def _print_saved(saved: Saved, where: Provenance, unread: list[Unread], as_json: bool) -> int:
    count = len(saved.new) + saved.existing
    if count or as_json:  # otherwise the error is all there is to print
        counts = {"new": saved.new, "known": saved.existing, "corrected": saved.corrected}
        answer = {**display.pick_fields(where, "region", "rehearsal"), **counts, "unread": unread}
        text = f"{len(saved.new)} new in region {where.region}, {saved.existing} already imported"
        display.print_result(answer, as_json, lambda: text)
    if saved.corrected:
        rows = display.format_count(saved.corrected, "row")
        display.print_message(
            f"{rows} would be read differently with the present columns: use --replace to store them again"
        )
    return count


def _list_tables(core: Core, paths: Sequence[str], mapping: Mapping[str, str]) -> list[Table]:
    items = (table for path in paths if not path.startswith(OBS) for table in core.imports.tables(Path(path), mapping))
    return [table for table in items if isinstance(table, Table)]


def _print_previews(previews: list[Preview], tables: list[Table], unread: list[Unread], as_json: bool) -> int:
    columns = {  # the field of each column; empty for columns that are ignored
        table.source: {header: table.mapping.get(header, "") for header in table.columns if header} for table in tables
    }
    unknown = {table.source: table.not_understood for table in tables if table.not_understood}
    dropped = [(preview.result.source, cell) for preview in previews for cell in preview.result.dropped]
    answer = {
        "results": [_to_json(preview) for preview in previews],
        "tables": columns,
        "not_understood": unknown,
        "dropped": [{"source": source, **asdict(cell)} for source, cell in dropped],
        "unread": unread,
    }
    display.print_result(answer, as_json, lambda: _format_previews(previews))
    if as_json:
        return len(previews)
    if previews:
        display.print_message(CLAIMS)
        found = understand_results(previews, len(previews))
        display.print_message(f"{found.contents}; {found.outcome}")
        for cause, count in found.causes:
            display.print_message(f"{display.format_count(count, 'result')} not usable: {cause.sentence}")
    _print_columns(columns, unknown)
    for source, cell in dropped[:MAX_UNREAD]:
        display.print_message(f"cell left out: {source} {cell.cell} ({cell.header}): {cell.reason}")
    if len(dropped) > MAX_UNREAD:
        display.print_message(f"cells left out: {len(dropped) - MAX_UNREAD} more; --json lists all")
    return len(previews)


def _print_columns(columns: Mapping[str, Mapping[str, str]], unknown: Mapping[str, Sequence[str]]) -> None:
    for source, fields in columns.items():
        meanings = ", ".join(f"{header} = {field or 'ignored'}" for header, field in fields.items())
        display.print_message(f"columns of {source}: {meanings}")
    for source, headers in unknown.items():
        display.print_message(
            f"not understood in {source}, so parameters that decide speed: {', '.join(headers)}; "
            'say what they are with --map "HEADER=FIELD", or ignore them with --map "HEADER="'
        )


def _to_json(preview: Preview) -> dict[str, object]:
    record, info, stated = preview.record, preview.result.info, _get_stated(preview)
    return {
        **display.pick_fields(record.run, "run_id", "ended_at"),
        "here": preview.existing,
        **display.pick_fields(preview, "duplicate_of", "validity"),
        "source": record.imported.source if record.imported else "",
        **display.pick_fields(record.run.spec, "workload", "framework_version"),
        **display.pick_fields(record.workload, "model", "framework", "throughput_definition"),
        **{name: stated.get(name) for name in ("mode", "node_count", "cards_per_node")},
        **{"throughput": info.throughput_ratio, "accuracy": info.accuracy},
        **display.pick_fields(record, "region", "rehearsal"),
        "failed_checks": [check.id for check in preview.failed],
        "not_counted": preview.reasons,
        "problems": preview.result.problems,
    }


def _get_stated(preview: Preview) -> dict[str, Any]:
    """Fields of the spec that the result or the user states. A spec has defaults for the others, which mean nothing."""
    imported, spec = preview.record.imported, preview.record.run.spec
    return {name: getattr(spec, name) for name in (imported.stated if imported else ())}


def _format_previews(previews: list[Preview]) -> str:
    columns: display.Columns[Preview] = {
        "": lambda preview: (
            f"duplicate of {display.clip_text(preview.duplicate_of)}"
            if preview.duplicate_of
            else f"here as {preview.existing}"
            if preview.existing
            else "new"
        ),
        "model": lambda preview: display.clip_text(preview.record.workload.model),
        "version": lambda preview: display.clip_text(preview.record.run.spec.framework_version) or formats.MISSING,
        "hardware": lambda preview: display.format_hardware(
            preview.record.run.spec.flavor,
            *(_get_stated(preview).get(name) for name in ("node_count", "cards_per_node")),
        ),
        ">throughput": lambda preview: formats.format_number(preview.result.info.throughput_ratio),
        ">accuracy": lambda preview: formats.format_number(preview.result.info.accuracy),
        "ended": lambda preview: display.local_time(preview.record.run.ended_at),
        "from": lambda preview: preview.record.imported.source if preview.record.imported else "",
        "validity": lambda preview: preview.validity.label,
        "not usable": lambda preview: "; ".join(preview.reasons),
        "problems": lambda preview: "; ".join(preview.result.problems),
    }
    return display.table_of(previews, columns)


imports = Group("imports", help="List imports, or undo one.")


@imports.command("list")
@add_paging(1000)
def list_(limit: int, offset: int, as_json: bool) -> None:
    """List imports, newest first: one for each `aisbench import`, or import on the page."""
    page, total = open_core(writing=False).imports.imports(limit, offset)
    columns: display.Columns[Import] = {
        "import": lambda entry: entry.import_id,
        "at": lambda entry: display.local_time(entry.at),
        ">runs": lambda entry: str(entry.runs),
        "files": lambda entry: entry.files,
        "regions": lambda entry: ", ".join(entry.regions),
        ">annotated": lambda entry: str(entry.annotated),
    }
    answer = {"imports": [*map(_import_json, page)], "total": total}
    display.print_result(answer, as_json, lambda: display.table_of(page, columns))
    display.page_size(len(page), offset, total, "imports")


@imports.command()
@click.argument("import_id", metavar="IMPORT")
@click.option("--keep-annotations", is_flag=True, help="Keep tags and notes, for a new import of the same results.")
@yes_option
def forget(import_id: str, keep_annotations: bool, yes: bool, as_json: bool) -> None:
    """Delete the runs of an import. Launched runs are never deleted.

    IMPORT is an id from `aisbench imports list`, or a unique prefix of one. Results, cards, events, annotations and
    baselines are deleted from the warehouse, even from a team's, and the runs' folders from this machine.
    """
    service = open_core(writing=True).imports
    chosen = service.get_import(import_id)
    if not yes:
        runs = f"{display.format_count(chosen.runs, 'run')} of {chosen.files}, imported {display.local_time(chosen.at)}"
        fate = "kept" if keep_annotations else "deleted, too"
        annotated = f"; {chosen.annotated} of them have tags or notes, which are {fate}" if chosen.annotated else ""
        click.confirm(f"Delete {runs}{annotated}?", abort=True, err=True)
    deleted = service.forget(chosen, get_actor(), keep_annotations=keep_annotations)
    text = f"{display.format_count(deleted, 'run')} of {chosen.files} deleted"
    display.print_result({**_import_json(chosen), "forgotten": deleted}, as_json, lambda: text)


def _import_json(entry: Import) -> dict[str, object]:
    files = {"first_file": entry.first, "last_file": entry.last}
    answer = {"import_id": entry.import_id, "imported_at": entry.at, "runs": entry.runs, **files}
    return {**answer, "regions": entry.regions, "remarked": entry.annotated}

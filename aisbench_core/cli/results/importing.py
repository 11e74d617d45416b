"""`aisbench import`: results that were measured elsewhere, or before, into the warehouse."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from aisbench_core import formats
from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core, open_core_for_reading, user
from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message

if TYPE_CHECKING:
    from aisbench_core.core import Core
    from aisbench_core.history.found import FoundResult, Unread
    from aisbench_core.importing.chosen import Choices, Preview
    from aisbench_core.warehouse.store.merging import Taken

OBS = "obs://"
UNREAD_SHOWN = 20
CLAIMS = "imported results are claims, unverified: they hold no rank, and are no base for runs that were launched here"


def _pairs(_: click.Context, __: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    wrong = [pair for pair in pairs if "=" not in pair]
    if wrong:
        raise click.BadParameter(f"{wrong[0]!r} is not HEADER=FIELD")
    return {header: field for header, _, field in (pair.rpartition("=") for pair in pairs)}


_ANSWERS = (
    click.option("--profile", default="", metavar="NAME", help="Where they were measured; its keys open obs:// paths."),
    click.option("--region", default="", metavar="ID", help="Where they were measured, when no profile is of there."),
    click.option("--workload", default="", metavar="NAME", help="The workload of all results."),
    click.option("--model", default="", metavar="NAME", help="The model of all results."),
    click.option("--framework", default="", metavar="NAME", help="The framework of all results."),
    click.option("--framework-version", default="", metavar="V", help="The framework version of all results."),
    click.option("--definition", default="", metavar="ID", help="How all their throughputs are defined."),
    click.option("--mode", type=click.Choice(["cluster", "single_server"]), help="The mode of all results."),
    click.option("--nodes", type=int, help="The number of nodes of all results."),
    click.option("--cards", type=int, help="The cards per node of all results."),
    click.option(
        "--map",
        "mapping",
        multiple=True,
        callback=_pairs,
        metavar="HEADER=FIELD",
        help="What a table's column means; remembered. A wrong one names all fields, HEADER= means nothing.",
    ),
    click.option(
        "--utc-offset",
        type=click.FloatRange(-14, 14),
        default=8,
        show_default=True,
        metavar="HOURS",
        help="Of times that name no zone.",
    ),
)


def _answers(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_ANSWERS):
        command = option(command)
    return command


@click.command("import")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@_answers
@click.option("--replace", is_flag=True, help="Also store anew what was imported before, with these answers.")
@click.option("--dry-run", is_flag=True, help="Only show what would be stored, and what columns are taken for.")
@as_json
@click.pass_context
def import_results(ctx: click.Context, /, paths: tuple[str, ...], dry_run: bool, as_json: bool, **options: Any) -> None:
    """Import old results: logs, result folders, tables, and archives of them.

    PATH is a file, a folder, or a directory in OBS, obs://bucket/directory/. Logs are those of ais-bench-stubs and
    train_modelarts.py; tables are CSV or Excel. The same result is stored once, however often it is read; what the
    tool did not measure stays empty. Imported results are marked everywhere. Without --profile and --region their
    region is called "imported".

    Another console's warehouse file, or a snapshot of it, is taken over whole: each run with its cards, events and
    remarks. They are claims here as all imported results, judged by the ruleset of here.
    """
    core = (open_core_for_reading if dry_run else open_core)()
    if any(_is_database(path) for path in paths):
        _take_over(core, ctx, paths, dry_run, as_json)
        return
    choices = _choices(core, options)
    unread: list[Unread] = []
    results = _only_results(_found(core, paths, options), unread)
    if dry_run:
        count = _show(core, core.history.preview(results, choices, user()), paths, unread, as_json)
    else:
        count = _save(core, results, choices, options["mapping"], unread, as_json)
    for each in unread[:UNREAD_SHOWN]:
        shown.talk(f"not read: {each.source}: {each.reason}")
    if len(unread) > UNREAD_SHOWN:
        shown.talk(f"not read: {len(unread) - UNREAD_SHOWN} more; --json names them all")
    if not count:
        raise ConfigError(Message("no result was found"), Message("docs/import.md says what can be read"))


def _is_database(path: str) -> bool:
    from aisbench_core.warehouse.store.merging import is_database

    return not path.startswith(OBS) and is_database(Path(path))


def _take_over(core: "Core", ctx: click.Context, paths: Sequence[str], dry_run: bool, as_json: bool) -> None:
    """Runs of warehouse files; there is nothing to say about them, because they say it themselves."""
    said = [name for name in ctx.params if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    others = {*said} - {"paths", "dry_run", "as_json"}
    if others:
        option = f"--{min(others).replace('_', '-')}"
        raise ConfigError(
            Message("a warehouse's runs are taken over as they are, without {option}", option=option),
            Message("leave it out"),
        )
    for path in paths:
        if not _is_database(path):
            raise ConfigError(
                Message("{path} is no warehouse file", path=path),
                Message("import warehouse files and other results one after another"),
            )
    taken = {path: _taken(core, Path(path), dry_run) for path in paths}
    if not as_json and any(each.new for each in taken.values()):
        shown.talk(CLAIMS)
    shown.answer({"taken": taken}, as_json, lambda: "\n".join(_sentence(*item) for item in taken.items()))


def _taken(core: "Core", path: Path, dry_run: bool) -> "Taken":
    if dry_run:
        return core.history.look_into(path)
    return core.history.take_over(path, lambda done, of: shown.talk(f"{done:,} of {of:,} runs"))


def _sentence(path: str, taken: "Taken") -> str:
    stay = f", {taken.left_out:,} are rehearsals and stay out" if taken.left_out else ""
    return f"{path}: {taken.new:,} new runs, {taken.known:,} were here already{stay}"


def _choices(core: "Core", options: Mapping[str, Any]) -> "Choices":
    from aisbench_core.importing.chosen import Choices, Said
    from aisbench_core.model import Mode

    said = Said(
        workload=options["workload"],
        model=options["model"],
        framework=options["framework"],
        framework_version=options["framework_version"],
        throughput_definition=options["definition"],
        mode=Mode(options["mode"]) if options["mode"] else None,
        node_count=options["nodes"],
        cards_per_node=options["cards"],
    )
    where = core.history.where(options["profile"], options["region"])
    return Choices(where, said, replace=options["replace"])


def _found(core: "Core", paths: Sequence[str], options: Mapping[str, Any]) -> "Iterator[FoundResult | Unread]":
    zone = timezone(timedelta(hours=options["utc_offset"]))
    for path in paths:
        if path.startswith(OBS):
            profile = core.regions.profile(options["profile"]).name
            yield from core.history.read_obs(profile, path, options["mapping"], zone)
        else:
            yield from core.history.read(Path(path), options["mapping"], zone)


def _only_results(found: "Iterator[FoundResult | Unread]", unread: "list[Unread]") -> "Iterator[FoundResult]":
    """The results, one at a time, so that any number fits into memory; what was not read is put aside."""
    from aisbench_core.history.found import Unread

    for each in found:
        if isinstance(each, Unread):
            unread.append(each)
        else:
            yield each


def _save(
    core: "Core",
    results: "Iterator[FoundResult]",
    choices: "Choices",
    mapping: Mapping[str, str],
    unread: "list[Unread]",
    as_json: bool,
) -> int:
    core.history.columns.remember(mapping)
    saved = core.history.save(results, choices, user(), lambda done: shown.talk(f"{done} results"))
    where = choices.where
    answer = {"region": where.region, "rehearsal": where.rehearsal, "new": saved.new, "known": saved.known}
    answer |= {"corrected": saved.corrected}
    count = len(saved.new) + saved.known
    if count or as_json:  # otherwise there is an error to say
        shown.answer(
            answer | {"unread": unread},
            as_json,
            lambda: f"{len(saved.new)} new in the region {where.region}, {saved.known} were here already",
        )
    if saved.corrected:
        shown.talk(f"{saved.corrected} rows say something else by the columns of now: --replace stores them anew")
    return count


def _show(core: "Core", previews: "list[Preview]", paths: Sequence[str], unread: "list[Unread]", as_json: bool) -> int:
    tables = _tables(core, paths)
    answer = {"results": [_facts(preview) for preview in previews], "tables": tables, "unread": unread}
    shown.answer(answer, as_json, lambda: _table(previews))
    if previews and not as_json:
        shown.talk(CLAIMS)
    for source, columns in () if as_json else tables.items():
        meanings = ", ".join(f"{header} = {field or 'not read'}" for header, field in columns.items())
        shown.talk(f"columns of {source}: {meanings}")
    return len(previews)


def _tables(core: "Core", paths: Sequence[str]) -> dict[str, dict[str, str]]:
    from aisbench_core.history.found import Table

    found = (table for path in paths if not path.startswith(OBS) for table in core.history.tables(Path(path)))
    return {
        table.source: {header: table.mapping.get(header, "") for header in table.columns}
        for table in found
        if isinstance(table, Table)
    }


def _facts(preview: "Preview") -> dict[str, object]:
    run, facts, imported = preview.record.run, preview.record.workload, preview.record.imported
    info = preview.found.info
    stated = imported.stated if imported else ()
    return {
        "run_id": run.run_id,
        "here": preview.here,
        "duplicate_of": preview.duplicate_of,
        "source": imported.source if imported else "",
        "workload": run.spec.workload,
        "model": facts.model,
        "framework": facts.framework,
        "framework_version": run.spec.framework_version,
        "throughput_definition": facts.throughput_definition,
        "mode": run.spec.mode if "mode" in stated else None,
        "node_count": run.spec.node_count if "node_count" in stated else None,
        "cards_per_node": run.spec.cards_per_node if "cards_per_node" in stated else None,
        "throughput": info.throughput_ratio,
        "accuracy": info.accuracy,
        "ended_at": run.ended_at,
        "region": preview.record.region,
        "rehearsal": preview.record.rehearsal,
        "validity": preview.validity,
        "failed_checks": [check.id for check in preview.failed],
        "not_counted": preview.reasons,
        "problems": preview.found.problems,
    }


def _table(previews: "list[Preview]") -> str:
    heads = (
        "",
        "model",
        "version",
        "hardware",
        ">throughput",
        ">accuracy",
        "ended",
        "from",
        "verdict",
        "does not count",
        "doubts",
    )
    return shown.table(heads, [_row(preview) for preview in previews])


def _standing(preview: "Preview") -> str:
    if preview.duplicate_of:
        return f"duplicate of {shown.clipped(preview.duplicate_of)}"
    return f"here as {preview.here}" if preview.here else "new"


def _row(preview: "Preview") -> tuple[str, ...]:
    facts, run, info = _facts(preview), preview.record.run, preview.found.info
    stated = preview.record.imported.stated if preview.record.imported else ()
    nodes = run.spec.node_count if "node_count" in stated else None
    cards = run.spec.cards_per_node if "cards_per_node" in stated else None
    return (
        _standing(preview),
        shown.clipped(preview.record.workload.model),
        shown.clipped(run.spec.framework_version) or formats.MISSING,
        shown.hardware(run.spec.flavor, nodes, cards),
        formats.number(info.throughput_ratio),
        formats.number(info.accuracy),
        shown.moment(run.ended_at),
        str(facts["source"]),
        preview.validity.label,
        "; ".join(preview.reasons),
        "; ".join(preview.found.problems),
    )

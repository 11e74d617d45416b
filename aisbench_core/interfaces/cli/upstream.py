"""`aisbench config`, `workload` and `system`: files of ais-bench-stubs in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aisbench_core.base import formats
from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.domain.authoring.config_file import MOST_BYTES, ConfigFile
from aisbench_core.exchange.upstream.configs.contents import Hints, ImportedConfig
from aisbench_core.exchange.upstream.jobs.writing import JobForm
from aisbench_core.exchange.upstream.packages.package import Answers, Package, PackagedWorkload
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.exit_codes import YOUR_INPUT
from aisbench_core.interfaces.cli.options import (
    Group,
    comments_in,
    import_options,
    make_assignment_type,
    output_option,
    profile_option,
    spec_on_all_cards,
    spec_options,
    to_absolute,
    yaml_of,
)
from aisbench_core.interfaces.cli.remote.paths import InputPath, OutputPath
from aisbench_core.model import FIELDS, Api
from aisbench_core.running.systems.systems import Where, where_of

if TYPE_CHECKING:
    from aisbench_core.running.systems.descriptions import SystemValues
    from aisbench_core.wiring import Core

AIS_BENCH = "ais-bench"
MASK = "••••"  # of a fixed length: it must not show how long a key is


config = Group("config", help="Import and export configurations of ais-bench-stubs and other tools.")


@config.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=InputPath())
@click.option("--workload", default="", metavar="NAME", help="The workload, if FILE does not name it.")
@click.option("--framework-version", default="", metavar="V", help="The framework version, if FILE does not name it.")
@click.option("--package", default="", metavar="NAME", help="Name of the package; default: from the folders of FILE.")
@click.option("--code-dir", default="", metavar="DIR", help="Folder of the training code on this machine.")
@click.option("--name", "profile", default="", metavar="NAME", help="Name of the profile; default: from its region.")
@import_options
def import_config(files: Sequence[Path], job: str | None, as_json: bool, **options: Any) -> None:
    """Convert a configuration to specs, and that of ais-bench-stubs to a profile, too.

    What a file is, its content says: modelarts_config.py (with its config.sh and ma-pre-start.sh if given), JSON of API
    v2 or v1, YAML of `ma-cli ma-job submit`, a script or notebook with the SDK's Estimator, Terraform, a rank table.

    The files are parsed, never executed. Nothing is stored unless an option says so, and keys are written to the
    credentials file only. If a finding is an error, nothing is stored and the exit code is 2.
    """
    core = open_core(writing=options["save_profile"] or options["save_keys"])
    package = options["package"] or str(files[0].absolute())  # folders are named after the package
    code_dir = to_absolute(options["code_dir"], Path.cwd()) if options["code_dir"] else ""
    hints = Hints(options["workload"], options["framework_version"], package, code_dir, options["profile"])
    imported = core.configs.understand(core.configs.read([_file_of(file) for file in files]), hints)
    if job:
        imported = imported.only(Api(job))
    elif options["output"] and imported.api in {spec.spec.api for spec in imported.specs}:
        imported = imported.only(imported.api)  # -o takes one spec: that of the API which config.sh selects
    display.print_result(_config_json(imported), as_json, lambda: _config_text(imported))
    display.show_findings(imported.findings)
    if imported.has_errors:
        click.get_current_context().exit(YOUR_INPUT)
    _store_parts(core, imported, options)


@config.command("export")
@spec_options
@profile_option
@output_option
@click.option("--script", type=OutputPath(), metavar="FILE", help="Write ma-pre-start.sh, if needed.")
@click.option(
    "--format",
    "form",
    type=click.Choice([AIS_BENCH, *(form.value for form in JobForm)]),
    default=AIS_BENCH,
    show_default=True,
    help="For ais-bench-stubs, as JSON of API v2, or as YAML of `ma-cli ma-job submit`.",
)
def export_config(
    profile: str, output: Path | None, script: Path | None, form: str, as_json: bool, **arguments: Any
) -> None:
    """Export a spec as a modelarts_config.py for ais-bench-stubs, or as a job for other tools, without keys.

    Fields that manifest and profile decide are filled in, unless the spec was imported. Fields that the file cannot
    hold are listed on stderr.
    """
    core = open_core(writing=False)
    spec = spec_on_all_cards(core, profile, lambda _: (), **arguments)
    profile = core.regions.profile(profile).name
    if form == AIS_BENCH:
        exported = core.configs.write(spec, profile, comments_in(arguments["source"]))
    else:
        exported = core.configs.write_job(JobForm(form), spec, profile)
    display.show_findings(exported.findings)
    if output:
        display.write_and_report(output, exported.text)
    if script and exported.script:
        display.write_and_report(script, exported.script)
    if as_json or not output:
        display.print_result(exported, as_json, lambda: exported.text.rstrip("\n"))


def _file_of(file: Path) -> ConfigFile:
    """A file of the upstream tool. Raises ConfigError if it cannot be read."""
    try:
        with file.open("rb") as opened:
            return ConfigFile(file.name, opened.read(MOST_BYTES + 1))  # one more, so that larger files are refused
    except OSError as error:
        raise ConfigError(Message("{file} cannot be read: {why}", file=file, why=error.strerror)) from None


def _store_parts(core: Core, imported: ImportedConfig, options: Mapping[str, Any]) -> None:
    """Store what the options ask for. Raises ConfigError before anything is stored if a part of it is missing."""
    _check_store(imported, options)
    profile, output, replace = imported.profile, options["output"], options["replace"]
    if options["save_profile"] and profile:
        new = core.configs.save_profile(profile, get_actor(), replace)
        display.print_message(f"profile {profile.name} {'written' if new else 'already exists'}")
    if options["save_keys"] and profile and imported.keys:
        new = core.configs.save_keys(profile.name, imported.keys, get_actor(), replace)
        display.print_message(f"keys of {profile.name} {'written' if new else 'already exist'}")
    if output:
        display.write_and_report(output, yaml_of(imported.specs[0].spec, imported.specs[0].comments))


def _check_store(imported: ImportedConfig, options: Mapping[str, Any]) -> None:
    """Raise ConfigError if the options ask for something that was not found."""
    if options["output"] and len(imported.specs) != 1:
        raise ConfigError(
            Message("the file contains {count} specs, but only one can be written", count=len(imported.specs)),
            Message("choose one with --job v1 or v2, or leave one in the file"),
        )
    if (options["save_profile"] or options["save_keys"]) and not imported.profile:
        raise ConfigError(Message("the file does not contain enough for a profile"), Message("see the findings"))
    if options["save_keys"] and not imported.keys:
        raise ConfigError(Message("the file contains no keys"))


def _config_json(imported: ImportedConfig) -> dict[str, Any]:
    """An imported configuration for JSON; keys are never printed."""
    keys = "found" if imported.keys else "none"  # never the keys themselves
    return {"profile": imported.profile, "keys": keys, "specs": imported.specs, "findings": imported.findings}


def _config_text(imported: ImportedConfig) -> str:
    blocks = [(spec.source or "spec", yaml_of(spec.spec, spec.comments).rstrip()) for spec in imported.specs]
    if imported.profile:
        values = imported.profile.model_dump(mode="json", exclude_defaults=True).items()
        keys = [("keys", MASK)] if imported.keys else []
        blocks.insert(0, ("profile", display.format_fields(*((key, str(value)) for key, value in values), *keys)))
    return "\n\n".join(f"{head}\n{display.indent_text(text)}" for head, text in blocks) or "nothing found"


workload = Group("workload", help="Create custom workloads; `aisbench workloads` lists all workloads.")


@workload.command("import")
@click.argument("path", metavar="PACKAGE|FOLDER", type=click.Path())
@click.option("--name", default="", metavar="NAME", help="Name of the workload; default: workload and version.")
@click.option("--boot-file", default="", metavar="FILE", help="Boot file in code/code, if the package names none.")
@click.option("--engine-version", default="", metavar="V", help="Preset image, if the package names none.")
@click.option(
    "--profile",
    default="",
    metavar="NAME",
    help="Profile whose flavors it must fit, and name for --save-profile; default: the profile in the settings.",
)
@import_options
@click.option("--dry-run", is_flag=True, help="Print what the package contains; store nothing.")
def import_package(path: str, job: str | None, dry_run: bool, as_json: bool, **options: Any) -> None:
    """Create a workload from a package (….tar.gz) of ais-bench-stubs, or from an unpacked one.

    The code becomes a workload in data/workloads/. The configuration becomes a profile and specs, as with `config
    import`; they are stored only if an option says so. Nothing in the package is executed. If a finding is an error,
    nothing is stored and the exit code is 2. Importing the same package again creates nothing new.
    """
    core = open_core(writing=True)
    package = core.packages.open(path, get_actor())
    made = None
    try:
        described = _describe_workload(core, package, job, options)
        imported = described.imported
        display.show_findings(described.findings)
        failed = imported.has_errors or described.workload is None
        if not (failed or dry_run):
            _check_store(imported, options)  # before the workload is stored: all or nothing
            made = core.packages.make(package, described, get_actor())
    finally:
        core.packages.drop(package)  # its code is unpacked in data/, up to gigabytes
    name = made.name if made else described.name if described.workload else ""
    answer = {"workload": name, "new": bool(made and made.new), "package": package.name, **_config_json(imported)}
    pairs = [
        ("name", name or formats.MISSING),
        ("code", f"{package.entries:,} files, {formats.format_size(package.size)}"),
    ]
    if package.name:
        pairs += [("company", package.name.company), ("architecture", package.name.architecture)]
        pairs += [("version", package.name.framework_version)]
    text = f"workload\n{display.indent_text(display.format_fields(*pairs))}\n\n{_config_text(imported)}"
    display.print_result(answer, as_json, lambda: text)
    if failed:
        click.get_current_context().exit(YOUR_INPUT)
    if made:
        display.print_message(f"workload {made.name} {'created' if made.new else 'already exists, with the same code'}")
        _store_parts(core, imported, options)


def _describe_workload(core: Core, package: Package, job: str | None, options: dict[str, Any]) -> PackagedWorkload:
    saves_profile = bool(options["save_profile"] or options["save_keys"])
    profile = options["profile"] if saves_profile else ""
    answers = Answers(options["name"], options["boot_file"], options["engine_version"], profile)
    region, default, known = options["profile"], core.settings.profile, core.regions.names()
    if region not in known and (saves_profile or not region):
        region = default
    if region not in known and region == default:  # there is no profile yet
        described = core.packages.describe(package, answers, (), "")
    else:
        flavors = core.regions.flavors_if_reachable(region)  # without a region the check of flavors is left out
        described = core.packages.describe(package, answers, flavors, core.regions.profile(region).flavor)
    return replace(described, imported=described.imported.only(Api(job))) if job else described


FILES = ("system.json", "config.json")

_where_argument = click.argument("where", metavar="WHERE")


system = Group(
    "system",
    help="Show, edit, import and export system descriptions: 33 fields for reports, and the tester's configuration.\n\n"
    "WHERE is a run, or @PROFILE/FLAVOR (or @PROFILE) for the description that new runs get. Nothing is sent "
    "to a tester server: upstream does not offer a public one.",
)


@system.command("show")
@_where_argument
def show_system(where: str, as_json: bool) -> None:
    """Show all fields with their values, and whether a value was stated or comes from the job."""
    _print_system(open_core(writing=False).systems.of(_parse_where(where)), as_json, whole=True)


@system.command("edit")
@_where_argument
@click.argument("values", nargs=-1, required=True, metavar="FIELD=VALUE...", type=make_assignment_type("FIELD=VALUE"))
def edit_system(where: str, values: Sequence[tuple[str, str]], as_json: bool) -> None:
    """State the values of fields; FIELD= clears one."""
    stated = {name.strip(): value for name, value in values}  # as pasted from a table: "cpu = …"
    _print_system(open_core(writing=True).systems.state(_parse_where(where), stated, get_actor()), as_json, whole=False)


@system.command("keep")
@click.option("--any-flavor", is_flag=True, help="For every flavor of the profile, not only the run's.")
def keep_system(run_id: str, any_flavor: bool, as_json: bool) -> None:
    """Use the description of a run for new runs of its profile and flavor (or pool)."""
    target = open_core(writing=True).systems.keep(run_id, get_actor(), any_flavor=any_flavor)
    display.print_result({"kept": str(target)}, as_json, lambda: str(target))


@system.command("import")
@_where_argument
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=InputPath())
@click.option("--dry-run", is_flag=True, help="Print the values; change nothing.")
def import_system(where: str, files: Sequence[Path], dry_run: bool, as_json: bool) -> None:
    """State the values of upstream's system.json and config.json; other fields are left unchanged.

    Unknown keys are reported and ignored. If a finding is an error, nothing is changed and the exit code is 2.
    """
    core = open_core(writing=not dry_run)
    target = _parse_where(where)
    imported = core.systems.read([_file_of(file) for file in files])
    findings = list(imported.findings)
    if not (dry_run or imported.has_errors):
        findings += core.systems.import_fields(target, imported, get_actor())
    display.print_result(
        {"values": imported.values, "findings": findings},
        as_json,
        lambda: (
            display.format_fields(*((name, str(value)) for name, value in imported.values.items())) or "nothing found"
        ),
    )
    display.show_findings(findings)
    if imported.has_errors:
        click.get_current_context().exit(YOUR_INPUT)


@system.command("export")
@_where_argument
@click.option("--file", "name", type=click.Choice(FILES), default=FILES[0], show_default=True, help="Which file.")
@output_option
def export_system(where: str, name: str, output: Path | None) -> None:
    """Write system.json with all 33 keys, or config.json; fields without a value are empty strings."""
    text = open_core(writing=False).systems.files(_parse_where(where))[name]
    if output is None:
        click.echo(text, nl=False)
    else:
        display.write_and_report(output, text)


def _parse_where(text: str) -> Where:
    return where_of(text)


def _print_system(described: SystemValues, as_json: bool, *, whole: bool) -> None:
    """Print a description, or only how many of its fields have a value."""
    filled, fields = described.counted
    values = described.merged.values
    answer = {
        "stated": filled,
        "fields": fields,
        "values": {name: values.get(name) for name in FIELDS},
        "from_job": sorted(described.job_fields),
        "captured": sorted(described.captured_fields),
        "findings": described.findings,
    }
    columns: display.Columns[str] = {
        "field": str,
        "value": lambda name: str(values.get(name, formats.MISSING)),
        "source": lambda name: _name_source(described, name) if name in values else "",
        "meaning": lambda name: FIELDS[name].description or "",
    }
    table = f"{display.table_of(FIELDS, columns)}\n\n" if whole else ""
    display.print_result(answer, as_json, lambda: table + counts_text(described))
    display.show_findings(described.findings)


def _name_source(described: SystemValues, name: str) -> str:
    if name in described.captured_fields:
        return "captured"
    return "job" if name in described.job_fields else "stated"


def counts_text(described: SystemValues) -> str:
    filled, fields = described.counted
    return f"{filled} of {fields} fields stated, {described.counted_from_job} of them by the job"

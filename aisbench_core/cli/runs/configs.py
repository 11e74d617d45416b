"""`aisbench config`: import and export of the upstream tool's configuration."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aisbench_core.cli import display
from aisbench_core.cli.core import actor, open_core
from aisbench_core.cli.exit_codes import YOUR_INPUT
from aisbench_core.cli.options import as_json, import_options, output_option, profile_option
from aisbench_core.cli.runs.spec_options import (
    SpecArguments,
    absolute,
    comments_in,
    on_all_cards,
    read_spec,
    spec_options,
    yaml_of,
)
from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message

if TYPE_CHECKING:
    from aisbench_core.upstream.configs.contents import ConfigFile, ImportedConfig
    from aisbench_core.wiring import Core

MASK = "••••"  # of a fixed length: it must not show how long a key is


@click.group()
def config() -> None:
    """Import and export modelarts_config.py, the configuration of ais-bench-stubs."""


@config.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--workload", default="", metavar="NAME", help="The workload, if FILE does not name it.")
@click.option("--framework-version", default="", metavar="V", help="The framework version, if FILE does not name it.")
@click.option("--package", default="", metavar="NAME", help="Name of the package; default: from the folders of FILE.")
@click.option("--code-dir", default="", metavar="DIR", help="Folder of the training code on this machine.")
@click.option("--name", "profile", default="", metavar="NAME", help="Name of the profile; default: from its region.")
@import_options
@as_json
def read(files: Sequence[Path], job: str | None, as_json: bool, **options: Any) -> None:
    """Convert modelarts_config.py, with its config.sh and ma-pre-start.sh if given, to a profile and specs.

    The files are parsed, never executed. Nothing is stored unless an option says so, and keys are written to the
    credentials file only. If a finding is an error, nothing is stored and the exit code is 2.
    """
    from aisbench_core.model import Api
    from aisbench_core.upstream.configs.contents import Hints

    core = open_core(writing=options["save_profile"] or options["save_keys"])
    hints = Hints(
        options["workload"],
        options["framework_version"],
        options["package"] or str(files[0].absolute()),  # folders are named after the package
        absolute(options["code_dir"], Path.cwd()) if options["code_dir"] else "",
        options["profile"],
    )
    imported = core.configs.understand(core.configs.read([file_of(file) for file in files]), hints)
    if job:
        imported = imported.only(Api(job))
    elif options["output"] and imported.api in {spec.spec.api for spec in imported.specs}:
        imported = imported.only(imported.api)  # -o takes one spec: that of the API which config.sh selects
    display.result(config_json(imported), as_json, lambda: config_text(imported))
    display.findings(imported.findings)
    if imported.has_errors:
        click.get_current_context().exit(YOUR_INPUT)
    store(core, imported, options)


@config.command("export")
@spec_options
@profile_option
@output_option
@click.option("--script", type=click.Path(path_type=Path), metavar="FILE", help="Write ma-pre-start.sh, if needed.")
@as_json
def write(profile: str, output: Path | None, script: Path | None, as_json: bool, **arguments: Any) -> None:
    """Export a spec as a modelarts_config.py for ais-bench-stubs, without keys.

    Fields that manifest and profile decide are filled in, unless the spec was imported. Fields that the file cannot
    hold are listed on stderr.
    """
    core = open_core(writing=False)
    spec = on_all_cards(core, read_spec(SpecArguments(**arguments), core), profile, lambda _: ())
    exported = core.configs.write(spec, core.regions.profile(profile).name, comments_in(arguments["source"]))
    display.findings(exported.findings)
    if output:
        display.write_and_report(output, exported.text)
    if script and exported.script:
        display.write_and_report(script, exported.script)
    if as_json or not output:
        display.result(exported, as_json, lambda: exported.text.rstrip("\n"))


def file_of(file: Path) -> "ConfigFile":
    """A file of the upstream tool. Raises ConfigError if it cannot be read."""
    from aisbench_core.upstream.configs.contents import ConfigFile
    from aisbench_core.upstream.configs.source import MOST_BYTES

    try:
        with file.open("rb") as opened:
            return ConfigFile(file.name, opened.read(MOST_BYTES + 1))  # one more, so that larger files are refused
    except OSError as error:
        raise ConfigError(Message("{file} cannot be read: {why}", file=file, why=error.strerror)) from None


def store(core: "Core", imported: "ImportedConfig", options: Mapping[str, Any]) -> None:
    """Store what the options ask for. Raises ConfigError before anything is stored if a part of it is missing."""
    check_store(imported, options)
    profile, output, replace = imported.profile, options["output"], options["replace"]
    if options["save_profile"] and profile:
        new = core.configs.save_profile(profile, actor(), replace)
        display.message(f"profile {profile.name} {'written' if new else 'already exists'}")
    if options["save_keys"] and profile and imported.keys:
        new = core.configs.save_keys(profile.name, imported.keys, actor(), replace)
        display.message(f"keys of {profile.name} {'written' if new else 'already exist'}")
    if output:
        display.write_and_report(output, yaml_of(imported.specs[0].spec, imported.specs[0].comments))


def check_store(imported: "ImportedConfig", options: Mapping[str, Any]) -> None:
    """Raise ConfigError if the options ask for something that was not found."""
    if options["output"] and len(imported.specs) != 1:
        raise ConfigError(
            Message("the file contains {count} specs, but only one can be written", count=len(imported.specs)),
            Message("choose one with --job v1 or v2"),
        )
    if (options["save_profile"] or options["save_keys"]) and not imported.profile:
        raise ConfigError(Message("the file does not contain enough for a profile"), Message("see the findings"))
    if options["save_keys"] and not imported.keys:
        raise ConfigError(Message("the file contains no keys"))


def config_json(imported: "ImportedConfig") -> dict[str, Any]:
    """An imported configuration for JSON; keys are never printed."""
    keys = "found" if imported.keys else "none"  # never the keys themselves
    return {"profile": imported.profile, "keys": keys, "specs": imported.specs, "findings": imported.findings}


def config_text(imported: "ImportedConfig") -> str:
    blocks = [(spec.source or "spec", yaml_of(spec.spec, spec.comments).rstrip()) for spec in imported.specs]
    if imported.profile:
        values = imported.profile.model_dump(mode="json", exclude_defaults=True).items()
        keys = [("keys", MASK)] if imported.keys else []
        blocks.insert(0, ("profile", display.fields(*((key, str(value)) for key, value in values), *keys)))
    return "\n\n".join(f"{head}\n{display.indented(text)}" for head, text in blocks) or "nothing found"

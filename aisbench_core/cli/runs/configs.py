"""`aisbench config`: configurations of the upstream tool, in and out."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core, open_core_for_reading, profile_option, usual_rights
from aisbench_core.cli.runs.spec_options import Typed, absolute, comments_in, on_all_cards, read_spec, spec_options
from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message

if TYPE_CHECKING:
    from aisbench_core.authoring.upstream.found import ConfigFile, FoundSpec, ImportedConfig, LineFinding
    from aisbench_core.core import Core

MASK = "••••"


@click.group()
def config() -> None:
    """Read and write modelarts_config.py, the configuration of ais-bench-stubs."""


@config.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--workload", default="", metavar="NAME", help="The workload, when the file does not tell.")
@click.option("--framework-version", default="", metavar="V", help="Framework version, when the file does not tell.")
@click.option("--package", default="", metavar="NAME", help="Name of the package; default: the folders of FILE tell.")
@click.option("--code-dir", default="", metavar="DIR", help="The training code on this machine.")
@click.option("--name", "profile", default="", metavar="NAME", help="Name of the profile; default: its region's.")
@click.option("--job", type=click.Choice(["v1", "v2"]), help="Only session_config (v1) or session_config_v2 (v2).")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="SPEC.yaml", help="Write the spec to a file.")
@click.option("--save-profile", is_flag=True, help="Write the profile to data/profiles/.")
@click.option("--save-keys", is_flag=True, help="Write the file's keys to data/credentials.yaml, mode 0600.")
@click.option("--replace", is_flag=True, help="Replace a profile or keys of the same name.")
@as_json
def read(files: Sequence[Path], job: str | None, as_json: bool, **options: Any) -> None:
    """Show what a modelarts_config.py means here, with its config.sh and ma-pre-start.sh if they are given.

    The file is read as data and never executed. Nothing is stored unless an option says so, and keys are only ever
    written to the credentials file. Exits with 2, and stores nothing, when a finding is an error.
    """
    from aisbench_core.authoring.upstream.found import Hints
    from aisbench_core.model import Api

    core = (open_core if options["save_profile"] or options["save_keys"] else open_core_for_reading)()
    hints = Hints(
        options["workload"],
        options["framework_version"],
        options["package"] or str(files[0].absolute()),
        absolute(options["code_dir"], Path.cwd()) if options["code_dir"] else "",
        options["profile"],
    )
    found = core.configs.understand(core.configs.read([file_of(file) for file in files]), hints)
    if job:
        found = found.only(Api(job))
    elif options["output"] and found.api in {spec.spec.api for spec in found.specs}:
        found = found.only(found.api)  # one file is for one interface: the one that config.sh names
    shown.answer(found_answers(found), as_json, lambda: found_text(found))
    talk_about(found.findings)
    if found.has_errors:
        click.get_current_context().exit(2)
    store(core, found, options)


@config.command("export")
@spec_options
@profile_option
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write here instead of stdout.")
@click.option(
    "--script", type=click.Path(path_type=Path), metavar="FILE", help="Write ma-pre-start.sh here, if it is needed."
)
@as_json
def write(profile: str, output: Path | None, script: Path | None, as_json: bool, **typed: Any) -> None:
    """Write a spec as a modelarts_config.py that ais-bench-stubs accepts; its keys are left empty.

    Everything that manifest and profile decide is filled in, unless the spec was imported: then nothing is added. What
    has no place in the file is said.
    """
    core = open_core_for_reading()
    spec = on_all_cards(core, read_spec(Typed(**typed), core), profile, lambda _: ())
    exported = core.configs.write(spec, core.regions.profile(profile).name, comments_in(typed["source"]))
    talk_about(exported.findings)
    if output:
        write_file(output, exported.text)
        shown.talk(f"written: {output}")
    if script and exported.script:
        write_file(script, exported.script)
        shown.talk(f"written: {script}")
    if as_json or not output:
        shown.answer(exported, as_json, lambda: exported.text.rstrip("\n"))


def file_of(file: Path) -> "ConfigFile":
    """A file of the upstream tool, cut off where no such file goes on. Raises ConfigError."""
    from aisbench_core.authoring.upstream.found import ConfigFile
    from aisbench_core.authoring.upstream.source import MOST_BYTES

    try:
        with file.open("rb") as opened:
            return ConfigFile(file.name, opened.read(MOST_BYTES + 1))
    except OSError as error:
        raise ConfigError(Message("{file} cannot be read: {why}", file=file, why=error.strerror)) from None


def write_file(file: Path, text: str) -> None:
    """Write an answer where the person wants it. Raises ConfigError."""
    try:
        with usual_rights():
            file.write_text(text, "utf-8")
    except OSError as error:
        raise ConfigError(Message("{file} cannot be written: {why}", file=file, why=error.strerror)) from None


def store(core: "Core", found: "ImportedConfig", options: Mapping[str, Any]) -> None:
    """Do what the options ask for; whatever is asked for and not there is an error before anything is stored."""
    check_store(found, options)
    output, replace = options["output"], options["replace"]
    if options["save_profile"] and found.profile:
        new = core.configs.save_profile(found.profile, replace)
        shown.talk(f"profile {found.profile.name} {'written' if new else 'is there already'}")
    if options["save_keys"] and found.profile and found.keys:
        new = core.configs.save_keys(found.profile.name, found.keys, replace)
        shown.talk(f"keys of {found.profile.name} {'written' if new else 'are there already'}")
    if output:
        write_file(output, _yaml(found.specs[0]))
        shown.talk(f"written: {output}")


def check_store(found: "ImportedConfig", options: Mapping[str, Any]) -> None:
    """Raise ConfigError if the options ask for something that is not there."""
    if options["output"] and len(found.specs) != 1:
        raise ConfigError(
            Message("{count} specs were found, and one file is named", count=len(found.specs)),
            Message("choose one with --job v1 or v2"),
        )
    if (options["save_profile"] or options["save_keys"]) and not found.profile:
        raise ConfigError(Message("no profile can be made of this file"), Message("see the findings"))
    if options["save_keys"] and not found.keys:
        raise ConfigError(Message("there are no keys in this file"))


def found_answers(found: "ImportedConfig") -> dict[str, Any]:
    """What a configuration means, for an answer in JSON."""
    keys = "found" if found.keys else "none"
    return {"profile": found.profile, "keys": keys, "specs": found.specs, "findings": found.findings}


def found_text(found: "ImportedConfig") -> str:
    """The same for a person."""
    blocks = []
    if found.profile:
        facts = found.profile.model_dump(mode="json", exclude_defaults=True).items()
        keys = [("keys", MASK)] if found.keys else []
        blocks.append(
            "profile\n" + shown.indented(shown.listing([*((key, str(value)) for key, value in facts), *keys]))
        )
    blocks += [f"{spec.source or 'spec'}\n{shown.indented(_yaml(spec).rstrip())}" for spec in found.specs]
    return "\n\n".join(blocks) or "nothing was found"


def _yaml(found: "FoundSpec") -> str:
    from aisbench_core.authoring.specfile import to_yaml

    return to_yaml(found.spec, found.comments)


def talk_about(findings: "Sequence[LineFinding]") -> None:
    """Say the findings, with their lines."""
    for finding in findings:
        where = f"line {finding.line}: " if finding.line else ""
        hint = f" ({finding.hint})" if finding.hint else ""
        shown.talk(f"{finding.level}: {where}{finding.field}: {finding.message}{hint} [{finding.rule}]")

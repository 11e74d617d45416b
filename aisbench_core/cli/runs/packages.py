"""`aisbench workload`: custom workloads from packages of the upstream tool."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from aisbench_core import formats
from aisbench_core.cli import display
from aisbench_core.cli.core import actor, open_core
from aisbench_core.cli.exit_codes import YOUR_INPUT
from aisbench_core.cli.options import as_json, import_options
from aisbench_core.cli.runs.configs import check_store, config_json, config_text, store

if TYPE_CHECKING:
    from aisbench_core.model import Flavor
    from aisbench_core.upstream.configs.contents import ImportedConfig
    from aisbench_core.upstream.packages.package import Package, PackagedWorkload
    from aisbench_core.wiring import Core


@click.group()
def workload() -> None:
    """Create custom workloads; `aisbench workloads` lists all workloads."""


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
@as_json
def read(path: str, job: str | None, dry_run: bool, as_json: bool, **options: Any) -> None:
    """Create a workload from a package (….tar.gz) of ais-bench-stubs, or from an unpacked one.

    The code becomes a workload in data/workloads/. The configuration becomes a profile and specs, as with `config
    import`; they are stored only if an option says so. Nothing in the package is executed. If a finding is an error,
    nothing is stored and the exit code is 2. Importing the same package again creates nothing new.
    """
    core = open_core(writing=True)
    package = core.packages.open(path)
    made = None
    try:
        described = _described(core, package, job, options)
        imported = described.imported
        display.findings(described.findings)
        failed = imported.has_errors or described.workload is None
        if not (failed or dry_run):
            check_store(imported, options)  # before the workload is stored: all or nothing
            made = core.packages.make(package, described, actor())
    finally:
        core.packages.drop(package)  # its code is unpacked in data/, up to gigabytes
    name = made.name if made else described.name if described.workload else ""
    answer = {"workload": name, "new": bool(made and made.new), "package": package.name, **config_json(imported)}
    display.result(answer, as_json, lambda: _text(package, name, imported))
    if failed:
        click.get_current_context().exit(YOUR_INPUT)
    if made:
        display.message(f"workload {made.name} {'created' if made.new else 'already exists, with the same code'}")
        store(core, imported, options)


def _described(core: "Core", package: "Package", job: str | None, options: dict[str, Any]) -> "PackagedWorkload":
    from dataclasses import replace

    from aisbench_core.model import Api
    from aisbench_core.upstream.packages.package import Answers

    saves_profile = bool(options["save_profile"] or options["save_keys"])
    profile = options["profile"] if saves_profile else ""
    answers = Answers(options["name"], options["boot_file"], options["engine_version"], profile)
    described = core.packages.describe(package, answers, *_flavors(core, options["profile"], saves_profile))
    return replace(described, imported=described.imported.only(Api(job))) if job else described


def _flavors(core: "Core", profile: str, may_be_new: bool) -> "tuple[Sequence[Flavor], str]":
    """The region's flavors, and the profile's own; empty while there is no profile yet."""
    if profile not in core.regions.names() and (may_be_new or not profile):
        profile = core.settings.profile
    if profile not in core.regions.names() and profile == core.settings.profile:
        return (), ""
    # Without a region the check of flavors is left out.
    return core.regions.flavors_if_reachable(profile), core.regions.profile(profile).flavor


def _text(package: "Package", name: str, imported: "ImportedConfig") -> str:
    pairs = [("name", name or formats.MISSING), ("code", f"{package.entries:,} files, {formats.size(package.size)}")]
    if package.name:
        pairs += [
            ("company", package.name.company),
            ("architecture", package.name.architecture),
            ("version", package.name.framework_version),
        ]
    return f"workload\n{display.indented(display.fields(*pairs))}\n\n{config_text(imported)}"

"""`aisbench workload`: workloads of one's own, from packages of the upstream tool."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aisbench_core import formats
from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core
from aisbench_core.cli.runs.configs import check_store, found_answers, found_text, store, talk_about

if TYPE_CHECKING:
    from aisbench_core.authoring.packages.package import Made, Package, PackagedWorkload
    from aisbench_core.authoring.upstream.found import ImportedConfig
    from aisbench_core.core import Core
    from aisbench_core.model import Flavor


@click.group()
def workload() -> None:
    """Make workloads of your own; `aisbench workloads` lists all of them."""


@workload.command("import")
@click.argument("place", metavar="PACKAGE|FOLDER", type=click.Path())
@click.option("--name", default="", metavar="NAME", help="Name of the workload; default: workload and version.")
@click.option("--boot-file", default="", metavar="FILE", help="Boot file in code/code, when nothing tells it.")
@click.option("--engine-version", default="", metavar="V", help="Preset image, when nothing tells it.")
@click.option(
    "--profile",
    default="",
    metavar="NAME",
    help="Whose flavors it must fit; default: the settings' profile. Also the name for --save-profile.",
)
@click.option("--job", type=click.Choice(["v1", "v2"]), help="Only session_config (v1) or session_config_v2 (v2).")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="SPEC.yaml", help="Write the spec to a file.")
@click.option("--save-profile", is_flag=True, help="Write the configuration's profile to data/profiles/.")
@click.option("--save-keys", is_flag=True, help="Write the configuration's keys to data/credentials.yaml, mode 0600.")
@click.option("--replace", is_flag=True, help="Replace a profile or keys of the same name.")
@click.option("--dry-run", is_flag=True, help="Show what was found; keep nothing.")
@as_json
def read(place: str, job: str | None, dry_run: bool, as_json: bool, **options: Any) -> None:
    """Make a workload of a package (….tar.gz) of ais-bench-stubs, or of one that is unpacked.

    Its code becomes a workload in data/workloads/, its configuration a profile and specs, as with `config import`: they
    are only kept when an option says so. Nothing of it is executed. Exits with 2, and keeps nothing, when a finding is
    an error. The same package makes the same workload.
    """
    core = open_core()
    package = core.packages.open(place)
    try:
        described = _described(core, package, job, options)
        found = described.imported
        talk_about(described.findings)
        failed = found.has_errors or described.workload is None
        made = None if failed or dry_run else _made(core, package, described, options)
    finally:
        core.packages.drop(package)
    name = made.name if made else described.name if described.workload else ""
    answers = {"workload": name, "new": bool(made and made.new), "package": package.name, **found_answers(found)}
    shown.answer(answers, as_json, lambda: _text(package, name, found))
    if failed:
        click.get_current_context().exit(2)
    if made:
        shown.talk(f"workload {made.name} {'made' if made.new else 'is there already: it was made of the same code'}")
        store(core, found, options)


def _described(core: "Core", package: "Package", job: str | None, options: dict[str, Any]) -> "PackagedWorkload":
    from dataclasses import replace

    from aisbench_core.authoring.packages.package import Answers
    from aisbench_core.model import Api

    naming = options["save_profile"] or options["save_keys"]
    answers = Answers(
        options["name"], options["boot_file"], options["engine_version"], options["profile"] if naming else ""
    )
    described = core.packages.describe(package, answers, *_region(core, options["profile"], bool(naming)))
    return replace(described, imported=described.imported.only(Api(job))) if job else described


def _made(core: "Core", package: "Package", described: "PackagedWorkload", options: dict[str, Any]) -> "Made":
    """The workload, once it is sure that what else was asked for can be done, too."""
    check_store(described.imported, options)
    return core.packages.make(package, described)


def _region(core: "Core", profile: str, may_be_new: bool) -> "tuple[Sequence[Flavor], str]":
    """The region's flavors, and the one of its profile; nothing while there is no profile yet."""
    if profile not in core.regions.names() and (may_be_new or not profile):
        profile = core.settings.profile
    if profile not in core.regions.names() and profile == core.settings.profile:
        return (), ""
    return core.regions.flavors_if_reachable(profile), core.regions.profile(profile).flavor


def _text(package: "Package", name: str, found: "ImportedConfig") -> str:
    facts = [("name", name or formats.MISSING), ("code", f"{package.entries:,} files, {formats.size(package.size)}")]
    if package.name:
        facts += [
            ("company", package.name.company),
            ("architecture", package.name.architecture),
            ("version", package.name.framework_version),
        ]
    return f"workload\n{shown.indented(shown.listing(facts))}\n\n{found_text(found)}"

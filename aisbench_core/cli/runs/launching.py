"""`aisbench run`, `preflight` and `spec`: from a workload or a file to a run."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core, open_core_for_reading, profile_option, user
from aisbench_core.cli.runs import following
from aisbench_core.cli.runs.runs import result_text
from aisbench_core.cli.runs.spec_options import Typed, on_all_cards, read_spec, spec_options

if TYPE_CHECKING:
    from aisbench_core.core import Core
    from aisbench_core.model import Finding, Flavor, Run, RunSpec


@click.command()
@spec_options
@profile_option
@click.option("--wait", is_flag=True, help="Wait for the end, and follow the run if nobody else does.")
@click.option("--follow", "with_log", is_flag=True, help="Wait, and print the first node's log to stderr.")
@click.option("--dry-run", is_flag=True, help="Print the filled spec and the findings; launch nothing.")
@as_json
def run(profile: str, wait: bool, with_log: bool, dry_run: bool, as_json: bool, **typed: Any) -> None:
    """Launch a run and print its id.

    With --wait or --follow the command ends when the run does, and exits with 4 unless it was completed. Ctrl-C stops
    the waiting, not the run.
    """
    core = (open_core_for_reading if dry_run else open_core)()
    spec = on_all_cards(core, read_spec(Typed(**typed), core), profile, core.regions.flavors)
    if dry_run:
        _dry_run(core, spec, profile, as_json)
        return
    launched = _launch(core, spec, profile)
    if wait or with_log:
        _see_to_its_end(core, launched, with_log, as_json)
        return
    shown.answer({"run": launched, "result": None}, as_json, lambda: launched.run_id)
    following.say_who_follows(core)


@click.command()
@spec_options
@profile_option
@click.option("--online", is_flag=True, help="Ask the region too: bucket, inputs, outputs, flavor, engine, pool.")
@click.option("--fix", is_flag=True, help="Print the spec as YAML with every fix that the findings propose.")
@as_json
def preflight(profile: str, online: bool, fix: bool, as_json: bool, **typed: Any) -> None:
    """Print what is wrong with a spec; exit code 2 if a launch would be refused.

    With --fix the mended spec is printed instead and the findings go to stderr; the exit code is that of the mended
    spec, looked at without the region.
    """
    core = open_core_for_reading()
    known = core.regions.flavors if online else _unknown
    spec = on_all_cards(core, read_spec(Typed(**typed), core), profile, known)
    findings = core.preflight(spec, profile)
    if online:
        findings = [*findings, *_asked_online(core, spec, profile)]
    if fix:
        _print_fixed(core, spec, profile, findings)
        return
    shown.answer(findings, as_json, lambda: "\n".join(map(shown.finding, findings)) or "nothing was found")
    _end_with(findings)


@click.command()
@spec_options
def spec(**typed: Any) -> None:
    """Print a spec as YAML, with everything that the workload's manifest decides filled in."""
    from aisbench_core.authoring.specfile import to_yaml

    core = open_core_for_reading()
    click.echo(to_yaml(core.filled(read_spec(Typed(**typed), core))), nl=False)


def _asked_online(core: "Core", spec: "RunSpec", profile: str) -> "list[Finding]":
    hidden = not sys.stderr.isatty()
    with click.progressbar(length=1, label="asking the region", file=sys.stderr, hidden=hidden) as bar:

        def show(answered: int, asked: int) -> None:
            bar.length = asked
            bar.update(answered - bar.pos)

        return core.preflight_online(spec, profile, show)


def _print_fixed(core: "Core", spec: "RunSpec", profile: str, findings: "list[Finding]") -> None:
    from aisbench_core.authoring.fixes import fixed
    from aisbench_core.authoring.specfile import to_yaml

    for finding in findings:
        shown.talk(shown.finding(finding) + (" – mended" if finding.fix else ""))
    mended = fixed(spec, findings)
    click.echo(to_yaml(mended), nl=False)
    _end_with(core.preflight(mended, profile))


def _unknown(_: str) -> "Sequence[Flavor]":
    return ()


def _dry_run(core: "Core", spec: "RunSpec", profile: str, as_json: bool) -> None:
    from aisbench_core.authoring.specfile import to_yaml

    findings = core.preflight(spec, profile)
    for finding in findings:
        shown.talk(shown.finding(finding))
    if not any(finding.rule.startswith("workload.") for finding in findings):
        filled = core.filled(spec)
        shown.answer({"spec": filled, "findings": findings}, as_json, lambda: to_yaml(filled).rstrip("\n"))
    _end_with(findings)


def _launch(core: "Core", spec: "RunSpec", profile: str) -> "Run":
    for found in core.preflight(spec, profile):
        if found.level != "error":  # the errors are what `launch` refuses with
            shown.talk(shown.finding(found))
    return core.launch(spec, profile, user())


def _see_to_its_end(core: "Core", launched: "Run", with_log: bool, as_json: bool) -> None:
    if not as_json:
        click.echo(launched.run_id)
    ended = following.wait_for(core, launched, with_log)
    result = core.warehouse.run(ended.run_id)
    if as_json:
        click.echo(shown.to_json({"run": ended, "result": result}))
    elif result:
        shown.talk(result_text(result))
    following.end_with(ended)


def _end_with(findings: "list[Finding]") -> None:
    if any(finding.level == "error" for finding in findings):
        click.get_current_context().exit(2)

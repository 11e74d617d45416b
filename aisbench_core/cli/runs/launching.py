"""`aisbench run`, `preflight` and `spec`: from a workload or a file to a run."""

import sys
from typing import TYPE_CHECKING, Any

import click

from aisbench_core.cli import display
from aisbench_core.cli.core import actor, open_core
from aisbench_core.cli.exit_codes import YOUR_INPUT
from aisbench_core.cli.options import as_json, profile_option
from aisbench_core.cli.runs import following
from aisbench_core.cli.runs.runs import result_text
from aisbench_core.cli.runs.spec_options import SpecArguments, on_all_cards, read_spec, spec_options, yaml_of

if TYPE_CHECKING:
    from aisbench_core.model import Finding, Run, RunSpec
    from aisbench_core.wiring import Core


@click.command()
@spec_options
@profile_option
@click.option("--wait", is_flag=True, help="Wait until the run ends, and follow it if no follower is active.")
@click.option("--follow", "with_log", is_flag=True, help="Like --wait, and print the first node's log to stderr.")
@click.option("--dry-run", is_flag=True, help="Print the complete spec and the findings; launch nothing.")
@as_json
def run(profile: str, wait: bool, with_log: bool, dry_run: bool, as_json: bool, **arguments: Any) -> None:
    """Launch a run and print its id.

    With --wait or --follow, the command returns when the run has ended; the exit code is 4 unless it was completed.
    Ctrl-C stops waiting, not the run.
    """
    core = open_core(writing=not dry_run)
    spec = on_all_cards(core, read_spec(SpecArguments(**arguments), core), profile, core.regions.flavors)
    if dry_run:
        _dry_run(core, spec, profile, as_json)
        return
    # `launch` refuses a spec with errors, and prints them then.
    display.findings(finding for finding in core.preflight.offline(spec, profile) if finding.level != "error")
    launched = core.runs.launch(spec, profile, actor())
    if wait or with_log:
        _wait(core, launched, with_log, as_json)
        return
    display.result({"run": launched, "result": None}, as_json, lambda: launched.run_id)
    following.warn_without_follower(core)


@click.command()
@spec_options
@profile_option
@click.option("--online", is_flag=True, help="Also check the region: bucket, inputs, outputs, flavor, engine, pool.")
@click.option("--fix", is_flag=True, help="Print the spec as YAML with all suggested fixes.")
@as_json
def preflight(profile: str, online: bool, fix: bool, as_json: bool, **arguments: Any) -> None:
    """Check a spec; exit code 2 if it could not be launched.

    With --fix, the fixed spec is printed and the findings go to stderr; the exit code is that of an offline check of
    the fixed spec.
    """
    core = open_core(writing=False)
    flavors = core.regions.flavors if online else lambda _: ()
    spec = on_all_cards(core, read_spec(SpecArguments(**arguments), core), profile, flavors)
    findings = core.preflight.offline(spec, profile)
    if online:
        findings = [*findings, *_online_findings(core, spec, profile)]
    if fix:
        _print_fixed(core, spec, profile, findings)
        return
    display.result(findings, as_json, lambda: "\n".join(map(display.finding, findings)) or "no problems found")
    _exit_on_errors(findings)


@click.command()
@spec_options
def spec(**arguments: Any) -> None:
    """Print a spec as YAML, completed with the values of the workload's manifest."""
    core = open_core(writing=False)
    click.echo(yaml_of(core.workloads.filled(read_spec(SpecArguments(**arguments), core))), nl=False)


def _online_findings(core: "Core", spec: "RunSpec", profile: str) -> "list[Finding]":
    hidden = not sys.stderr.isatty()  # a bar would fill the logs of CI
    with click.progressbar(length=1, label="checking the region", file=sys.stderr, hidden=hidden) as bar:

        def show(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        return core.preflight.online(spec, profile, show)


def _print_fixed(core: "Core", spec: "RunSpec", profile: str, findings: "list[Finding]") -> None:
    from aisbench_core.preflight.fixes import fixed

    for finding in findings:
        display.message(display.finding(finding) + (" – fixed" if finding.fix else ""))
    fixed_spec = fixed(spec, findings)
    click.echo(yaml_of(fixed_spec), nl=False)
    _exit_on_errors(core.preflight.offline(fixed_spec, profile))


def _dry_run(core: "Core", spec: "RunSpec", profile: str, as_json: bool) -> None:
    findings = core.preflight.offline(spec, profile)
    display.findings(findings)
    # Without a usable workload there is no manifest to complete the spec.
    if not any(finding.rule.startswith("workload.") for finding in findings):
        filled = core.workloads.filled(spec)  # shows what the manifest adds
        display.result({"spec": filled, "findings": findings}, as_json, lambda: yaml_of(filled).rstrip("\n"))
    _exit_on_errors(findings)


def _wait(core: "Core", launched: "Run", with_log: bool, as_json: bool) -> None:
    if not as_json:
        click.echo(launched.run_id)  # before the wait, so that scripts and users can use it
    ended = following.wait_for(core, launched, with_log)
    result = core.warehouse.run(ended.run_id)
    if as_json:
        click.echo(display.to_json({"run": ended, "result": result}))
    elif result:
        display.message(result_text(result))
    following.end_with(ended)


def _exit_on_errors(findings: "list[Finding]") -> None:
    if any(finding.level == "error" for finding in findings):
        click.get_current_context().exit(YOUR_INPUT)

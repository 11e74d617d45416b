"""`aisbench run`, `preflight`, `spec`, `clone`, `diff` and `reproduce`: from a workload, a file or a run to a run."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aisbench_core.base import formats
from aisbench_core.domain.preflight.fixes import apply_fixes
from aisbench_core.interfaces.cli import display, following
from aisbench_core.interfaces.cli.core import get_actor, launch_key, open_core
from aisbench_core.interfaces.cli.exit_codes import DIFFERENT, YOUR_INPUT
from aisbench_core.interfaces.cli.options import (
    command,
    file_spec,
    output_option,
    profile_option,
    read_spec,
    spec_on_all_cards,
    spec_options,
    yaml_of,
)
from aisbench_core.interfaces.cli.remote.paths import SPEC_FILES, SpecSource
from aisbench_core.interfaces.cli.results.expectations import expected_text
from aisbench_core.interfaces.cli.results.results import full_id, result_text
from aisbench_core.model import Finding, Run, RunSpec, find_differences, unknown_fields

if TYPE_CHECKING:
    from aisbench_core.base.messages import Message
    from aisbench_core.running.reproducing.values import Aspect, Repeated, ReproductionCheck
    from aisbench_core.wiring import Core


@command()
@spec_options
@profile_option
@click.option("--wait", is_flag=True, help="Wait until the run ends, and follow it if no follower is active.")
@click.option("--follow", "with_log", is_flag=True, help="Like --wait, and print the first node's log to stderr.")
@click.option("--dry-run", is_flag=True, help="Print the complete spec and the findings; launch nothing.")
def run(profile: str, wait: bool, with_log: bool, dry_run: bool, as_json: bool, **arguments: Any) -> None:
    """Launch a run and print its id.

    With --wait or --follow, the command returns when the run has ended; the exit code is 4 unless it was completed.
    Ctrl-C stops waiting, not the run. Exit code 9: no budget has room for it, so it is held until somebody approves it.
    """
    core = open_core(writing=not dry_run)
    spec = spec_on_all_cards(core, profile, core.regions.flavors, **arguments)
    findings = core.preflight.offline(spec, profile)
    if dry_run:
        display.show_findings(findings)
        # Without a usable workload there is no manifest to complete the spec.
        if not any(finding.rule.startswith("workload.") for finding in findings):
            filled = core.workloads.fill_spec(spec)  # shows what the manifest adds
            held = _warn_if_held(core, filled, profile, findings)
            answer = {"spec": filled, "findings": findings, "held": held}
            display.print_result(answer, as_json, lambda: yaml_of(filled).rstrip("\n"))
        _exit_on_errors(findings)
        return
    # `launch` refuses a spec with errors, and prints them then.
    display.show_findings(finding for finding in findings if finding.level != "error")
    launched = core.runs.launch(spec, profile, get_actor(), launch_key())
    if not (wait or with_log):
        display.print_result({"run": launched, "result": None}, as_json, lambda: launched.run_id)
        following.end_if_held(launched)
        following.warn_without_follower(core)
        return
    if not as_json:
        click.echo(launched.run_id)  # before the wait, so that scripts and users can use it
    ended = following.wait_for(core, launched, with_log)
    result = core.warehouse.runs.find_row(ended.run_id)
    if as_json:
        click.echo(display.to_json({"run": ended, "result": result}))
    elif result:
        display.print_message(result_text(result))
    following.end_with(ended)


@command()
@spec_options
@profile_option
@click.option("--online", is_flag=True, help="Also check the region: bucket, inputs, outputs, flavor, engine, pool.")
@click.option("--fix", is_flag=True, help="Print the spec as YAML with all suggested fixes.")
def preflight(profile: str, online: bool, fix: bool, as_json: bool, **arguments: Any) -> None:
    """Check a spec; exit code 2 if it could not be launched.

    With --fix, the fixed spec is printed and the findings go to stderr; the exit code is that of an offline check of
    the fixed spec.
    """
    core = open_core(writing=False)
    flavors = core.regions.flavors if online else lambda _: ()
    spec = spec_on_all_cards(core, profile, flavors, **arguments)
    findings = core.preflight.offline(spec, profile)
    if online:
        findings = [*findings, *_online_findings(core, spec, profile)]
    if not fix:
        display.print_result(
            findings, as_json, lambda: "\n".join(map(display.format_finding, findings)) or "no problems found"
        )
        if expected := core.expectations.find_of_spec(spec, profile):
            display.print_message(expected_text(expected))
        _warn_if_held(core, spec, profile, findings)
        _exit_on_errors(findings)
        return
    for finding in findings:
        display.print_message(display.format_finding(finding) + (" – fixed" if finding.fix else ""))
    fixed_spec = apply_fixes(spec, findings)
    click.echo(yaml_of(fixed_spec), nl=False)
    _exit_on_errors(core.preflight.offline(fixed_spec, profile))


@command()
@spec_options
def spec(**arguments: Any) -> None:
    """Print a spec as YAML, completed with the values of the workload's manifest."""
    core = open_core(writing=False)
    click.echo(yaml_of(core.workloads.fill_spec(read_spec(core, **arguments))), nl=False)


def _online_findings(core: Core, spec: RunSpec, profile: str) -> list[Finding]:
    hidden = not sys.stderr.isatty()  # a bar would fill the logs of CI
    with click.progressbar(length=1, label="checking the region", file=sys.stderr, hidden=hidden) as bar:

        def show(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        return core.preflight.online(spec, profile, show)


def _warn_if_held(core: Core, spec: RunSpec, profile: str, findings: list[Finding]) -> Message | None:
    """Say why a launch would wait for an approval; None if it would begin, or be refused."""
    if any(finding.level == "error" for finding in findings):
        return None
    reason = core.runs.why_held(spec, profile, get_actor().name)
    if reason:
        display.print_message(f"a launch would wait for approval: {reason}")
    return reason


def _exit_on_errors(findings: list[Finding]) -> None:
    if any(finding.level == "error" for finding in findings):
        click.get_current_context().exit(YOUR_INPUT)


@command()
@output_option
def clone(run_id: str, output: Path | None) -> None:
    """Print the spec of a run, to edit it and launch it with `aisbench run`.

    The spec of an imported run holds only what is known; the missing fields are listed on stderr, and the workload's
    manifest decides them.
    """
    core = open_core(writing=False)
    original = core.clones.original(full_id(core, run_id))
    display.write_text(output, yaml_of(core.clones.spec(original)))
    if unknown := unknown_fields(original.known):
        display.print_message(f"unknown for {original.run_id}: {', '.join(unknown)}")


@command()
@click.argument("first", metavar="RUN|SPEC.yaml", type=SpecSource())
@click.argument("second", metavar="RUN|SPEC.yaml", type=SpecSource())
def diff(first: str, second: str, as_json: bool) -> None:
    """Show the differences between two runs or specs; exit code 7 if there are any.

    A spec is completed by its workload's manifest first. For imported runs only known fields are compared; the others
    are listed on stderr.
    """
    core = open_core(writing=False)
    (before, fields), (after, other_fields) = _known_spec(core, first), _known_spec(core, second)
    compared = fields if other_fields is None else other_fields if fields is None else fields & other_fields
    changed = find_differences(before, after, compared)
    unknown = unknown_fields(compared)
    heads = ("field", display.file_name(first), display.file_name(second))
    rows = [(field.field, display.format_value(field.original), display.format_value(field.now)) for field in changed]
    text = display.format_table(heads, rows) if rows else "no differences"
    display.print_result({"differences": changed, "not_known": unknown}, as_json, lambda: text)
    if unknown:
        display.print_message(f"unknown for one of them, not compared: {', '.join(unknown)}")
    if changed:
        click.get_current_context().exit(DIFFERENT)


def _known_spec(core: Core, name: str) -> tuple[RunSpec, frozenset[str] | None]:
    """The spec of a file or run, and which of its fields are known (None: all)."""
    if name.endswith(SPEC_FILES):
        return core.workloads.fill_spec(
            file_spec(core, name)
        ), None  # as a launch would, or every default were a difference
    original = core.clones.original(full_id(core, name))
    return original.spec, original.known


# Of a value in the table; `--json` has all of it.
MAX_VALUE_WIDTH = 60


@command()
@profile_option
@click.option("--launch", is_flag=True, help="Then launch the run again, even if something differs.")
@click.option("--wait", is_flag=True, help="With --launch: wait until the run ends, and compare the results.")
def reproduce(run_id: str, profile: str, launch: bool, wait: bool, as_json: bool) -> None:
    """Check which inputs of a run are still identical, and optionally run it again.

    Exit code 0: no difference found (unknown inputs are listed); 7: something differs. With --launch --wait: 4 unless
    the run was completed, 7 if something differs or the result is outside the range expected from the original's group.
    The default profile is the original's.
    """
    if wait and not launch:
        raise click.UsageError("--wait requires --launch")
    core = open_core(writing=launch)
    check = core.reproductions.check(full_id(core, run_id), get_actor(), profile)
    if not as_json:
        click.echo(_check_text(check))
    run = _launched_again(core, check, wait, as_json) if launch else None
    result = core.reproductions.result(run.run_id) if run and run.state.is_terminal else None
    if as_json:
        answer = {"original": check.original.run_id, **display.pick_fields(check, "profile", "identical", "aspects")}
        click.echo(display.to_json({**answer, "run": run, "result": _reproduction_json(result) if result else None}))
    elif result:
        click.echo(_reproduction_text(result))
    if run:
        (following.end_with if wait else following.end_if_held)(run)
    # None: something is unknown, nothing differs.
    if check.identical is False or (result and result.is_within is False):
        click.get_current_context().exit(DIFFERENT)


def _launched_again(core: Core, check: ReproductionCheck, wait: bool, as_json: bool) -> Run:
    # A key of its own: every call is a new run.
    run = core.reproductions.launch(check, get_actor(), launch_key() or secrets.token_hex(8))
    if not as_json:
        click.echo(run.run_id)
    if wait:
        return following.wait_for(core, run, with_log=False)
    if run.state != "held":
        following.warn_without_follower(core)
    return run


def _check_text(check: ReproductionCheck) -> str:
    """The aspects as a table, differences first, and their counts below it."""
    order = ["different", "not known", "same"]
    columns: display.Columns[Aspect] = {
        "input": lambda aspect: aspect.name,
        "then": lambda aspect: formats.clip_text(aspect.then, MAX_VALUE_WIDTH),
        "now": lambda aspect: formats.clip_text(aspect.now, MAX_VALUE_WIDTH),
        "state": lambda aspect: str(aspect.sameness),
        "note": lambda aspect: aspect.note,
    }
    table = display.table_of(sorted(check.aspects, key=lambda aspect: order.index(aspect.sameness)), columns)
    states: list[str] = [aspect.sameness for aspect in check.aspects]
    counts = ", ".join(f"{states.count(state)} {state}" for state in reversed(order))
    return f"{table}\n{check.original.run_id} on profile {check.profile}: {counts}"


def _reproduction_json(repeated: Repeated) -> dict[str, Any]:
    ids = {"original": repeated.original.run_id, "run": repeated.run.run_id}
    answer = {**display.as_dict(repeated), **ids, "is_within": repeated.is_within}
    return {("verdict" if name == "comparability" else name): value for name, value in answer.items()}


def _reproduction_text(repeated: Repeated) -> str:
    run, original, unit = repeated.run, repeated.original, repeated.run.throughput_unit
    if repeated.ratio is None:
        why = f": {repeated.comparability}, {', '.join(repeated.not_comparable)}" if repeated.not_comparable else ""
        return f"{run.run_id} cannot be compared with {original.run_id}{why}"
    first, second = (formats.format_number(each.throughput, unit) for each in (original, run))
    sentence = (
        f"{run.run_id}: {second}, {repeated.ratio:.4f} times the {original.run_id}'s {first}; data: {repeated.dataset}"
    )
    runs = display.format_count(repeated.runs, "valid run")
    if repeated.low is None or repeated.high is None:
        return f"{sentence}\n{runs} in the original's group: too few to predict a range"
    position = "within" if repeated.is_within else "outside"
    low, high = formats.format_number(repeated.low), formats.format_number(repeated.high, unit)
    return f"{sentence}\n{position} the range expected from {runs} of the original's group (95 %): {low} to {high}"

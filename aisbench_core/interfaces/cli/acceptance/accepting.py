"""`aisbench accept` and `acceptance`: pools are accepted by a suite, step by step."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import click

from aisbench_core.base.formats import MISSING
from aisbench_core.domain.acceptance.acceptance import Acceptance, AcceptanceState
from aisbench_core.domain.acceptance.node_rule import NodeVerdict
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.acceptance.commands import format_plan, parse_references, reference_option
from aisbench_core.interfaces.cli.core import get_actor, launch_key, open_core
from aisbench_core.interfaces.cli.exit_codes import NOT_ENOUGH_DATA, NOT_VALID, RUN_FAILED
from aisbench_core.interfaces.cli.following import POLL_SECONDS, follow_meanwhile, warn_without_follower
from aisbench_core.interfaces.cli.options import Group, command, profile_option, yes_option

if TYPE_CHECKING:
    from aisbench_core.running.accepting.judging import StepProgress
    from aisbench_core.running.accepting.service import AcceptanceDraft
    from aisbench_core.wiring import Core

REHEARSAL = "rehearsal – no certificate"

EXIT_CODES = {
    AcceptanceState.REFUSED: NOT_VALID,
    AcceptanceState.UNDECIDED: NOT_ENOUGH_DATA,
    AcceptanceState.STOPPED: RUN_FAILED,
}


@command()
@click.argument("suite_id", metavar="SUITE")
@profile_option
@reference_option
@yes_option
@click.option("--wait", is_flag=True, help="Wait for the result, and follow the runs if no follower is active.")
def accept(suite_id: str, profile: str, references: tuple[str, ...], yes: bool, wait: bool, as_json: bool) -> None:
    """Accept a pool by a suite: print the plan with its cost and risks, ask, and launch it.

    The id of the acceptance goes to stdout. With --wait, the exit code is 0 if it is accepted, 8 if it is not, and 6 if
    that is not decided.
    """
    core = open_core(writing=True)
    draft = core.acceptances.plan(suite_id, parse_references(references), profile)
    display.print_message(_format_draft(draft))
    if not yes:
        click.confirm("Launch it?", abort=True, err=True)
    launched = core.acceptances.launch(draft, get_actor(), launch_key())
    if not wait:
        answer = {"acceptance_id": launched.acceptance_id}
        display.print_result(answer, as_json, lambda: launched.acceptance_id)
        warn_without_follower(core)
        return
    ended = _wait_for_acceptance(core, launched.acceptance_id)
    _print_acceptance(core, ended, as_json)
    click.get_current_context().exit(EXIT_CODES.get(ended.state, 0))


acceptance = Group("acceptance", help="List, show and stop acceptances.")


@acceptance.command("list")
def list_acceptances(as_json: bool) -> None:
    """List acceptances, newest first, with what they came to and until when they hold."""
    core = open_core(writing=False)
    listed = core.acceptances.list_newest()
    columns: display.Columns[Acceptance] = {
        "acceptance": lambda one: one.acceptance_id,
        "suite": lambda one: one.plan.suite.id,
        "profile": lambda one: one.profile,
        "state": _describe_state,
        "created": lambda one: display.local_time(one.created_at),
        "by": lambda one: one.created_by,
    }
    answer = [_to_summary(one) for one in listed]
    display.print_result(answer, as_json, lambda: display.table_of(listed, columns))


@acceptance.command("show")
@click.argument("acceptance_id", metavar="ACCEPTANCE")
def show_acceptance(acceptance_id: str, as_json: bool) -> None:
    """Show an acceptance: its steps with intervals, and the nodes that failed first."""
    core = open_core(writing=False)
    _print_acceptance(core, core.acceptances.get(acceptance_id), as_json)


@acceptance.command("stop")
@click.argument("acceptance_id", metavar="ACCEPTANCE")
def stop_acceptance(acceptance_id: str, as_json: bool) -> None:
    """Stop an acceptance and the runs that it has launched."""
    core = open_core(writing=True)
    found = core.acceptances.get(acceptance_id)
    _print_acceptance(core, core.acceptances.stop(found.acceptance_id, get_actor()), as_json)


def _wait_for_acceptance(core: Core, acceptance_id: str) -> Acceptance:
    """The acceptance after its end; what its steps come to goes to stderr."""
    pause, printed = threading.Event(), ""
    with follow_meanwhile(core, f"the acceptance goes on. To stop it: aisbench acceptance stop {acceptance_id}"):
        while True:
            found = core.acceptances.get(acceptance_id)
            text = "\n".join(f"{one.step.name}: {_describe_step(one)}" for one in core.acceptances.show_steps(found))
            if text != printed:
                display.print_message(text)
            printed = text
            if found.state is not AcceptanceState.RUNNING:
                return found
            pause.wait(POLL_SECONDS * 2)


def _print_acceptance(core: Core, found: Acceptance, as_json: bool) -> None:
    steps = core.acceptances.show_steps(found)
    answer = _to_summary(found) | {"steps": [_to_step(one) for one in steps]}
    display.print_result(answer, as_json, lambda: _format_acceptance(found, steps))


def _to_summary(found: Acceptance) -> dict[str, object]:
    names = ("acceptance_id", "profile", "created_at", "created_by", "state", "reason", "ended_at", "valid_until")
    return {
        **display.pick_fields(found, *names),
        "suite": found.plan.suite.id,
        "rehearsal": found.plan.rehearsal,
    }


def _to_step(one: StepProgress) -> dict[str, Any]:
    names = ("verdict", "series_id", "has_ended", "valid", "lost", "speed", "nodes", "reason")
    return {"name": one.step.name, "kind": one.step.kind, "runs": one.step.runs, **display.pick_fields(one, *names)}


def _format_draft(draft: AcceptanceDraft) -> str:
    cost = "no price is known" if draft.cost is None else f"{draft.cost:.2f} {draft.currency}"
    others = [f"{step.name}: at most {step.runs} on {step.spec.node_count} nodes" for step in draft.plan.steps]
    return "\n".join(
        [
            *([REHEARSAL] if draft.plan.rehearsal else []),
            format_plan(draft.plan.suite, [step.measured for step in draft.plan.steps if step.measured]),
            "",
            f"runs, in this order: {'; '.join(others)}",
            f"at most {draft.plan.node_hours:.4g} node hours, cost: {cost}",
        ]
    )


def _format_acceptance(found: Acceptance, steps: list[StepProgress]) -> str:
    columns: display.Columns[StepProgress] = {
        "step": lambda one: one.step.name,
        "verdict": lambda one: str(one.verdict.label),
        ">valid": lambda one: f"{one.valid} of {one.step.runs}",
        ">lost": lambda one: str(one.lost),
        ">interval": _format_interval,
        "series": lambda one: one.series_id or MISSING,
        "details": lambda one: str(one.reason),
    }
    slow = [
        (name, f"{node.ratio:.1%}")
        for one in steps
        for name, node in sorted(one.nodes.items(), key=lambda item: item[1].ratio)
        if node.verdict is NodeVerdict.SLOW
    ]
    table = ["", display.format_table(("slow node", ">of the median"), slow)] if slow else []
    return "\n".join([_describe_state(found), str(found.reason), *table, "", display.table_of(steps, columns)])


def _describe_state(found: Acceptance) -> str:
    until = f" until {found.valid_until:%Y-%m-%d}" if found.valid_until else ""
    return f"{found.state.label}{until}" + (f" ({REHEARSAL})" if found.plan.rehearsal else "")


def _describe_step(one: StepProgress) -> str:
    if not one.series_id:
        return "waiting"
    return f"{one.verdict.label}, {one.valid} of {one.step.runs} valid, {_format_interval(one)} {one.reason}".rstrip()


def _format_interval(one: StepProgress) -> str:
    speed = one.speed
    if speed is None or speed.lower is None or speed.upper is None:
        return MISSING
    return f"{speed.lower:.1%} to {speed.upper:.1%}"

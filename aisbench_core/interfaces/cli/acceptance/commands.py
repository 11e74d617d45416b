"""`aisbench suite`: by what a pool is accepted, and with which risks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from aisbench_core.base.errors import ConfigError, SpecError
from aisbench_core.domain.acceptance.plan import MeasuredStep, plan_measured_steps
from aisbench_core.domain.acceptance.suite import Reference, Suite
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import open_core
from aisbench_core.interfaces.cli.exit_codes import OUR_ERROR
from aisbench_core.interfaces.cli.options import Decorator, Group
from aisbench_core.running.accepting.references import find_speed

if TYPE_CHECKING:
    from collections.abc import Mapping

reference_option: Decorator = click.option(
    "--reference",
    "references",
    metavar="NODES=RUN",
    multiple=True,
    help="A run that stands for its configuration, for sizes without a reference. Repeatable.",
)

suite = Group("suite", help="List, print and check suites, by which pools are accepted.\n\nSee docs/acceptance.md.")


@suite.command("list")
@click.pass_context
def list_suites(ctx: click.Context, as_json: bool) -> None:
    """List the shipped suites and those in data/suites.

    If one cannot be used, the reason is printed and the exit code is 1.
    """
    core = open_core(writing=False)
    suites, errors = [], []
    for suite_id in core.acceptances.suites.list_ids():
        try:
            suites.append(core.acceptances.suites.get(suite_id))
        except (ConfigError, SpecError) as error:
            errors.append(error)
    names = ("id", "title", "share", "confidence", "measured", "node_hours")
    columns: display.Columns[Suite] = {
        "suite": lambda suite: suite.id,
        "title": lambda suite: suite.title,
        ">share": lambda suite: f"{suite.share:.1%}",
        ">measured steps": lambda suite: str(suite.measured),
        ">node hours": lambda suite: f"{suite.node_hours:.4g}",
    }
    answer = [display.pick_fields(one, *names) for one in suites]
    display.print_result(answer, as_json, lambda: display.table_of(suites, columns))
    for damaged in errors:
        display.print_message(f"error: {damaged}")
    if errors:
        ctx.exit(OUR_ERROR)


@suite.command("show")
@click.argument("suite_id", metavar="SUITE")
def show_suite(suite_id: str) -> None:
    """Print a suite as YAML. To change it, save it in data/suites."""
    core = open_core(writing=False)
    core.acceptances.suites.get(suite_id)  # refuses a file that cannot be used
    click.echo(core.acceptances.suites.get_text(suite_id), nl=False)


@suite.command("check")
@click.argument("suite_id", metavar="SUITE")
@reference_option
def check_suite(suite_id: str, references: tuple[str, ...], as_json: bool) -> None:
    """Check a suite and print its measured steps with their references and risks; nothing is launched."""
    core = open_core(writing=False)
    chosen = core.acceptances.suites.get(suite_id)
    steps = plan_measured_steps(chosen, partial(find_speed, core.warehouse), parse_references(references))
    answer = {
        **display.pick_fields(chosen, "id", "title", "share", "confidence", "pass_alpha", "fail_alpha", "node_hours"),
        "steps": [
            {**display.as_dict(step), **display.pick_fields(step, "origin", "node_hours", "rates")} for step in steps
        ],
    }
    display.print_result(answer, as_json, lambda: format_plan(chosen, steps))


def parse_references(texts: tuple[str, ...]) -> Mapping[int, Reference]:
    """References by number of nodes, from `NODES=RUN`."""
    named = {}
    for text in texts:
        nodes, _, run_id = text.partition("=")
        if not (nodes.isdecimal() and nodes.isascii() and len(nodes) < 5 and run_id):
            raise click.BadParameter(f"write NODES=RUN, such as 4=20260101-000000-abcd (found {text!r})")
        named[int(nodes)] = Reference(configuration=run_id)
    return named


def format_plan(suite: Suite, steps: list[MeasuredStep]) -> str:
    """Steps and risks, before launch."""
    columns: display.Columns[MeasuredStep] = {
        "step": lambda step: step.name,
        ">runs": lambda step: str(step.looks.runs),
        ">node hours": lambda step: f"{step.node_hours:.4g}",
        ">CV": lambda step: f"{step.looks.cv:.1%}",
        ">reference": lambda step: f"{step.reference.value:.6g}" if step.reference else "–",
        ">±": lambda step: f"{step.reference.uncertainty:.2%}" if step.reference else "–",
        "origin": lambda step: str(step.origin),
    }
    heads = ["true speed", *(f">{step.name} {verdict}" for step in steps for verdict in ("passes", "fails"))]
    rates = [step.rates for step in steps]
    rows = [
        [
            f"{of_truth[0].truth:.1%}",
            *(text for rate in of_truth for text in (f"{rate.passed:.1%}", f"{rate.failed:.1%}")),
        ]
        for of_truth in zip(*rates, strict=True)
    ]
    return "\n".join(
        [
            f"{suite.title}: at least {suite.share:.1%} of the reference, {suite.node_hours:.4g} node hours at most.",
            "",
            display.table_of(steps, columns),
            "",
            "Of 100 acceptances, by the true speed as a share of the reference; the others are not decided:",
            display.format_table(heads, rows),
            "",
            f"The pool passes if all {len(steps)} steps pass: however slow, and in whichever step, it is accepted in"
            f" error in at most {suite.pass_alpha:.1%} of cases; and in as few some step fails that is fast enough.",
        ]
    )

"""Options that plan a series, and the draft that they make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from aisbench_core.base import formats
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.options import (
    Decorator,
    add_assignments,
    base_options,
    choose_value,
    combine_options,
    profile_option,
    spec_on_all_cards,
)
from aisbench_core.model import Objective, Sampler, StopRule
from aisbench_core.running.series.stopping import choose_between

if TYPE_CHECKING:
    from aisbench_core.running.series.planning import SeriesDraft
    from aisbench_core.wiring import Core

LIMITS = ("parallel", "hours_per_run", "budget", "name")
HOW = ("trials", "sampler", "objective", "seed", "early_stop")

_images = click.option(
    "--images", default="", metavar="V,V,…", help="Engine versions, or image addresses if the spec has one."
)
_limits = combine_options(
    click.option(
        "--parallel", type=int, default=1, show_default=True, metavar="N", help="Concurrent jobs of series in the pool."
    ),
    click.option("--hours-per-run", type=float, default=1.0, show_default=True, metavar="H", help="Expected run time."),
    click.option("--budget", type=float, metavar="H", help="Maximum number of node hours; default: no limit."),
    click.option("--name", default="", metavar="TEXT", help="Name of the series."),
)

plan_options: Decorator = combine_options(
    base_options,
    profile_option,
    click.option("--nodes", "node_counts", metavar="N,N,…", help="Node counts; default: the spec's."),
    click.option("--repeats", type=int, metavar="N", help="Runs per row; default: 3, or the most with --until."),
    click.option(
        "--until",
        metavar="RULE",
        help="End early: half-width<1% (of each row's 95 % interval), decided (two rows told apart) or first-slower.",
    ),
    click.option("--versions", default="", metavar="V,V,…", help="Framework versions; default: the spec's."),
    _images,
    add_assignments(
        "--values", "values", form="NAME=V,V,…", help="Values of a hyperparameter, a row for each; can be repeated."
    ),
    add_assignments(
        "--search",
        "search",
        form="NAME=LOW..HIGH",
        help="A range of a hyperparameter to search, `LOW..HIGH log` by ratio, or V,V,…; can be repeated.",
    ),
    click.option("--trials", type=int, metavar="N", help="Runs of a search; default: 12."),
    click.option("--sampler", type=choose_value(Sampler), help="How it chooses values; default: tpe."),
    click.option("--objective", type=choose_value(Objective), help="What it makes best; default: throughput."),
    click.option("--seed", type=int, metavar="N", help="Seed of the sampler; default: 0."),
    click.option("--early-stop", is_flag=True, help="Stop trials of a search that have no hope left."),
    _limits,
)
"""The argument and the options that define the plan of a series."""

bisect_options: Decorator = combine_options(
    base_options,
    profile_option,
    click.option("--good", default="", metavar="V", help="The fast version, or image; default: the first."),
    click.option("--bad", default="", metavar="V", help="The slow version, or image; default: the last."),
    click.option("--versions", default="", metavar="V,V,…", help="From old to new; default: all of the workload."),
    _images,
    click.option("--repeats", type=int, metavar="N", help="The most runs of each; default: 10."),
    _limits,
)
"""Those of a search for the first slower version."""


def plan_draft(core: Core, profile: str, arguments: dict[str, Any]) -> SeriesDraft:
    """The draft that the values of `plan_options` mean, without the profile. Raises ConfigError and SpecError."""
    names = ("node_counts", "repeats", "until", "versions", "images", *LIMITS, *HOW)
    answers = {name: arguments.pop(name, None) for name in names}
    answers |= {name: dict(arguments.pop(name, ())) for name in ("values", "search")}
    spec = spec_on_all_cards(core, profile, core.regions.flavors, **arguments)
    return core.series.plan(spec, answers, profile)


def plan_bisect(core: Core, profile: str, good: str, bad: str, arguments: dict[str, Any]) -> SeriesDraft:
    """The draft of a search for the first slower version from `good` to `bad`. Raises as `plan_draft` does."""
    arguments |= {"until": StopRule.FIRST_SLOWER.value}
    draft = plan_draft(core, profile, {**arguments})
    kind = "images" if draft.plan.images else "versions"
    listed = choose_between(kind, getattr(draft.plan, kind), good, bad)
    return plan_draft(core, profile, {**arguments, kind: ",".join(listed)})


def print_draft(draft: SeriesDraft, *, with_errors: bool) -> None:
    """Print findings and estimate to stderr; the launch itself prints errors, when it refuses the plan."""
    for found in draft.findings:
        if with_errors or found.finding.level != "error":
            rows = "" if found.everywhere else f"{', '.join(row.title for row in found.rows)}: "
            display.print_message(rows + display.format_finding(found.finding))
    estimate = draft.estimate
    cost = "" if estimate.cost is None else f", about {formats.format_money(estimate.cost, estimate.currency)}"
    budget = "" if draft.plan.budget is None else f" of a budget of {draft.plan.budget:g}"
    cells = "trial" if draft.plan.search else "cell"
    most = "at most " if draft.plan.until else ""
    display.print_message(
        f"{most}{display.format_count(estimate.cells, cells)},"
        f" about {estimate.node_hours:.4g} node hours{budget}{cost},"
        f" {estimate.wall_hours:.4g} hours with {draft.plan.parallel} at a time"
    )

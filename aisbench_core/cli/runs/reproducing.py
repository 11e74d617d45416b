"""`aisbench reproduce`: whether a run can be reproduced exactly, the reproduction, and how its result compares."""

import secrets
from typing import TYPE_CHECKING

import click

from aisbench_core import formats
from aisbench_core.cli import display
from aisbench_core.cli.core import actor, open_core
from aisbench_core.cli.exit_codes import DIFFERENT
from aisbench_core.cli.options import as_json, profile_option, run_argument
from aisbench_core.cli.results.results import full_id
from aisbench_core.cli.runs import following

if TYPE_CHECKING:
    from aisbench_core.model import Run
    from aisbench_core.reproducing.values import Aspect, Repeated, ReproductionCheck
    from aisbench_core.wiring import Core

# Of a value in the table; `--json` has all of it.
MAX_VALUE_WIDTH = 60


@click.command()
@run_argument
@profile_option
@click.option("--launch", is_flag=True, help="Then launch the run again, even if something differs.")
@click.option("--wait", is_flag=True, help="With --launch: wait until the run ends, and compare the results.")
@as_json
def reproduce(run_id: str, profile: str, launch: bool, wait: bool, as_json: bool) -> None:
    """Check which inputs of a run are still identical, and optionally launch it again.

    Exit code 0: no difference found (unknown inputs are listed); 7: something differs. With --launch --wait: 4 unless
    the run was completed, 7 if something differs or the result is outside the range expected from the original's group.
    The default profile is the original's.
    """
    if wait and not launch:
        raise click.UsageError("--wait requires --launch")
    core = open_core(writing=launch)
    check = core.reproductions.check(full_id(core, run_id), profile)
    if not as_json:
        click.echo(check_text(check))
    run = _launched(core, check, wait, as_json) if launch else None
    result = core.reproductions.result(run.run_id) if run and run.state.is_terminal else None
    if as_json:
        answer = {"original": check.original.run_id, **display.pick(check, "profile", "identical", "aspects")}
        click.echo(display.to_json(answer | {"run": run, "result": _json(result) if result else None}))
    elif result:
        click.echo(result_text(result))
    if run and wait:
        following.end_with(run)
    # None: something is unknown, nothing differs.
    if check.identical is False or (result and result.is_within is False):
        click.get_current_context().exit(DIFFERENT)


def check_text(check: "ReproductionCheck") -> str:
    """The aspects as a table, differences first, and their counts below it."""
    order = ["different", "not known", "same"]
    columns: display.Columns[Aspect] = {
        "input": lambda aspect: aspect.name,
        "then": lambda aspect: formats.clipped(aspect.then, MAX_VALUE_WIDTH),
        "now": lambda aspect: formats.clipped(aspect.now, MAX_VALUE_WIDTH),
        "state": lambda aspect: str(aspect.sameness),
        "note": lambda aspect: aspect.note,
    }
    table = display.table_of(sorted(check.aspects, key=lambda aspect: order.index(aspect.sameness)), columns)
    states: list[str] = [aspect.sameness for aspect in check.aspects]
    counts = ", ".join(f"{states.count(state)} {state}" for state in reversed(order))
    return f"{table}\n{check.original.run_id} on profile {check.profile}: {counts}"


def result_text(repeated: "Repeated") -> str:
    run, original, unit = repeated.run, repeated.original, repeated.run.throughput_unit
    if repeated.ratio is None:
        why = f": {repeated.verdict}, {', '.join(repeated.not_comparable)}" if repeated.not_comparable else ""
        return f"{run.run_id} cannot be compared with {original.run_id}{why}"
    sentence = (
        f"{run.run_id}: {formats.number(run.throughput, unit)}, {repeated.ratio:.4f} times the {original.run_id}'s "
        f"{formats.number(original.throughput, unit)}; data: {repeated.dataset}"
    )
    runs = display.count(repeated.runs, "valid run")
    if repeated.low is None or repeated.high is None:
        return f"{sentence}\n{runs} in the original's group: too few to predict a range"
    position = "within" if repeated.is_within else "outside"
    low, high = formats.number(repeated.low), formats.number(repeated.high, unit)
    return f"{sentence}\n{position} the range expected from {runs} of the original's group (95 %): {low} to {high}"


def _launched(core: "Core", check: "ReproductionCheck", wait: bool, as_json: bool) -> "Run":
    run = core.reproductions.launch(check, actor(), secrets.token_hex(8))  # a token of its own: every call is a new run
    if not as_json:
        click.echo(run.run_id)
    if wait:
        return following.wait_for(core, run, with_log=False)
    following.warn_without_follower(core)
    return run


def _json(repeated: "Repeated") -> dict[str, object]:
    runs = {"original": repeated.original.run_id, "run": repeated.run.run_id}
    return {**display.as_dict(repeated), **runs, "is_within": repeated.is_within}

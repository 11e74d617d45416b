"""`aisbench reproduce`: what is as it was when a run was made, the same run once more, and how its result compares."""

import secrets
from typing import TYPE_CHECKING

import click

from aisbench_core import formats
from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core, open_core_for_reading, profile_option, user
from aisbench_core.cli.exit_codes import DIFFERENT
from aisbench_core.cli.results.results import full_id
from aisbench_core.cli.runs import following

if TYPE_CHECKING:
    from aisbench_core.core import Core
    from aisbench_core.model import Run
    from aisbench_core.reproducing.values import Repeated, ReproductionCheck

WIDE = 60
"""Letters of a value that a table shows; `--json` has them all."""


@click.command()
@click.argument("run_id", metavar="RUN")
@profile_option
@click.option("--launch", is_flag=True, help="Launch it after that, whatever was found.")
@click.option("--wait", is_flag=True, help="With --launch: wait for the end, and compare the results.")
@as_json
def reproduce(run_id: str, profile: str, launch: bool, wait: bool, as_json: bool) -> None:
    """Say what is identical now and what is not, and launch the run again if asked to.

    Exit code 0: nothing is different (what is not known is named); 7: something is. With --launch --wait: 4 unless the
    run was completed, 7 if something was different or the result is not what the original's group lets expect.
    Default profile: where the original ran.
    """
    if wait and not launch:
        raise click.UsageError("--wait goes with --launch")
    core = (open_core if launch else open_core_for_reading)()
    check = core.reproductions.check(full_id(core, run_id), profile)
    if not as_json:
        click.echo(check_text(check))
    run = _launched(core, check, wait, as_json) if launch else None
    result = core.reproductions.result(run.run_id) if run and run.state.is_terminal else None
    if as_json:
        answer = {"original": check.original.run_id, "profile": check.profile, "identical": check.identical}
        click.echo(shown.to_json({**answer, "aspects": check.aspects, "run": run, "result": _as_json(result)}))
    elif result:
        click.echo(result_text(result))
    if run and wait:
        following.end_with(run)
    if check.identical is False or (result and result.is_within is False):
        click.get_current_context().exit(DIFFERENT)


def check_text(check: "ReproductionCheck") -> str:
    """The aspects as a table, those that are not the same first, and the verdict below it."""
    order = ("different", "not known", "same")
    rows = sorted(check.aspects, key=lambda each: order.index(each.sameness))
    table = shown.table(
        ("what", "then", "now", "verdict", "note"),
        [(row.name, _cut(row.then), _cut(row.now), str(row.sameness), row.note) for row in rows],
    )
    counts = ", ".join(f"{sum(row.sameness == kind for row in rows)} {kind}" for kind in reversed(order))
    return f"{table}\n{check.original.run_id} on profile {check.profile}: {counts}"


def result_text(found: "Repeated") -> str:
    """How the new result compares, in a sentence or two."""
    run, original, unit = found.run, found.original, found.run.throughput_unit
    if found.ratio is None:
        why = f": {found.verdict}, {', '.join(found.not_comparable)}" if found.not_comparable else ""
        return f"{run.run_id} cannot be compared with {original.run_id}{why}"
    sentence = (
        f"{run.run_id}: {formats.number(run.throughput, unit)}, {found.ratio:.4f} times the {original.run_id}'s "
        f"{formats.number(original.throughput, unit)}; data: {found.dataset}"
    )
    if found.low is None or found.high is None:
        return f"{sentence}\n{found.runs} valid run of the original's group: too few to say what is to be expected"
    place = "within" if found.is_within else "outside"
    low, high = formats.number(found.low), formats.number(found.high, unit)
    return f"{sentence}\n{place} what {found.runs} runs of the original's group let expect (95 %): {low} to {high}"


def _launched(core: "Core", check: "ReproductionCheck", wait: bool, as_json: bool) -> "Run":
    run = core.reproductions.launch(check, user(), secrets.token_hex(8))
    if not as_json:
        click.echo(run.run_id)
    if wait:
        return following.wait_for(core, run, with_log=False)
    following.say_who_follows(core)
    return run


def _as_json(found: "Repeated | None") -> dict[str, object] | None:
    if found is None:
        return None
    values = {name: getattr(found, name) for name in found.__dataclass_fields__}
    return {**values, "original": found.original.run_id, "run": found.run.run_id, "is_within": found.is_within}


def _cut(text: str) -> str:
    return text if len(text) <= WIDE else f"{text[: WIDE - 1]}…"

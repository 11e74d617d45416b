"""`aisbench scaling`: how throughput grows with the number of nodes, and what more nodes would bring."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core
from aisbench_core.cli.results import full_id

if TYPE_CHECKING:
    from aisbench_core.statistics.amdahl import Estimate
    from aisbench_core.warehouse import Scaling, ScalingPoint


@click.command()
@click.argument("run_id", metavar="RUN")
@click.option(
    "--at",
    "asked",
    type=click.IntRange(1, 1_000_000),
    multiple=True,
    help="Predict this number of nodes; can be repeated. Default: twice the largest that was measured.",
)
@as_json
def scaling(run_id: str, asked: tuple[int, ...], as_json: bool) -> None:
    """Show throughput, speed-up and efficiency over node counts: what differs from RUN in its node count only.

    From three node counts on, Amdahl's law is fitted: the serial share with its 95 % interval, and what other numbers
    of nodes would bring. Cluster mode only: single servers do not work together.
    """
    core = open_core()
    curve = core.warehouse.scaling_of(full_id(core, run_id))
    predicted = predictions(curve, asked or ((2 * curve.largest,) if curve.points else ()))
    shown.answer({"scaling": curve, "predicted": predicted}, as_json, lambda: _text(curve, predicted))


def predictions(curve: "Scaling", sizes: tuple[int, ...]) -> list[dict[str, object]]:
    """What the law says of other numbers of nodes; nothing where it does not hold."""
    base = curve.base_nodes
    return [
        {"node_count": nodes, "base_nodes": base, "speed_up": found, "extrapolated": nodes > curve.largest}
        for nodes in sizes
        if base and (found := curve.fit.speed_up(nodes, base))
    ]


def _text(curve: "Scaling", predicted: list[dict[str, object]]) -> str:
    if not curve.points:
        return "\n".join(["no valid run in cluster mode: single servers do not work together", *_left_out(curve)])
    law = dict(curve.fit.residuals)
    heads = (">nodes", ">runs", ">median", ">95 % of the mean", ">speed-up", ">ideal", ">efficiency", ">beside the law")
    rows = [_row(point, curve.throughput_unit, law.get(point.node_count)) for point in curve.points]
    return "\n".join([shown.table(heads, rows), "", *_law(curve), *map(_prediction, predicted), *_left_out(curve)])


def _row(point: "ScalingPoint", unit: str, beside: float | None) -> tuple[str, ...]:
    interval = f"{shown.number(point.ci_low)} … {shown.number(point.ci_high)}" if point.ci_low else shown.MISSING
    return (
        str(point.node_count),
        str(point.runs),
        shown.number(point.throughput, unit),
        interval,
        f"{point.speed_up:.3f}",
        f"{point.ideal:.3f}",
        shown.percent(point.efficiency),
        shown.MISSING if beside is None else f"{beside * 100:+.2f} %",
    )


def _law(curve: "Scaling") -> Iterator[str]:
    fit = curve.fit
    if fit.misfit:
        yield f"Amdahl's law: nothing can be said: {fit.misfit}"
    elif fit.serial:
        share = fit.serial
        high = shown.percent(share.high)
        yield f"Amdahl's law: serial share {shown.percent(share.value)}, 95 % {shown.percent(share.low)} … {high}"


def _prediction(found: dict[str, object]) -> str:
    speed_up: Estimate = found["speed_up"]  # type: ignore[assignment]  # see predictions()
    note = ", extrapolated" if found["extrapolated"] else ""
    return (
        f"at {found['node_count']} nodes {speed_up.low:.2f} … {speed_up.high:.2f} times "
        f"the throughput of {found['base_nodes']}, about {speed_up.value:.2f}{note}"
    )


def _left_out(curve: "Scaling") -> Iterator[str]:
    for each in curve.left_out:
        nodes = shown.MISSING if each.node_count is None else each.node_count
        yield f"left out, {each.why}: {each.runs} on nodes: {nodes}"

"""`aisbench scaling`: how throughput grows with the number of nodes, with predictions for more nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from aisbench_core.base import formats
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import open_core
from aisbench_core.interfaces.cli.options import command, metric_option, run_filters
from aisbench_core.interfaces.cli.results.results import full_id, print_other_regions, query_of
from aisbench_core.warehouse.values.scalings import Scaling, ScalingPoint
from aisbench_core.warehouse.values.scalings import describe_systems as distinct_systems

if TYPE_CHECKING:
    from aisbench_core.warehouse.values.runs import BoardQuery
    from aisbench_core.wiring import Core

# Benchmark configurations whose curves are listed; filters choose among more.
MAX_CONFIGURATIONS = 50


@command()
@click.argument("run_id", metavar="[RUN]", default="")
@run_filters
@metric_option
@click.option(
    "--at",
    "node_counts_ahead",
    type=click.IntRange(1, 1_000_000),
    multiple=True,
    help="Predict this number of nodes; can be repeated. Default: twice the largest measured.",
)
def scaling(run_id: str, node_counts_ahead: tuple[int, ...], metric: str, as_json: bool, **filters: Any) -> None:
    """Show throughput, speed-up and efficiency by node count, for runs that differ from RUN in their node count only.

    Without RUN, the filters select: if several curves match, they are listed with a run of each.

    With three node counts or more, Amdahl's law is fitted: the serial share with its 95 % interval, and predictions for
    other node counts. Cluster mode only: single servers do not share work. A metric that is no rate of all ranks has
    neither speed-up nor law.
    """
    if run_id and any(filters.values()):
        raise click.UsageError("RUN selects a curve; filters cannot be used with it")
    core = open_core(writing=False)
    curve = (
        core.warehouse.scaling.find_curve(full_id(core, run_id), metric)
        if run_id
        else _matching_curve(core, filters, metric, as_json)
    )
    if curve is None:
        return
    predicted = predict_speed_up(curve, node_counts_ahead or ((2 * curve.largest,) if curve.points else ()))
    display.print_result({"scaling": curve, "predicted": predicted}, as_json, lambda: _format_curve(curve, predicted))


def _matching_curve(core: Core, filters: dict[str, Any], metric: str, as_json: bool) -> Scaling | None:
    """The curve that matches; if it is not exactly one, print those that do."""
    query = replace(query_of(core, limit=MAX_CONFIGURATIONS, metric=metric, **filters), metric="")
    page = core.warehouse.scaling.list_configurations(query)
    fingerprints = (row.configuration.fingerprint for row in page.rows)
    parameters = core.warehouse.board.find_distinctions(query.region, fingerprints, rehearsal=page.rehearsal)
    matching = [
        (row, curve)
        for row in page.rows
        for curve in core.warehouse.scaling.list_curves(row.configuration, metric)
        if _is_match(curve, query)
    ]
    if len(matching) == 1:
        return matching[0][1]
    systems = distinct_systems(curve.query for _, curve in matching)
    choices = [
        {
            "run_id": curve.points[-1].dots[0].run_id,  # selects the curve: `aisbench scaling RUN`
            "workload": row.workload
            + (" (synthetic data)" if curve.query.synthetic_data else "")
            + _format_origin(curve),
            "parameters": parameters.get(row.configuration.fingerprint, ""),
            "framework_version": curve.query.framework_version,
            "hardware": f"{display.hardware_name(curve.query)} · {curve.query.cards_per_node} cards",
            "node_counts": [point.node_count for point in curve.points],
            "runs": sum(point.runs for point in curve.points),
            "system": systems[curve.query.id],
        }
        for row, curve in matching
    ]
    columns: display.Columns[dict[str, Any]] = {
        "run": lambda choice: choice["run_id"],
        "workload": lambda choice: display.clip_text(choice["workload"]),
        "parameters": lambda choice: display.clip_text(choice["parameters"]) or formats.MISSING,
        "version": lambda choice: display.clip_text(choice["framework_version"]),
        "hardware": lambda choice: choice["hardware"],
        "system": lambda choice: display.clip_text(choice["system"], 60) or formats.MISSING,
        "nodes": lambda choice: ", ".join(map(str, choice["node_counts"])),
        ">runs": lambda choice: str(choice["runs"]),
    }
    hidden = () if any(choice["system"] for choice in choices) else ("system",)
    answer = {"region": query.region, "rehearsal": page.rehearsal, "choices": choices}
    display.print_result(answer, as_json, lambda: display.table_of(choices, columns, hidden))
    more = f" of the first {len(page.rows)} of {page.total} configurations" if page.total > len(page.rows) else ""
    kind = display.REHEARSALS if page.rehearsal else "measurements"
    display.print_message(f"{query.region}: {display.format_count(len(choices), 'curve')}{more}; {kind}")
    if choices:
        display.print_message(
            "select one by its run, `aisbench scaling RUN`, or with --workload, --flavor and other filters"
        )
    else:
        print_other_regions(core, query.region, rehearsal=page.rehearsal)
    return None


def _is_match(curve: Scaling, query: BoardQuery) -> bool:
    # The query chose configurations; their curves can be of other versions, flavors and node counts.
    node_counts = {point.node_count for point in curve.points}
    return (
        bool(node_counts)
        and (not query.framework_versions or curve.query.framework_version in query.framework_versions)
        and (not query.flavors or curve.query.flavor in query.flavors)
        and (not query.node_counts or not node_counts.isdisjoint(query.node_counts))
    )


def _format_origin(curve: Scaling) -> str:
    return f" ({curve.query.origin.label})" if curve.query.origin == "imported" else ""


def predict_speed_up(curve: Scaling, node_counts: Iterable[int]) -> list[dict[str, Any]]:
    """The speed-up that Amdahl's law predicts for other node counts; empty if it was not fitted."""
    base = curve.base_nodes
    return [
        {"node_count": nodes, "base_nodes": base, "speed_up": speed_up, "extrapolated": nodes > curve.largest}
        for nodes in node_counts
        if base and (speed_up := curve.fit.speed_up(nodes, base))
    ]


def _format_curve(curve: Scaling, predicted: list[dict[str, Any]]) -> str:
    if not curve.points:
        return "\n".join(["no valid run in cluster mode; single servers do not scale", *_iterate_excluded(curve)])
    residuals = dict(curve.fit.residuals)
    columns: display.Columns[ScalingPoint] = {
        ">nodes": lambda point: str(point.node_count),
        ">runs": lambda point: str(point.runs),
        ">median": lambda point: formats.format_number(point.throughput, curve.throughput_unit),
        ">95 % of the mean": lambda point: (
            f"{formats.format_number(point.ci_low)} … {formats.format_number(point.ci_high)}"
            if point.ci_low is not None
            else formats.MISSING
        ),
        ">speed-up": lambda point: formats.format_number(point.speed_up),
        ">ideal": lambda point: formats.format_number(point.ideal),
        ">efficiency": lambda point: formats.format_percent(point.efficiency),
        ">off the law": lambda point: formats.format_change(residuals.get(point.node_count)),
    }
    lines = [
        *filter(None, [_format_origin(curve).strip(), str(curve.mixed)]),
        display.table_of(curve.points, columns),
        "",
    ]
    if not curve.scales:
        lines.append(f"no speed-up and no law: {curve.query.metric} is not a rate of all ranks, or not above 0")
    elif curve.fit.problem:
        lines.append(f"Amdahl's law: no fit: {curve.fit.problem}")
    elif share := curve.fit.serial:
        low, high = formats.format_percent(share.low), formats.format_percent(share.high)
        lines.append(f"Amdahl's law: serial share {formats.format_percent(share.value)}, 95 % {low} … {high}")
    for prediction in predicted:
        speed_up = prediction["speed_up"]
        note = ", extrapolated" if prediction["extrapolated"] else ""
        lines.append(
            f"at {prediction['node_count']} nodes {speed_up.low:.2f} … {speed_up.high:.2f} times "
            f"the throughput of {prediction['base_nodes']}, about {speed_up.value:.2f}{note}"
        )
    return "\n".join([*lines, *_iterate_excluded(curve)])


def _iterate_excluded(curve: Scaling) -> Iterator[str]:
    for group in curve.left_out:
        nodes = formats.MISSING if group.node_count is None else group.node_count
        yield f"left out, {group.why}: {display.format_count(group.runs, 'run')} on nodes: {nodes}"

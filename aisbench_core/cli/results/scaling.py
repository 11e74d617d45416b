"""`aisbench scaling`: how throughput grows with the number of nodes, and what more nodes would bring."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from aisbench_core import formats
from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core_for_reading
from aisbench_core.cli.results.results import filters, full_id, query_of, say_where_else

if TYPE_CHECKING:
    from aisbench_core.core import Core
    from aisbench_core.statistics.amdahl import IntervalEstimate
    from aisbench_core.warehouse import BoardQuery, Scaling, ScalingPoint

MOST_QUESTIONS = 50
"""Questions whose curves are listed; filters choose among more."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A curve that can be asked for: by any of its runs, of which this is one."""

    run_id: str
    workload: str
    parameters: str
    framework_version: str
    hardware: str
    node_counts: tuple[int, ...]
    runs: int
    system: str = ""


@click.command()
@click.argument("run_id", metavar="[RUN]", default="")
@filters
@click.option(
    "--at",
    "asked",
    type=click.IntRange(1, 1_000_000),
    multiple=True,
    help="Predict this number of nodes; can be repeated. Default: twice the largest that was measured.",
)
@as_json
def scaling(run_id: str, asked: tuple[int, ...], as_json: bool, **chosen: Any) -> None:
    """Show throughput, speed-up and efficiency over node counts: what differs from RUN in its node count only.

    Without RUN the other options choose: one curve that fits them is shown, of several a list with a run of each.

    From three node counts on, Amdahl's law is fitted: the serial share with its 95 % interval, and what other numbers
    of nodes would bring. Cluster mode only: single servers do not work together.
    """
    if run_id and any(chosen.values()):
        raise click.UsageError("RUN says which curve is meant, and options that choose one are for when none is named")
    core = open_core_for_reading()
    curve = core.warehouse.scaling_of(full_id(core, run_id)) if run_id else _only_one(core, chosen, as_json)
    if curve is None:
        return
    predicted = predictions(curve, asked or ((2 * curve.largest,) if curve.points else ()))
    shown.answer({"scaling": curve, "predicted": predicted}, as_json, lambda: _text(curve, predicted))


def _only_one(core: "Core", chosen: dict[str, Any], as_json: bool) -> "Scaling | None":
    """The curve that fits; otherwise those that do are listed."""
    from aisbench_core.warehouse.answers.scalings import systems as apart_by_system

    query = query_of(core, limit=MOST_QUESTIONS, **chosen)
    page = core.warehouse.questions(query)
    prints = (row.question.fingerprint for row in page.rows)
    apart = core.warehouse.apart.parameters(query.region, prints, rehearsal=page.rehearsal)
    found = [(row, curve) for row in page.rows for curve in core.warehouse.scaling(row.question) if _fits(curve, query)]
    systems = apart_by_system(curve.query for _, curve in found)
    curves = {
        _choice(curve, row.workload, apart.get(row.question.fingerprint, ""), systems[curve.query.id]): curve
        for row, curve in found
    }
    if len(curves) == 1:
        return next(iter(curves.values()))
    choices = [asdict(curve) for curve in curves]
    shown.answer(
        {"region": query.region, "rehearsal": page.rehearsal, "choices": choices}, as_json, lambda: _list(curves)
    )
    more = f" of {page.total} questions, the first {len(page.rows)}" if page.total > len(page.rows) else ""
    kind = "rehearsals, not measurements" if page.rehearsal else "measurements"
    shown.talk(f"{query.region}: {len(curves)} curves{more}; {kind}")
    if curves:
        shown.talk(
            "name the run of one of them: aisbench scaling RUN; or choose by --workload, --flavor and the others"
        )
    else:
        say_where_else(core, query.region, rehearsal=page.rehearsal)
    return None


def _fits(curve: "Scaling", query: "BoardQuery") -> bool:
    """Whether a curve of a question that was chosen is of the version, flavor and nodes that were asked for."""
    sizes = {point.node_count for point in curve.points}
    return (
        bool(sizes)
        and (not query.framework_versions or curve.query.framework_version in query.framework_versions)
        and (not query.flavors or curve.query.flavor in query.flavors)
        and (not query.node_counts or not sizes.isdisjoint(query.node_counts))
    )


def _choice(curve: "Scaling", workload: str, apart: str, system: str) -> Choice:
    of = curve.query
    return Choice(
        curve.points[-1].dots[0].run_id,
        workload + (" (synthetic data)" if of.synthetic_data else "") + _origin(curve),
        apart,
        of.framework_version,
        f"{shown.where(of)} · {of.cards_per_node} cards",
        tuple(point.node_count for point in curve.points),
        sum(point.runs for point in curve.points),
        system,
    )


def _origin(curve: "Scaling") -> str:
    return f" ({curve.query.origin.label})" if curve.query.origin == "imported" else ""


def _list(choices: Iterable[Choice]) -> str:
    rows = list(choices)
    systems = any(row.system for row in rows)
    heads = ("run", "workload", "parameters", "version", "hardware", *(["system"] if systems else []), "nodes", ">runs")
    return shown.table(heads, [_listed(row, systems=systems) for row in rows])


def _listed(each: Choice, *, systems: bool) -> tuple[str, ...]:
    return (
        each.run_id,
        shown.clipped(each.workload),
        shown.clipped(each.parameters) or formats.MISSING,
        shown.clipped(each.framework_version),
        each.hardware,
        *([shown.clipped(each.system, 60) or formats.MISSING] if systems else []),
        ", ".join(map(str, each.node_counts)),
        str(each.runs),
    )


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
    origin = _origin(curve).strip()
    return "\n".join(
        [
            *filter(None, [origin]),
            shown.table(heads, rows),
            "",
            *_law(curve),
            *map(_prediction, predicted),
            *_left_out(curve),
        ]
    )


def _row(point: "ScalingPoint", unit: str, beside: float | None) -> tuple[str, ...]:
    interval = f"{formats.number(point.ci_low)} … {formats.number(point.ci_high)}" if point.ci_low else formats.MISSING
    return (
        str(point.node_count),
        str(point.runs),
        formats.number(point.throughput, unit),
        interval,
        f"{point.speed_up:.3f}",
        f"{point.ideal:.3f}",
        formats.percent(point.efficiency),
        formats.MISSING if beside is None else f"{beside * 100:+.2f} %",
    )


def _law(curve: "Scaling") -> Iterator[str]:
    fit = curve.fit
    if fit.misfit:
        yield f"Amdahl's law: nothing can be said: {fit.misfit}"
    elif fit.serial:
        share = fit.serial
        high = formats.percent(share.high)
        yield f"Amdahl's law: serial share {formats.percent(share.value)}, 95 % {formats.percent(share.low)} … {high}"


def _prediction(found: dict[str, object]) -> str:
    speed_up: IntervalEstimate = found["speed_up"]  # type: ignore[assignment]  # see predictions()
    note = ", extrapolated" if found["extrapolated"] else ""
    return (
        f"at {found['node_count']} nodes {speed_up.low:.2f} … {speed_up.high:.2f} times "
        f"the throughput of {found['base_nodes']}, about {speed_up.value:.2f}{note}"
    )


def _left_out(curve: "Scaling") -> Iterator[str]:
    for each in curve.left_out:
        nodes = formats.MISSING if each.node_count is None else each.node_count
        yield f"left out, {each.why}: {each.runs} on nodes: {nodes}"

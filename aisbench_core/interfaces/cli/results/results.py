"""`aisbench leaderboard`, `compare` and `views`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import click

from aisbench_core.base import formats
from aisbench_core.base.errors import DamagedLedger, Problem, RunNotFound, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.base.text_tables import TextTableFormat, format_text_table
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.options import Group, choose_value, command, ruleset_option, run_filters
from aisbench_core.model import Origin, RunMetric
from aisbench_core.model.columns import CURRENCY, Column, list_medians
from aisbench_core.warehouse.exporting.comparison import build_comparison_table
from aisbench_core.warehouse.measures.sorts import BOARD_SORTS
from aisbench_core.warehouse.values.boards import BoardPage, BoardRow, mixed_or_unknown
from aisbench_core.warehouse.values.compared import ComparedBy, Comparison, MetricComparison, Servers, ServerSpread
from aisbench_core.warehouse.values.conditions import parse_conditions
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow

if TYPE_CHECKING:
    from aisbench_core.warehouse.values.saved import SavedView
    from aisbench_core.wiring import Core


@command()
@run_filters
@ruleset_option
@click.option("--all", "include_invalid", is_flag=True, help="Include rows without a valid run, with the reason.")
@click.option("--sort", default="throughput", show_default=True, help="Column to sort by; an unknown one lists all.")
@click.option("--metric", default="", help="Rank by this metric; default: the primary one of each workload.")
@click.option("--ascending", is_flag=True, help="Smallest first; of numbers in the row's unit, the worst.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many rows to list.")
@click.option("--offset", type=click.IntRange(0), default=0, help="How many rows to skip.")
def leaderboard(ascending: bool, as_json: bool, **filters: Any) -> None:
    """Rank configurations by the median throughput, or another metric, of their valid runs."""
    if filters["sort"] not in BOARD_SORTS:
        raise click.BadParameter(f"{filters['sort']!r} is not one of {', '.join(BOARD_SORTS)}", param_hint="--sort")
    core = open_core(writing=False)
    query = query_of(core, descending=not ascending, **filters)
    page = core.warehouse.board.list_rows(query)
    fingerprints = (row.fingerprint for row in page.rows)
    parameters = core.warehouse.board.find_distinctions(query.region, fingerprints, rehearsal=page.rehearsal)
    answer = {"region": query.region, **display.pick_fields(page, "rehearsal", "total", "rows")}
    display.print_result(
        answer | {"parameters_apart": parameters}, as_json, lambda: _format_leaderboard(page, parameters)
    )
    kind = display.REHEARSALS if page.rehearsal else "measurements"
    total = display.format_count(page.total, "row")
    display.print_message(
        f"{query.region}: {f'{len(page.rows)} of ' if len(page.rows) < page.total else ''}{total}; {kind}"
    )
    if len({(row.fingerprint, row.throughput_unit) for row in page.rows}) > 1:
        display.print_message("ranks compare rows of one benchmark: same workload, model, data, parameters and unit")
    if not page.total:
        print_other_regions(core, query.region, rehearsal=page.rehearsal)


@command()
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@click.option("--rows", is_flag=True, help="Compare the medians of the leaderboard rows of these runs.")
@click.option("--format", "markup", type=choose_value(TextTableFormat), help="Print a table for papers and pages.")
def compare(run_ids: tuple[str, ...], rows: bool, markup: str | None, as_json: bool) -> None:
    """Compare 2 to 32 runs with the first: differences, metrics, and whether the runs are comparable."""
    core = open_core(writing=False)
    by = ComparedBy.ROWS if rows else ComparedBy.RUNS
    if markup and as_json:
        raise click.UsageError("--format and --json exclude each other")
    comparison = core.warehouse.runs.compare([full_id(core, run_id) for run_id in run_ids], by)
    if markup:
        table = format_text_table(build_comparison_table(comparison), TextTableFormat(markup))
        click.echo(display.replace_controls(table), nl=False)
        return
    display.print_result(comparison, as_json, lambda: _comparison_text(comparison))


def query_of(
    core: Core,
    rehearsals: bool = False,
    region: str = "",
    origin: str | None = None,
    where: tuple[str, ...] = (),
    **filters: Any,
) -> BoardQuery:
    region = region or core.default_region()
    # None lets the warehouse decide: measurements, or rehearsals where a region has nothing else.
    rehearsal = True if rehearsals else None
    query = BoardQuery(
        region, rehearsal=rehearsal, origin=Origin(origin) if origin else None, where=parse_conditions(where), **filters
    )
    core.warehouse.facets.require_metric(query)
    return query


def full_id(core: Core, run_id: str) -> str:
    """The full id for a prefix of one.

    Only the ledger resolves prefixes: ids of imported runs, and all ids while the ledger is damaged, must be full."""
    try:
        return core.ledger.get(run_id).run_id
    except (RunNotFound, DamagedLedger):
        return run_id


def _format_leaderboard(page: BoardPage, parameters: Mapping[str, str]) -> str:
    measured = [median for median in list_medians() if any(getattr(row, median.name) is not None for row in page.rows)]
    columns: display.Columns[BoardRow] = {
        "rank": lambda row: (row.rank + ("" if row.is_confirmed else " unconfirmed")) if row.rank else formats.MISSING,
        "workload": lambda row: display.clip_text(row.workload) + (" (synthetic data)" if row.synthetic_data else ""),
        "model": lambda row: display.clip_text(row.model),
        "parameters": lambda row: display.clip_text(parameters.get(row.fingerprint, "")),
        "version": lambda row: display.clip_text(row.framework_version),
        "hardware": lambda row: display.format_hardware(display.hardware_name(row), row.node_count, row.cards_per_node),
        "system": lambda row: display.clip_text(_format_system(row), 80) or formats.MISSING,
        ">median": lambda row: formats.format_number(row.throughput, row.throughput_unit),
        ">CV": lambda row: formats.format_percent(row.cv) + (" (scattered)" if row.is_scattered else ""),
        ">95 % CI of the mean": lambda row: (
            formats.MISSING
            if row.ci_low is None
            else f"{formats.format_number(row.ci_low)} to {formats.format_number(row.ci_high)}"
        ),
        ">best": lambda row: formats.format_number(row.best, row.throughput_unit),
        ">per card": lambda row: formats.format_number(row.per_card, row.throughput_unit),
        ">accuracy": lambda row: formats.format_percent(row.accuracy),
        "target": _format_target,
        **{f">{median.label.lower()}": partial(_format_median, median) for median in measured},
        ">runs": lambda row: (
            f"{row.runs} (+{not_valid} not valid)"
            if (not_valid := row.invalid + row.incomplete + row.set_aside)
            else str(row.runs)
        ),
        "origin": lambda row: row.origin.label,
        "best run": lambda row: row.best_run_id or row.reason,
    }
    hidden = {"" if parameters else "parameters", "" if any(map(_format_system, page.rows)) else "system"}
    return display.table_of(page.rows, columns, hidden)


def _format_target(row: BoardRow) -> str:
    is_partly = 0 < row.missed < row.runs
    return f"{row.missed} of {row.runs} missed" if is_partly else row.target_outcome.value


def _format_system(row: BoardRow) -> str:
    return ", ".join(filter(None, (row.system, row.mixed)))


def _format_median(median: Column, row: BoardRow) -> str:
    return formats.format_number(getattr(row, median.name), row.currency if median.unit == CURRENCY else median.unit)


def print_other_regions(core: Core, region: str, *, rehearsal: bool) -> None:
    """Print where there are runs, so that an empty answer is not taken for an empty warehouse."""
    regions = [
        f"{entry.region} ({display.format_count(entry.runs, 'run')}{', rehearsals' if entry.rehearsal else ''})"
        for entry in core.warehouse.facets.list_regions()
        if (entry.region, entry.rehearsal) != (region, rehearsal)
    ]
    if regions:
        display.print_message(f"there are runs in {', '.join(regions)}; select them with --region and --rehearsals")


def _comparison_text(comparison: Comparison) -> str:
    lines = [f"comparability: {comparison.verdict}"]
    if comparison.normalise_by:
        lines.append(f"compare the throughput per {comparison.normalise_by}")
    if comparison.reasons:
        lines.append(f"because of: {', '.join(comparison.reasons)}")
    if comparison.unknown:
        lines.append(f"unknown for some runs: {', '.join(comparison.unknown)}{_describe_doubt(comparison)}")
    ids = [run.run_id for run in comparison.runs]
    fields = [(field.field, *map(display.format_value, field.values)) for field in comparison.differences]
    differences = display.format_table(("differs", *ids), fields) if fields else "the configurations are equal"
    head = "metric" if comparison.by == "runs" else "metric (median of the row)"
    units = [run.throughput_unit for run in comparison.runs]
    rows = [(metric.name, *_iterate_values(metric, units)) for metric in comparison.metrics]
    rows.append(("target", *_iterate_targets(comparison)))
    metrics = display.format_table((head, *(f">{run_id}" for run_id in ids)), rows)
    servers = [
        f"{run_id}: {servers_text(comparison.servers[run_id], unit)}"
        for run_id, unit in zip(ids, units, strict=True)
        if run_id in comparison.servers
    ]
    return "\n\n".join(["\n".join(lines), differences, metrics, *_iterate_peers(comparison), *servers])


def _describe_doubt(comparison: Comparison) -> str:
    if comparison.verdict == "not comparable":
        return ""
    if comparison.by == "rows":
        return "; no ratio is shown between rows that may differ in them"
    return "; ratios are valid only if these are equal"


def _iterate_targets(comparison: Comparison) -> Iterator[str]:
    for run, peers in zip(comparison.runs, comparison.peers, strict=True):
        count = peers.summary.count if peers.summary else 0
        is_of_row = comparison.by == "rows" and peers.missed
        yield f"{peers.missed} of {count} missed" if is_of_row else run.target_outcome.value


def _iterate_peers(comparison: Comparison) -> Iterator[str]:
    """The groups behind the runs, where any has more than one run."""
    if not any(peer.summary and peer.summary.count > 1 for peer in comparison.peers):
        return

    heads = ("valid runs like", ">runs", ">mean", ">95 % from", ">to", ">against the first's", ">95 % from", ">to")
    nothing = (None, None, None)
    rows = []
    for peer in comparison.peers:
        summary, ratio = peer.summary, peer.difference.ratio if peer.difference else nothing
        means = (summary.mean, summary.ci_low, summary.ci_high) if summary else nothing
        count = str(summary.count if summary else 0)
        rows.append((peer.run_id, count, *map(formats.format_number, means), *map(_format_factor, ratio)))
    yield display.format_table(heads, rows)
    mixed = [f"{run.run_id}: {why}" for run in comparison.runs if (why := mixed_or_unknown(run.not_known))]
    if mixed:
        yield "\n".join(mixed)


def _format_factor(ratio: float | None) -> str:
    return formats.MISSING if ratio is None else f"× {formats.format_number(ratio)}"


def _iterate_values(metric: MetricComparison, units: Sequence[str]) -> Iterator[str]:
    for index, (value, unit) in enumerate(zip(metric.values, units, strict=True)):
        # The first run is the baseline.
        ratio = "" if value.ratio is None or index == 0 else f" ({_format_factor(value.ratio)})"
        if metric.name == "rank_cv":
            yield formats.format_percent(value.value) + ratio
        elif metric.unit == "s":
            yield formats.format_duration(value.value) + ratio
        else:
            yield formats.format_number(value.value, unit if metric.is_rate else metric.unit) + ratio


def result_text(row: RunRow | None) -> str:
    """What is recorded of a run; empty before that."""
    if row is None:
        return ""

    unit = row.throughput_unit
    ranks = f"{row.ranks_found} of {row.ranks_expected}" if row.ranks_expected else formats.MISSING
    stated = "" if row.accuracy_target is None else f" {row.accuracy_target:g}"
    target = f" (target{stated} {row.target_outcome})"
    text = display.format_fields(
        ("validity", row.validity.label),
        *((check.id, f"{check.level}: expected {check.expected}, found {check.found}") for check in row.reasons),
        ("throughput", f"{formats.format_number(row.throughput, unit)} ({row.throughput_definition})"),
        ("per node", formats.format_number(row.per_node, unit)),
        ("per card", formats.format_number(row.per_card, unit)),
        ("accuracy", f"{formats.format_number(row.accuracy)}{target}"),
        ("ranks", f"{ranks}, variation {formats.format_percent(row.rank_cv)}"),
        ("image", row.image),
        ("not known", mixed_or_unknown(row.not_known)),
        ("data", "synthetic" if row.synthetic_data else row.dataset),
        ("kind", f"{'rehearsal' if row.rehearsal else 'measurement'} in {row.region}"),
    )
    return f"result\n{display.indent_text(text)}"


def metrics_text(metrics: Sequence[RunMetric]) -> str:
    """A line for each named metric; empty without any."""
    columns: display.Columns[RunMetric] = {
        "metric": lambda metric: metric.name,
        ">value": lambda metric: formats.format_number(metric.value, metric.unit),
        "better": lambda metric: metric.better.value,
        "of ranks": lambda metric: metric.combined.value,
        "formula": lambda metric: metric.definition,
        "source": lambda metric: metric.source.value,
    }
    return f"metrics\n{display.indent_text(display.table_of(metrics, columns))}" if metrics else ""


def servers_text(servers: Servers | None, unit: str) -> str:
    """A line for each server, and below them mean, deviation and range; empty for runs in cluster mode."""
    if servers is None:
        return ""
    heads = ("server", f">throughput ({unit})", ">accuracy")
    names = ("mean", "sd", "CV", "lowest", "highest")
    rows = [
        *(
            (str(one.server), formats.format_number(one.throughput), formats.format_number(one.accuracy))
            for one in servers.results
        ),
        *zip(names, _format_spread(servers.throughput), _format_spread(servers.accuracy), strict=True),
    ]
    return f"servers\n{display.indent_text(display.format_table(heads, rows))}"


def _format_spread(spread: ServerSpread | None) -> list[str]:
    if spread is None:
        return [formats.MISSING] * 5
    mean, sd, low, high = map(
        formats.format_number, (spread.summary.mean, spread.summary.sd, spread.lowest, spread.highest)
    )
    return [mean, sd, formats.format_percent(spread.summary.cv), low, high]


PAGES = ("leaderboard", "runs", "compare", "history", "scaling")


views = Group("views", help="List and delete views saved in the console.")


@views.command("list")
@click.option("--page", default="", type=click.Choice(["", *PAGES]), help="Only views of this page.")
def list_views(page: str, as_json: bool) -> None:
    """List saved views with their short address and the full one."""
    saved = open_core(writing=False).warehouse.saved_views.on(page)
    answer = [
        {
            **display.as_dict(view),
            "short": _short_address(view),
            "long": f"/{view.page}?{urlencode(view.address, doseq=True)}",
        }
        for view in saved
    ]
    columns: display.Columns[SavedView] = {
        "page": lambda view: view.page,
        "name": lambda view: view.name,
        "saved by": lambda view: view.saved_by,
        "saved": lambda view: display.local_time(view.saved_at),
        "address": _short_address,
    }
    display.print_result(answer, as_json, lambda: display.table_of(saved, columns))


@views.command("delete")
@click.argument("page", type=click.Choice(PAGES))
@click.argument("name")
def delete_view(page: str, name: str) -> None:
    """Delete a saved view, for everyone who uses the warehouse."""
    if not open_core(writing=True).warehouse.saved_views.delete(page, name, get_actor()):
        problem = Problem("name", Message("no view of {page} has this name", page=page), repr(name))
        raise SpecError(Message("the view"), [problem])
    click.echo(f"{page}: {name} deleted")


def _short_address(view: SavedView) -> str:
    """The address that opens the view, relative to the console's."""
    return f"/{view.page}?{urlencode({'view': view.name})}"

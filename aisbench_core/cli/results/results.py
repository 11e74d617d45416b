"""`aisbench leaderboard` and `compare`: what is known about results."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from aisbench_core import formats
from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core_for_reading
from aisbench_core.cli.results.comparison import comparison_text
from aisbench_core.errors import ConfigError, DamagedLedger, RunNotFound
from aisbench_core.messages import Message

if TYPE_CHECKING:
    from aisbench_core.core import Core
    from aisbench_core.model.columns import Column
    from aisbench_core.warehouse import BoardPage, BoardQuery, BoardRow

_FILTERS = (
    click.option("--region", default="", help="Default: the region of the settings' profile."),
    click.option("--rehearsals", is_flag=True, help="Rehearsals, where the region has measurements too."),
    click.option("--model", "models", multiple=True, help="Only this model; can be repeated, as the next ones can."),
    click.option("--workload", "workloads", multiple=True, help="Only this workload."),
    click.option("--framework-version", "framework_versions", multiple=True, help="Only this framework version."),
    click.option("--flavor", "flavors", multiple=True, help="Only this flavor."),
    click.option("--nodes", "node_counts", type=int, multiple=True, help="Only this number of nodes."),
    click.option("--origin", type=click.Choice(["launched", "imported"]), help="Only runs that came here this way."),
    click.option("--tag", "tags", multiple=True, help="Only runs with this tag; of several, with all of them."),
    click.option(
        "--text", default="", help="Only runs with this in id, job, person, title, model, workload, version or flavor."
    ),
)


def by_ruleset(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option that names whose verdicts count."""
    return click.option("--ruleset", "ruleset_id", default="", help="Whose verdicts count; default: as stored.")(
        command
    )


def filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that choose runs; `query_of` takes them."""
    for option in reversed(_FILTERS):
        command = option(command)
    return command


@click.command()
@filters
@by_ruleset
@click.option("--all", "include_invalid", is_flag=True, help="Also what has no valid run, with the reason.")
@click.option("--sort", default="throughput", show_default=True, help="Sort by this; a wrong one names them all.")
@click.option("--ascending", is_flag=True, help="Smallest first.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many rows.")
@click.option("--offset", type=click.IntRange(0), default=0, help="How many rows to pass over.")
@as_json
def leaderboard(ascending: bool, as_json: bool, **chosen: Any) -> None:
    """Show the best configurations: median throughput of the valid runs of each."""
    from aisbench_core.warehouse import BOARD_SORTS

    if chosen["sort"] not in BOARD_SORTS:
        raise click.BadParameter(f"{chosen['sort']!r} is not among {', '.join(BOARD_SORTS)}", param_hint="--sort")
    core = open_core_for_reading()
    query = query_of(core, descending=not ascending, **chosen)
    page = core.warehouse.leaderboard(query)
    prints = (row.fingerprint for row in page.rows)
    apart = core.warehouse.apart.parameters(query.region, prints, rehearsal=page.rehearsal)
    named = {"region": query.region, **_named(page), "parameters_apart": apart}
    shown.answer(named, as_json, lambda: _board(page, apart))
    _say_what(query.region, page)
    if not page.total:
        say_where_else(core, query.region, rehearsal=page.rehearsal)


@click.command()
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@click.option("--rows", is_flag=True, help="Compare the leaderboard's rows of these runs, by the medians of each.")
@as_json
def compare(run_ids: tuple[str, ...], rows: bool, as_json: bool) -> None:
    """Compare 2 to 8 runs with the first of them: what differs, each metric, and whether that says anything."""
    from aisbench_core.warehouse.answers.compared import ComparedBy

    core = open_core_for_reading()
    by = ComparedBy.ROWS if rows else ComparedBy.RUNS
    comparison = core.warehouse.compare([full_id(core, run_id) for run_id in run_ids], by)
    shown.answer(comparison, as_json, lambda: comparison_text(comparison))


def query_of(
    core: "Core", rehearsals: bool = False, region: str = "", origin: str | None = None, **chosen: Any
) -> "BoardQuery":
    """The filters that were typed, as a query."""
    from aisbench_core.model import Origin
    from aisbench_core.warehouse import BoardQuery

    kind = True if rehearsals else None
    return BoardQuery(region or _region(core), rehearsal=kind, origin=Origin(origin) if origin else None, **chosen)


def _region(core: "Core") -> str:
    """The default profile's region; without that profile, the first region that has results."""
    if core.settings.profile in core.regions.names():
        return core.regions.profile().region
    regions = core.warehouse.regions()
    if not regions:
        raise ConfigError(
            Message("there is no result yet, and no profile that names a region"), Message("give --region")
        )
    return regions[0].region


def full_id(core: "Core", run_id: str) -> str:
    """The id that a beginning of it means; results may be older than this ledger, so it may be unknown there.

    A damaged ledger knows no beginnings: then the id has to be whole."""
    try:
        return core.ledger.get(run_id).run_id
    except (RunNotFound, DamagedLedger):
        return run_id


def _named(page: "BoardPage") -> dict[str, object]:
    return {"rehearsal": page.rehearsal, "total": page.total, "rows": page.rows}


def _board(page: "BoardPage", apart: "Mapping[str, str]") -> str:
    from aisbench_core.model.columns import medians

    systems = any(row.system for row in page.rows)
    measured = [median for median in medians() if any(getattr(row, median.name) is not None for row in page.rows)]
    heads = (
        "rank",
        "workload",
        "model",
        *(["parameters"] if apart else []),
        "version",
        "hardware",
        *(["system"] if systems else []),
        ">median",
        ">CV",
        ">95 % CI of the mean",
        ">best",
        ">per card",
        ">accuracy",
        *(f">{each.label.lower()}" for each in measured),
        ">runs",
        "origin",
        "best run",
    )
    return shown.table(heads, [_row(row, apart, measured, systems=systems) for row in page.rows])


def _row(
    row: "BoardRow", apart: "Mapping[str, str]", measured: "Sequence[Column]", *, systems: bool
) -> tuple[str, ...]:
    unit = row.throughput_unit
    return (
        row.rank or formats.MISSING,
        shown.clipped(row.workload) + (" (synthetic data)" if row.synthetic_data else ""),
        shown.clipped(row.model),
        *([shown.clipped(apart.get(row.fingerprint, ""))] if apart else []),
        shown.clipped(row.framework_version),
        shown.hardware(shown.where(row), row.node_count, row.cards_per_node),
        *([shown.clipped(row.system, 60) or formats.MISSING] if systems else []),
        formats.number(row.throughput, unit),
        formats.percent(row.cv),
        f"{formats.number(row.ci_low)} to {formats.number(row.ci_high)}" if row.ci_low is not None else formats.MISSING,
        formats.number(row.best, unit),
        formats.number(row.per_card, unit),
        formats.percent(row.accuracy),
        *(formats.number(getattr(row, each.name), each.unit) for each in measured),
        str(row.runs) + (f" (+{row.invalid + row.incomplete} not valid)" if row.invalid + row.incomplete else ""),
        row.origin.label,
        row.best_run_id or row.reason,
    )


def _say_what(region: str, page: "BoardPage") -> None:
    kind = "rehearsals, not measurements" if page.rehearsal else "measurements"
    count = f"{len(page.rows)} of {page.total} rows" if len(page.rows) < page.total else f"{page.total} rows"
    shown.talk(f"{region}: {count}; {kind}")
    if len({(row.fingerprint, row.throughput_unit) for row in page.rows}) > 1:
        shown.talk("several benchmarks: a rank counts among rows of one workload, model, data, parameters and unit")


def say_where_else(core: "Core", region: str, *, rehearsal: bool) -> None:
    """Where there are runs, so that nobody takes another region's silence for an empty warehouse."""
    others = [
        f"{each.region} ({each.runs:,} runs{', rehearsals' if each.rehearsal else ''})"
        for each in core.warehouse.regions()
        if (each.region, each.rehearsal) != (region, rehearsal)
    ]
    if others:
        shown.talk(f"runs of other regions or kinds: {', '.join(others)}; choose by --region and --rehearsals")

"""`aisbench publish`: a leaderboard as a folder of files."""

from pathlib import Path
from typing import Any

import click

from aisbench_core.exchange.publishing.columns import parse_columns
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import open_core
from aisbench_core.interfaces.cli.invocation import get_invocation
from aisbench_core.interfaces.cli.options import command, ruleset_option, run_filters
from aisbench_core.interfaces.cli.results.results import query_of

_BUNDLES = click.Path(path_type=Path, file_okay=False, exists=True)


@command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@run_filters
@ruleset_option
@click.option("--columns", default="", metavar="NAMES", help="Columns of runs to publish; +NAMES adds to the default.")
@click.option("--bundles", type=_BUNDLES, metavar="DIR", help="Evidence to link, as RUN.zip or SERIES.zip.")
def publish(folder: Path, columns: str, bundles: Path | None, **filters: Any) -> None:
    """Publish the leaderboard as a folder of pages that open without a server, and as Parquet.

    DIR/index.html is in English, DIR/zh.html in Chinese. The default columns name no people and hold no texts that
    people wrote. Rehearsals are refused. DIR is replaced as a whole if it was published before.
    """
    allowed = parse_columns(columns)
    core = open_core(writing=False)
    published = core.publishing.publish(query_of(core, **filters), folder, allowed, bundles, get_invocation().umask)
    counts = [display.format_count(published.rows, "row"), display.format_count(published.runs, "run")]
    counts += [display.format_count(published.bundles, "bundle")] if bundles else []
    display.print_message(f"{', '.join(counts)}: {folder / 'index.html'}")

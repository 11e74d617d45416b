"""`aisbench mlflow`: runs for those who look at theirs with MLflow."""

from pathlib import Path
from typing import Any

import click

from aisbench_core.cli import shown
from aisbench_core.cli.core import open_core_for_reading, usual_rights
from aisbench_core.cli.results.results import filters, query_of


@click.group()
def mlflow() -> None:
    """Exchange runs with MLflow; `aisbench import` reads its store."""


@mlflow.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@filters
@click.option("--valid-only", is_flag=True, help="Leave out runs without a valid result.")
@click.option("--replace", is_flag=True, help="Put it in the place of a file that is there.")
def export(file: Path, valid_only: bool, replace: bool, **chosen: Any) -> None:
    """Write runs into FILE, a new MLflow store in SQLite: `mlflow ui --backend-store-uri sqlite:///FILE` shows them.

    One experiment per workload, region and kind. What was not measured is not there; rehearsals are marked.
    """
    core = open_core_for_reading()
    query = query_of(core, include_invalid=not valid_only, **chosen)
    with usual_rights():
        count = core.mlflow.export(query, file, replace=replace)
    shown.talk(f"{count:,} {'run' if count == 1 else 'runs'} of {query.region} written to {file}")

"""`aisbench inference`: results of inference, on a board of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from aisbench_core.base import formats
from aisbench_core.base.errors import ConfigError, Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.exchange.readers.inference import list_read
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.options import Group
from aisbench_core.interfaces.cli.remote.paths import InputPath
from aisbench_core.warehouse.records.inference_results import csv_text

if TYPE_CHECKING:
    from pathlib import Path

    from aisbench_core.warehouse.values.inference import StoredInference

inference = Group("inference", help="Import and rank results of inference, apart from training.")


@inference.command("import")
@click.argument("path", type=InputPath(folders=True))
@click.option("--model", default="", metavar="NAME", help="Model of results that name none.")
@click.option("--precision", default="", metavar="NAME", help="Precision of all results, as bf16 or w8a8.")
@click.option("--accelerator", default="", metavar="NAME", help="Accelerator of all results.")
@click.option("--cards", type=click.IntRange(1), help="Number of cards that served.")
def import_inference(
    path: Path, model: str, precision: str, accelerator: str, cards: int | None, as_json: bool
) -> None:
    """Import results of AISBench/benchmark (performances/) and ais_bench (…_summary.json), each of them once."""
    core = open_core(writing=True)
    results, unread = list_read(core.imports.read_inference(path))
    stated = [result.state_missing(model, precision, accelerator, cards) for result in results]
    new = core.imports.save_inference(stated, get_actor()) if stated else 0
    answer = {
        "results": len(results),
        "new": new,
        "unread": [{"source": one.source, "reason": str(one.reason)} for one in unread],
    }
    for one in unread:
        display.print_message(f"not read: {one.source}: {one.reason}")
    if not results:
        raise ConfigError(Message("no results found"), Message("docs/import.md lists the supported formats"))
    display.print_result(answer, as_json, lambda: f"{len(results)} results, {new} of them new")


@inference.command("list")
@click.option("--csv", "as_csv", is_flag=True, help="Print all fields as CSV.")
def list_inference(as_csv: bool, as_json: bool) -> None:
    """List results by model, dataset and tool, the highest throughput first; without a rank where requests failed."""
    stored = open_core(writing=False).warehouse.inference.list_ranked()
    if as_csv:
        click.echo(csv_text(stored), nl=False)
        return
    columns: display.Columns[StoredInference] = {
        ">rank": lambda one: "" if one.rank is None else str(one.rank),
        "id": lambda one: one.result_id,
        "model": lambda one: one.result.model,
        "dataset": lambda one: one.result.dataset,
        "tool": lambda one: one.result.tool.value,
        "accelerator": lambda one: one.result.accelerator,
        ">cards": lambda one: _format_count(one.result.cards),
        "precision": lambda one: one.result.precision,
        ">batch": lambda one: _format_count(one.result.batch),
        ">concurrency": lambda one: _format_count(one.result.concurrency),
        ">failed": lambda one: _format_count(one.result.failed),
        ">throughput": lambda one: formats.format_number(one.result.throughput),
        "unit": lambda one: one.result.unit.value,
        ">p50 (ms)": lambda one: formats.format_number(one.result.latency_p50_ms),
        ">p99 (ms)": lambda one: formats.format_number(one.result.latency_p99_ms),
        ">TTFT p99 (ms)": lambda one: formats.format_number(one.result.ttft_p99_ms),
        ">TPOT p99 (ms)": lambda one: formats.format_number(one.result.tpot_p99_ms),
    }
    display.print_result([display.as_dict(one) for one in stored], as_json, lambda: display.table_of(stored, columns))


def _format_count(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


@inference.command("remove")
@click.argument("result_id")
def remove_inference(result_id: str) -> None:
    """Remove a result."""
    if not open_core(writing=True).warehouse.inference.remove(result_id, get_actor()):
        problem = Problem("result_id", Message("is not there"), repr(result_id))
        raise SpecError(Message("results of inference"), [problem], Message("`aisbench inference list` lists them"))
    click.echo(f"{result_id} removed")

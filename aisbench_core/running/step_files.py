"""The step reports of running jobs: fetched by range while a job runs, and summed up for pages once a minute."""

from collections.abc import Iterable, Iterator

from pydantic import TypeAdapter, ValidationError

from aisbench_core.base.private_files import write_whole
from aisbench_core.cloud.ports import ObjectStore
from aisbench_core.domain.liveness.slow_cards import CardRate
from aisbench_core.domain.liveness.step_reports import StepReport, parse_steps, step_file_node
from aisbench_core.running import logs
from aisbench_core.store.run_folders.run_paths import RunFolder

# A job may write anything there; the reporter ends at 8 MB for each card of a node.
MOST_BYTES = 1024 * 1024 * 1024
# What 16 cards of a node write in far more than the minutes that count.
TAIL_BYTES = 512 * 1024

_RATES = TypeAdapter(list[CardRate])


# What the reporter prints with the first step of a rank.
ANNOUNCED = b"reports its steps"
SEARCHED_BYTES = 256 * 1024  # of the beginning and the end of the log


def reports_steps(folder: RunFolder) -> bool:
    """Whether the job's log says that it reports its steps: to list its outputs would be a request a minute."""
    log = folder.log(0)
    if folder.steps.is_dir() or not log.exists():
        return folder.steps.is_dir()
    with log.open("rb") as lines:
        if ANNOUNCED in lines.read(SEARCHED_BYTES):
            return True
        lines.seek(max(0, lines.seek(0, 2) - SEARCHED_BYTES))
        return ANNOUNCED in lines.read()


def fetch_steps(objects: ObjectStore, output_path: str, node_count: int, folder: RunFolder) -> None:
    """Bring the reports up to date: one list call, then ranged reads of what has grown."""
    for stat in objects.list(f"{output_path}steps_"):
        name = stat.path.removeprefix(output_path)
        node = step_file_node(name)
        if node is not None and node < node_count and stat.size <= MOST_BYTES:
            logs.append(objects, stat.path, stat.size, folder.steps / name)


def latest_steps(folder: RunFolder) -> Iterator[StepReport]:
    """The newest reports of every card."""
    for file in sorted(folder.steps.glob("steps_*.jsonl")):
        node = step_file_node(file.name)
        if node is not None:
            with file.open("rb") as reports:
                size = reports.seek(0, 2)
                reports.seek(max(0, size - TAIL_BYTES))
                yield from parse_steps(reports.read(), node)


def read_rates(folder: RunFolder) -> list[CardRate]:
    """What the cards of a running job did lately; empty when it reports no steps. A damaged file is replaced soon."""
    try:
        return _RATES.validate_json(folder.rates.read_bytes())
    except (FileNotFoundError, ValidationError):
        return []


def write_rates(rates: Iterable[CardRate], folder: RunFolder) -> None:
    """Replace it."""
    write_whole(folder.rates, _RATES.dump_json(list(rates)))

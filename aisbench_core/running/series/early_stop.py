"""Which active trials of a search have no hope left to be the best, and why. Pure functions of a series' snapshot."""

from collections.abc import Callable, Iterator, Sequence
from statistics import median

from aisbench_core.base.formats import format_number
from aisbench_core.base.messages import Message
from aisbench_core.domain.results.progress import ProgressPoint, read_progress
from aisbench_core.model import Mode, Objective, ParameterSearch, Run, RunState
from aisbench_core.running.series.matrix import Matrix
from aisbench_core.running.series.snapshot import ROUNDING, SeriesSnapshot, node_hours
from aisbench_core.store.run_folders.run_paths import RunFolder

# Points that are no evidence: the first step warms caches up.
WARMUP_POINTS = 2
# Ended trials that a live throughput is compared with, at least.
FEWEST_TRIALS = 3

FolderOf = Callable[[Run], RunFolder]


def find_hopeless_runs(
    snapshot: SeriesSnapshot, results: Callable[[], Matrix], folder_of: FolderOf
) -> Iterator[tuple[Run, Message]]:
    """Running trials to stop, each with the reason. `results` is called only if the search stops trials early."""
    running = [run for run in snapshot.runs.values() if run.state is RunState.RUNNING]
    search = snapshot.series.plan.search
    matrix = results() if search and search.early_stop and running else None
    for run in running:
        reason = _explain_overrun(snapshot, run)
        if reason is None and search and matrix:
            reason = _without_hope(search, matrix, run, snapshot, folder_of)
        if reason is not None:
            yield run, reason


def _explain_overrun(snapshot: SeriesSnapshot, run: Run) -> Message | None:
    """Why the budget ends a run: it took more than was reserved for it, and no hour is left."""
    hours = snapshot.hours
    if hours.budget is None or hours.used + hours.promised < hours.budget - ROUNDING:
        return None
    own = node_hours(run, snapshot.now)
    reserved = snapshot.count_reserved(run)
    if own < reserved:
        return None
    return Message("it used its {reserved:.4g} node hours, and the budget has none left", reserved=reserved)


def _without_hope(
    search: ParameterSearch, matrix: Matrix, run: Run, snapshot: SeriesSnapshot, folder_of: FolderOf
) -> Message | None:
    best = min((row.objective for row in matrix.rows if row.objective is not None), default=None)
    match search.objective:
        case Objective.THROUGHPUT:
            return slower_than_most(live_throughputs(run, folder_of), _of_ended(matrix, folder_of))
        case Objective.COST:
            cost = node_hours(run, snapshot.now) * (search.price or 0.0)
            texts = {"value": format_number(cost), "best": format_number(best), "currency": search.currency}
            reason = Message("it has cost {value} {currency}, and the best trial cost {best}", **texts)
            return reason if best is not None and cost > best else None
        case Objective.TIME_TO_ACCURACY:
            points = read_progress(folder_of(run).log(0))
            seconds = points[-1].seconds if points else 0.0
            texts = {"value": format_number(seconds), "best": format_number(best)}
            reason = Message("it has trained {value} s, and the best trial reached the target after {best}", **texts)
            return reason if best is not None and seconds > best and not _has_reached(points, search.target) else None


def _has_reached(points: Sequence[ProgressPoint], target: float | None) -> bool:
    return any(one.accuracy is not None and target is not None and one.accuracy >= target for one in points)


def _of_ended(matrix: Matrix, folder_of: FolderOf) -> list[dict[int, float]]:
    """The live throughputs of the trials that ended with a valid result."""
    runs = [cell.counted.run for row in matrix.rows for cell in row.cells if cell.counted]
    return [live_throughputs(run, folder_of) for run in runs if run]


def live_throughputs(run: Run, folder_of: FolderOf) -> dict[int, float]:
    """Throughput by step without the warm-up: the first card's, times all cards that work together."""
    cards = run.spec.cards_per_node * (run.spec.node_count if run.spec.mode is Mode.CLUSTER else 1)
    points = read_progress(folder_of(run).log(0))[WARMUP_POINTS - 1 :]
    return {point.step: point.throughput * cards for point in points if point.throughput is not None}


def slower_than_most(own: dict[int, float], ended: Sequence[dict[int, float]]) -> Message | None:
    """Why a trial is slow: the best that it did so far is below the median of the ended ones at its last step.

    This is the rule of Optuna's MedianPruner, with the numbers that it compares."""
    if not own or len(ended) < FEWEST_TRIALS:
        return None
    step, best = max(own), max(own.values())
    others = [throughputs[step] for throughputs in ended if step in throughputs]
    if len(others) < FEWEST_TRIALS or best >= median(others):
        return None
    return Message(
        "its throughput of {value} up to step {step} is below {median}, the median of {count} ended trials",
        value=format_number(best),
        step=step,
        median=format_number(median(others)),
        count=len(others),
    )

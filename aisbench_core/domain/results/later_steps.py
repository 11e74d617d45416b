"""Throughput over the steps from a chosen one on: a look at a run without its warm-up, never its result."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from aisbench_core.model import StepTime


@dataclass(frozen=True, slots=True)
class LaterSteps:
    """Sums over the ranks of what each trained per second of its own in the steps from `first` to `last`.

    None where a rank did not report it."""

    first: int
    last: int
    ranks: int
    samples_per_s: float | None
    tokens_per_s: float | None

    @property
    def definition(self) -> str:
        """The id of this throughput: it equals that of no other steps."""
        return f"steps/{self.first}-{self.last}"


def find_steps(steps: Iterable[StepTime]) -> tuple[int, int] | None:
    """The first and last step that every rank reported in its last process; None where there is none."""
    ranks = _by_rank(steps).values()
    if not ranks:
        return None
    first = max(min(step.number for step in rank) for rank in ranks)
    last = min(max(step.number for step in rank) for rank in ranks)
    return (first, last) if first <= last else None


def measure_later_steps(steps: Sequence[StepTime], first: int) -> LaterSteps | None:
    """The throughput without the steps before `first`; None where a rank reported none of the others."""
    found = find_steps(steps)
    if found is None or first > found[1]:
        return None
    first, last = max(first, found[0]), found[1]
    kept = [[step for step in rank if first <= step.number <= last] for rank in _by_rank(steps).values()]
    if not all(kept):
        return None
    samples = _add_rates(kept, lambda step: step.samples or None)
    return LaterSteps(first, last, len(kept), samples, _add_rates(kept, lambda step: step.tokens))


def _by_rank(steps: Iterable[StepTime]) -> dict[tuple[int, int], list[StepTime]]:
    """Of each rank the steps of its last process: an earlier attempt may have counted the same numbers."""
    ranks: defaultdict[tuple[int, int], list[StepTime]] = defaultdict(list)
    for step in steps:
        ranks[step.server, step.card].append(step)
    newest = {place: max(step.process_began_at for step in rank) for place, rank in ranks.items()}
    return {place: [s for s in rank if s.process_began_at == newest[place]] for place, rank in ranks.items()}


def _add_rates(ranks: Sequence[Sequence[StepTime]], count: Callable[[StepTime], float | None]) -> float | None:
    rates = []
    for rank in ranks:
        counts = [each for step in rank if (each := count(step)) is not None]
        if len(counts) < len(rank):
            return None
        rates.append(sum(counts) / sum(step.seconds for step in rank))
    return sum(rates)

"""From the cards' throughputs to the run's: the numbers that we compute ourselves, beside the reported ones."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from aisbench_core.model import CollectedResult, Mode, RankResult, RunRecord

SUM_OVER_RANKS = "throughput-sum-over-ranks/1"
MEAN_OVER_SERVERS = "throughput-mean-over-servers-of-sums/1"
AS_REPORTED = "throughput-as-reported/1"
"""Of an imported result without single cards: the number that it reports."""

STRAGGLER_SHARE = 0.95
"""A card below this share of the run's median card is a straggler."""

SMALLEST, LARGEST = 1e-100, 1e100
"""No card is slower or faster; outside, sums, squares and ratios would leave the range of floating point numbers."""


@dataclass(frozen=True, slots=True)
class Throughput:
    """A run's throughput (samples/s) by `formula_id`; None unless every expected card holds a usable number."""

    formula_id: str
    total: float | None = None
    per_node: float | None = None
    per_card: float | None = None
    rank_cv: float | None = None
    stragglers: tuple[RankResult, ...] = ()


@dataclass(frozen=True, slots=True)
class RunSize:
    """Of a run: its mode and how large it is; None where an imported result does not tell."""

    mode: Mode
    node_count: int | None
    cards_per_node: int | None


def is_usable(value: float) -> bool:
    """Whether a throughput can be a measurement: finite, above 0, and not beyond every machine."""
    return SMALLEST <= value <= LARGEST


def is_card(server: int, rank: int, throughput: float | None) -> bool:
    """Whether this can be a card's measurement: places are counted from 0."""
    return server >= 0 and rank >= 0 and throughput is not None and is_usable(throughput)


def cards_found(result: CollectedResult) -> int:
    """How many different cards hold a usable number."""
    cards = result.rank_results
    return len({(card.server, card.rank) for card in cards if is_card(card.server, card.rank, card.throughput)})


def is_whole(result: CollectedResult) -> bool:
    """Whether each expected card is there exactly once, with a usable number."""
    return 0 < result.ranks_expected == len(result.rank_results) == cards_found(result)


def throughput(record: RunRecord) -> Throughput:
    """Computed from the cards; what an imported result reports, where it says nothing of cards."""
    result, spec = record.result, record.run.spec
    if record.imported is None:
        return computed(result, RunSize(spec.mode, spec.node_count, spec.cards_per_node))
    stated = record.imported.stated
    nodes = spec.node_count if "node_count" in stated else None
    if result and not result.rank_results:
        cards = spec.cards_per_node if "cards_per_node" in stated else None
        return reported(result.info.throughput_ratio, RunSize(spec.mode, nodes, cards))
    found = computed(result, RunSize(spec.mode, spec.node_count, spec.cards_per_node))
    return found if nodes or spec.mode is Mode.SINGLE_SERVER else replace(found, per_node=None)


def reported(total: float | None, sizes: RunSize) -> Throughput:
    """A mean over servers is one server's; what needs a count that is not known is not known either."""
    if total is None or not is_usable(total):
        return Throughput(AS_REPORTED)
    single = sizes.mode is Mode.SINGLE_SERVER
    per_node = total if single else total / sizes.node_count if sizes.node_count else None
    per_card = per_node / sizes.cards_per_node if per_node and sizes.cards_per_node else None
    return Throughput(AS_REPORTED, total, per_node, per_card)


def computed(result: CollectedResult | None, sizes: RunSize) -> Throughput:
    """Sum over ranks in cluster mode; in single-server mode the mean over servers of each server's sum."""
    cluster = sizes.mode is Mode.CLUSTER
    formula = SUM_OVER_RANKS if cluster else MEAN_OVER_SERVERS
    if result is None or not is_whole(result):
        return Throughput(formula)
    values = [card.throughput for card in result.rank_results]
    total = sum(values) if cluster else _mean_over_servers(result.rank_results)
    nodes, cards = sizes.node_count if cluster else 1, sizes.cards_per_node
    return Throughput(
        formula,
        total,
        per_node=total / nodes if nodes else None,
        per_card=total / (nodes * cards) if nodes and cards else None,
        rank_cv=variation(values),
        stragglers=_stragglers(result.rank_results),
    )


def variation(values: Sequence[float]) -> float | None:
    """Coefficient of variation (sample standard deviation / mean) of positive numbers; None for fewer than two."""
    if len(values) < 2:
        return None
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1)) / mean


def _mean_over_servers(cards: Sequence[RankResult]) -> float:
    sums: dict[int, float] = defaultdict(float)
    for card in cards:
        sums[card.server] += card.throughput
    return sum(sums.values()) / len(sums)


def _stragglers(cards: Sequence[RankResult]) -> tuple[RankResult, ...]:
    floor = median(card.throughput for card in cards) * STRAGGLER_SHARE
    slow = [card for card in cards if card.throughput < floor]
    return tuple(sorted(slow, key=lambda card: (card.server, card.rank)))

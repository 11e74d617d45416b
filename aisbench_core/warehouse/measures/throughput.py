"""A run's throughput, computed from those of its cards."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from aisbench_core.model import CollectedResult, Mode, RankResult, RunRecord

SUM_OVER_RANKS = "throughput-sum-over-ranks/1"
MEAN_OVER_SERVERS = "throughput-mean-over-servers-of-sums/1"
# Of a result without cards, which was imported or is in a log: the number that it reports.
AS_REPORTED = "throughput-as-reported/1"

# A card below this share of the run's median card is a straggler.
STRAGGLER_SHARE = 0.95

# No card is slower or faster; beyond, sums, squares and ratios would leave the range of floating point numbers.
SMALLEST, LARGEST = 1e-100, 1e100


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
    """Mode and size of a run; None where an imported result does not tell."""

    mode: Mode
    node_count: int | None
    cards_per_node: int | None


def is_usable(value: float) -> bool:
    """Whether a throughput can be a measurement: finite, positive and possible."""
    return SMALLEST <= value <= LARGEST


def is_card(server: int, rank: int, throughput: float | None) -> bool:
    """Whether this can be a card's measurement; servers and ranks count from 0."""
    return server >= 0 and rank >= 0 and throughput is not None and is_usable(throughput)


def count_cards(result: CollectedResult) -> int:
    """How many different cards have a usable number."""
    cards = result.rank_results
    return len({(card.server, card.rank) for card in cards if is_card(card.server, card.rank, card.throughput)})


def _is_complete(result: CollectedResult) -> bool:
    """Whether each expected card is there exactly once, with a usable number."""
    return 0 < result.ranks_expected == len(result.rank_results) == count_cards(result)


def derive_throughput(record: RunRecord) -> Throughput:
    """Computed from the cards; of a result without cards, which is imported or in a log, what it reports."""
    result, spec = record.result, record.run.spec
    if record.imported is None:
        if result and has_sum_only(result.rank_results, result.info.throughput_ratio):
            return adopt_reported(
                result.info.throughput_ratio, RunSize(spec.mode, spec.node_count, spec.cards_per_node)
            )
        return compute_throughput(result, RunSize(spec.mode, spec.node_count, spec.cards_per_node))
    stated = record.imported.stated
    nodes = spec.node_count if "node_count" in stated else None
    if result and not result.rank_results:
        cards = spec.cards_per_node if "cards_per_node" in stated else None
        return adopt_reported(result.info.throughput_ratio, RunSize(spec.mode, nodes, cards))
    of_cards = compute_throughput(result, RunSize(spec.mode, spec.node_count, spec.cards_per_node))
    return of_cards if nodes or spec.mode is Mode.SINGLE_SERVER else replace(of_cards, per_node=None)


def has_sum_only(cards: Sequence[RankResult], reported: float | None) -> bool:
    """Whether a result, such as one in a log, has a throughput but none of single cards."""
    return not cards and reported is not None


def adopt_reported(total: float | None, sizes: RunSize) -> Throughput:
    """In single-server mode the total is a mean over servers, so that of one server. Unknown sizes leave None."""
    if total is None or not is_usable(total):
        return Throughput(AS_REPORTED)
    single = sizes.mode is Mode.SINGLE_SERVER
    per_node = total if single else total / sizes.node_count if sizes.node_count else None
    per_card = per_node / sizes.cards_per_node if per_node and sizes.cards_per_node else None
    return Throughput(AS_REPORTED, total, per_node, per_card)


def compute_throughput(result: CollectedResult | None, sizes: RunSize) -> Throughput:
    """Sum over ranks in cluster mode; in single-server mode the mean over servers of each server's sum."""
    cluster = sizes.mode is Mode.CLUSTER
    formula = SUM_OVER_RANKS if cluster else MEAN_OVER_SERVERS
    if result is None or not _is_complete(result):
        return Throughput(formula)
    values = [card.throughput for card in result.rank_results]
    total = sum(values) if cluster else _mean_over_servers(result.rank_results)
    nodes, cards = sizes.node_count if cluster else 1, sizes.cards_per_node
    return Throughput(
        formula,
        total,
        per_node=total / nodes if nodes else None,
        per_card=total / (nodes * cards) if nodes and cards else None,
        rank_cv=compute_variation(values),
        stragglers=_find_stragglers(result.rank_results),
    )


def compute_variation(values: Sequence[float]) -> float | None:
    """Coefficient of variation (sample standard deviation / mean) of positive numbers; None for fewer than two."""
    if len(values) < 2:
        return None
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1)) / mean


def _mean_over_servers(cards: Sequence[RankResult]) -> float:
    # Server by server: another order of the sum differs in the last digits, and the record's hash covers them.
    sums: dict[int, float] = defaultdict(float)
    for card in cards:
        sums[card.server] += card.throughput
    return sum(sums.values()) / len(sums)


def _find_stragglers(cards: Sequence[RankResult]) -> tuple[RankResult, ...]:
    floor = median(card.throughput for card in cards) * STRAGGLER_SHARE
    slow = [card for card in cards if card.throughput < floor]
    return tuple(sorted(slow, key=lambda card: (card.server, card.rank)))

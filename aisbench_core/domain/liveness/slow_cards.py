"""Cards that have been slower than the others for minutes, from the step reports of a running job. Pure functions."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median

from aisbench_core.base.messages import Message, join_parts
from aisbench_core.domain.liveness.step_reports import StepReport

# A card is slow when it was in each of the last so many minutes in which it reported.
SLOW_MINUTES = 5
# Reports that are considered: an evaluation of some minutes, in which nothing is reported, may lie in between.
WINDOW = timedelta(minutes=15)
MIN_CARDS = 2

NAMED = 4  # slow cards that a message names, the slowest first


@dataclass(frozen=True, slots=True)
class CardRate:
    """The throughput of a card in its last minutes. `slow_since`: the beginning of the first slow one, if it is slow.

    `share`: of the median card's throughput in the same minutes."""

    node: int
    card: int
    rank: int
    throughput: float
    share: float
    slow_since: datetime | None = None


def card_rates(reports: Iterable[StepReport], bound: float | None) -> list[CardRate]:
    """Each card that reported lately, by node and card. `bound`: the share of the median below which one is slow.

    Minutes of the newest report and before count; the newest minute is not complete, so it does not."""
    newest = list(reports)
    until = max((report.at for report in newest), default=datetime.min.replace(tzinfo=UTC))
    cards: dict[tuple[int, int, int], dict[int, list[StepReport]]] = defaultdict(lambda: defaultdict(list))
    for report in newest:
        if until - report.at <= WINDOW and _to_minute(report.at) < _to_minute(until):
            cards[report.node, report.card, report.rank][_to_minute(report.at)].append(report)
    rates = {
        card: {minute: _compute_rate(parts) for minute, parts in minutes.items()} for card, minutes in cards.items()
    }
    medians = _compute_medians(rates)
    return [
        _card_rate(*card, {minute: rate for minute, rate in minutes.items() if minute in medians}, medians, bound)
        for card, minutes in sorted(rates.items())
        if minutes.keys() & medians.keys()
    ]


def slow_message(rates: Sequence[CardRate]) -> Message:
    """Which cards are slow, in one sentence."""
    slowest = sorted(rates, key=lambda rate: rate.share)
    cards = [
        Message(
            "card {card} of node {node} ({percent:.0f} % of the median)",
            card=rate.card,
            node=rate.node,
            percent=100 * rate.share,
        )
        for rate in slowest[:NAMED]
    ]
    more = [Message("and {count} more", count=len(rates) - NAMED)] if len(rates) > NAMED else []
    return Message("slow for {minutes} minutes: {cards}", minutes=SLOW_MINUTES, cards=join_parts(", ", [*cards, *more]))


def _compute_medians(rates: Mapping[tuple[int, int, int], Mapping[int, float]]) -> dict[int, float]:
    """The median card's rate in each minute in which several cards reported."""
    by_minute: dict[int, list[float]] = defaultdict(list)
    for minutes in rates.values():
        for minute, rate in minutes.items():
            by_minute[minute].append(rate)
    return {minute: median(values) for minute, values in by_minute.items() if len(values) >= MIN_CARDS}


def _card_rate(
    node: int, card: int, rank: int, minutes: Mapping[int, float], medians: Mapping[int, float], bound: float | None
) -> CardRate:
    last = sorted(minutes)[-SLOW_MINUTES:]
    shares = [minutes[minute] / medians[minute] for minute in last]
    is_slow = bound is not None and len(last) == SLOW_MINUTES and all(share < bound for share in shares)
    since = datetime.fromtimestamp(60 * last[0], UTC) if is_slow else None
    throughput = sum(minutes[minute] for minute in last) / len(last)
    return CardRate(node, card, rank, throughput, sum(shares) / len(shares), since)


def _compute_rate(reports: Sequence[StepReport]) -> float:
    return sum(report.samples for report in reports) / sum(report.seconds for report in reports)


def _to_minute(at: datetime) -> int:
    return int(at.timestamp()) // 60

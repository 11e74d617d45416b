"""Cards and servers of a result as rows."""

import math
from collections.abc import Iterator, Sequence

from aisbench_core.model import Mode, RankResult, RunRecord, RunSpec, ServerResult


def card_rows(record: RunRecord) -> list[list[object]]:
    """Each card of the result."""
    cards = record.result.rank_results if record.result else ()
    return [[record.run.run_id, card.server, card.rank, finite(card.throughput)] for card in cards]


def server_rows(record: RunRecord) -> list[list[object]]:
    """Each server of a single-server run; records of before did not keep them, and have the sums of their cards."""
    result = record.result
    if result is None or record.run.spec.mode is Mode.CLUSTER:
        return []
    servers = result.server_results or _sums(result.rank_results, record.run.spec)
    measured = not result.synthetic_data
    return [
        [record.run.run_id, server.server, finite(server.throughput), finite(server.accuracy) if measured else None]
        for server in servers
    ]


def _sums(cards: Sequence[RankResult], spec: RunSpec) -> Iterator[ServerResult]:
    for server in sorted({card.server for card in cards}):
        values = [card.throughput for card in cards if card.server == server]
        yield ServerResult(server, sum(values) if len(values) == spec.cards_per_node else None, None)


def place_of(card: RankResult, mode: Mode) -> str:
    """How a card is named: by its rank, and in single-server mode by its server, too."""
    return str(card.rank) if mode is Mode.CLUSTER else f"{card.server}/{card.rank}"


def finite(value: float | None) -> float | None:
    """The number, if it is one that can be stored."""
    return float(value) if value is not None and math.isfinite(value) else None

"""Cards by node: their spread, the stragglers among them, and a map that stays small however many there are."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median, quantiles

from duckdb import DuckDBPyConnection

from aisbench_core.domain.liveness.slow_cards import CardRate
from aisbench_core.warehouse.measures.throughput import STRAGGLER_SHARE
from aisbench_core.warehouse.tables.times import to_aware, to_naive_utc
from aisbench_core.warehouse.values.compared import RankCell, RankMap, RankSpread, Straggler

# Cells of a map: with more cards nodes become cells, and with more nodes neighbours share one.
MAX_CELLS = 1_500

# The slowest stragglers, which are listed; all of them are counted.
MAX_STRAGGLERS = 50

# In cluster mode ranks count through over all nodes, a single server counts its own. Each table gets the ids in a
# condition of its own, which lets the engine skip most of its blocks.
_CARDS = """
    cards as (
        select run_id, rank, throughput,
            case when mode = 'cluster' and cards_per_node > 0 then rank // cards_per_node else server end as node,
            case when mode = 'cluster' and cards_per_node > 0 then rank % cards_per_node else rank end as card
        from (from rank_results where run_id in (select unnest($run_ids::VARCHAR[])))
        join (from runs where run_id in (select unnest($run_ids::VARCHAR[]))) using (run_id)
        where throughput is not null)
"""

_SPREADS = f"""
    with {_CARDS},
    middle as (select run_id, median(throughput) * {STRAGGLER_SHARE} as floor from cards group by run_id)
    select run_id, count(*), count(distinct node), min(throughput), quantile_cont(throughput, 0.25),
        median(throughput), quantile_cont(throughput, 0.75), max(throughput),
        count(*) filter (where throughput < floor)
    from cards join middle using (run_id) group by run_id
"""

_CELLS = f"""
    with {_CARDS}
    select min(node) as first_node, max(node) as last_node, case when $by_card then card end as card,
        median(throughput), min(throughput), count(*), count(*) filter (where throughput < $floor)
    from cards group by node // $nodes_per_cell, case when $by_card then card end
    order by first_node, card
"""

_SLOWEST = f"""
    with {_CARDS}
    select node, card, rank, throughput from cards where throughput < $floor
    order by throughput, node, card limit {MAX_STRAGGLERS}
"""


def fetch_spreads(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> Mapping[str, RankSpread]:
    """The spread over the cards of each run, by run_id; runs without known cards are left out."""
    rows = cur.execute(_SPREADS, {"run_ids": list(run_ids)}).fetchall()
    return {run_id: RankSpread(*values) for run_id, *values in rows}


def rank_map(cur: DuckDBPyConnection, run_id: str) -> RankMap | None:
    """One run's cards by node, as at most MAX_CELLS cells; None when no cards are known."""
    spread = fetch_spreads(cur, [run_id]).get(run_id)
    if spread is None:
        return None
    by_card = spread.ranks <= MAX_CELLS
    nodes_per_cell = 1 if by_card else -(-spread.nodes // MAX_CELLS)
    floor = spread.median * STRAGGLER_SHARE
    parameters = {"run_ids": [run_id], "floor": floor}
    cells = cur.execute(_CELLS, parameters | {"by_card": by_card, "nodes_per_cell": nodes_per_cell}).fetchall()
    slowest = cur.execute(_SLOWEST, parameters).fetchall() if spread.stragglers else []
    return RankMap(
        run_id,
        spread,
        floor,
        tuple(RankCell(*values) for values in cells),
        tuple(Straggler(node, card, rank, value, value / spread.median) for node, card, rank, value in slowest),
    )


def live_rank_map(run_id: str, rates: Sequence[CardRate], bound: float | None) -> RankMap | None:
    """The cards by node, as at most MAX_CELLS cells; None with fewer than two cards.

    `bound`: as for `card_rates`; None: as for results."""
    if len(rates) < 2:
        return None
    values = [rate.throughput for rate in rates]
    floor = median(values) * (STRAGGLER_SHARE if bound is None else bound)
    low, middle, high = quantiles(values, n=4, method="inclusive")
    nodes = len({rate.node for rate in rates})
    slow = sorted((rate for rate in rates if rate.throughput < floor), key=lambda rate: rate.throughput)
    spread = RankSpread(len(rates), nodes, min(values), low, middle, high, max(values), len(slow))
    stragglers = tuple(
        Straggler(rate.node, rate.card, rate.rank, rate.throughput, rate.throughput / middle)
        for rate in slow[:MAX_STRAGGLERS]
    )
    return RankMap(run_id, spread, floor, tuple(_build_cells(rates, nodes, floor)), stragglers)


def _build_cells(rates: Sequence[CardRate], nodes: int, floor: float) -> list[RankCell]:
    by_card = len(rates) <= MAX_CELLS
    nodes_per_cell = 1 if by_card else -(-nodes // MAX_CELLS)
    cells: dict[tuple[int, int | None], list[CardRate]] = defaultdict(list)
    for rate in rates:
        cells[rate.node // nodes_per_cell, rate.card if by_card else None].append(rate)
    return [
        _build_cell(card, cell, floor) for (_, card), cell in sorted(cells.items(), key=lambda item: item[1][0].node)
    ]


def _build_cell(card: int | None, rates: Sequence[CardRate], floor: float) -> RankCell:
    values, nodes = [rate.throughput for rate in rates], [rate.node for rate in rates]
    slow = sum(value < floor for value in values)
    return RankCell(min(nodes), max(nodes), card, median(values), min(values), len(rates), slow)


LAST_RUNS = 5
# Older runs say little about a node, and leave the cost independent of the history.
WINDOW = timedelta(days=90)
MAX_NODES = 200


@dataclass(frozen=True, slots=True)
class NodeHistory:
    """A node by its name in the cloud: in how many of its last `runs` it had a slow card, the newest at `last_at`.

    `shares`: the median of its cards over that of all cards of each run, and `run_ids`, the newest first. `differs`: in
    what it differed from the other nodes of the newest run in which it did."""

    host: str
    slow: int
    runs: int
    last_at: datetime
    shares: tuple[float, ...]
    run_ids: tuple[str, ...]
    differs: str = ""


# Times of runs grow with the rows, so most blocks of older ones are skipped.
_SLOW = f"""
    with numbered as (
        select host, run_id, ended_at, share, slow_cards, nullif(differs, '') as differs,
            row_number() over (partition by host order by ended_at desc, run_id desc) as number
        from node_results
        where ended_at >= $since and region = $region and rehearsal = $rehearsal)
    select host, count(*) filter (slow_cards > 0), count(*), max(ended_at), list(share order by number),
        list(run_id order by number), coalesce(first(differs order by number) filter (differs is not null), '')
    from numbered where number <= {LAST_RUNS} group by host
    having count(*) filter (slow_cards > 0 or differs is not null) > 0
    order by count(*) filter (slow_cards > 0) desc, count(*), min(share), host limit {MAX_NODES}
"""


def slow_nodes(cur: DuckDBPyConnection, region: str, *, rehearsal: bool, now: datetime) -> list[NodeHistory]:
    """The nodes of a region that were slow in any of their last LAST_RUNS runs, or differed from the others of their
    run; the most often slow ones first."""
    parameters = {"since": to_naive_utc(now) - WINDOW, "region": region, "rehearsal": rehearsal}
    return [
        NodeHistory(host, slow, runs, to_aware(last_at), tuple(shares), tuple(run_ids), differs)
        for host, slow, runs, last_at, shares, run_ids, differs in cur.execute(_SLOW, parameters).fetchall()
    ]


_HOSTS = """
    select host, max_by(run_id, (ended_at, run_id)) from node_results
    where contains(lower(host), lower($text)) group by host order by max(ended_at) desc, host limit $limit
"""


def find_hosts(cur: DuckDBPyConnection, text: str, limit: int) -> list[tuple[str, str]]:
    """Nodes that have a text in their name, with the newest run of each; those that ran last come first."""
    return cur.execute(_HOSTS, {"text": text, "limit": limit}).fetchall()


def find_node_shares(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> dict[str, dict[str, float]]:
    """By run: the median of each named node's cards over that of all cards, as far as measured.

    Nodes of one name, as those of a sandbox are, are told apart by their numbers."""
    cur.execute(
        """select run_id,
            case when count(*) over (partition by run_id, host) > 1 then host || ' #' || node else host end,
            share from node_results where share > 0 and host <> '' and run_id in (select unnest(?::VARCHAR[]))""",
        [list(run_ids)],
    )
    shares: dict[str, dict[str, float]] = defaultdict(dict)
    for run_id, name, share in cur.fetchall():
        shares[run_id][name] = share
    return dict(shares)

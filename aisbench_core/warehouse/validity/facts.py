"""The facts that validity rules check, from the cells of a run being recorded, or of many stored runs at once.

Both ways give the same values, so that checking a stored run again gives the same verdict as recording it. One way for
both is slower: asking the tables about one run takes longer than storing it, and summarizing the cards of many runs in
Python twice as long as in SQL.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any, NamedTuple

from duckdb import DuckDBPyConnection

from aisbench_core.base.messages.stored import from_json, list_from_json
from aisbench_core.model.columns import RESULTS, RUNS, Kind, stored_in
from aisbench_core.warehouse.measures.throughput import LARGEST, SMALLEST, is_card

# Cards that a check names, at most.
SHOWN = 8

Card = tuple[int, int, float | None]
"""Server, rank, throughput; None where the file held no finite number."""


class Cards(NamedTuple):
    """How many cards of a run were stored, and which are conspicuous."""

    stored: int = 0
    unusable: Sequence[Card] = ()
    slow: int = 0
    slowest: Sequence[Card] = ()
    """Those that are `slow`, by server and rank, the first SHOWN of them."""


class Facts(NamedTuple):
    """The facts of one run. Times are microseconds since 1970, UTC; None is not measured."""

    run_id: str
    state: str
    detail: str
    detail_data: str | None
    rehearsal: bool
    imported: bool
    synthetic_data: bool
    workload: str
    model: str
    throughput_definition: str
    code_sha256: str
    card_count: int | None
    accuracy_target: float | None
    accuracy_target_source: str
    set_aside: str
    created_at: int | None
    submitted_at: int | None
    started_at: int | None
    ended_at: int | None
    imported_at: int | None
    duration_s: float | None
    division: str | None
    system_fields: int | None
    test_model: str | None
    problems: str | None
    problems_data: str | None
    accuracy: float | None
    throughput_ratio: float | None
    average_power: float | None
    max_power: float | None
    energy_consumption: float | None
    efficientcy: float | None
    resource_util_ratio: float | None
    prepare_start_time: int | None
    prepare_end_time: int | None
    dataload_start_time: int | None
    dataload_end_time: int | None
    proc_start_time: int | None
    proc_end_time: int | None
    total_start_time: int | None
    total_end_time: int | None
    throughput: float | None
    formula_id: str
    ranks_expected: int | None
    ranks_found: int | None
    lowest_accuracy: float | None
    highest_accuracy: float | None
    cards: Cards

    @property
    def how_it_ended(self) -> str:
        """The detail, as a Message if its data was stored."""
        return from_json(self.detail, self.detail_data)

    @property
    def objections(self) -> Sequence[str]:
        """The problems of collecting, as Messages where their data was stored."""
        # Hardly any run has problems, and parsing is asked for by each evaluation.
        if self.problems in (None, "", "[]"):
            return []
        return list_from_json(json.loads(self.problems), self.problems_data)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
_MICROSECOND = timedelta(microseconds=1)


def _to_micros(at: datetime | None) -> int | None:
    return None if at is None else (at - _EPOCH) // _MICROSECOND


_Reading = tuple[str, Callable[[Mapping[str, Any]], Any]]
"""How to read a fact: in SQL over `runs join results`, and from the cells of both."""

_COLUMNS = {column.stored_name: column for table in (RUNS, RESULTS) for column in stored_in(table)}
_DERIVED: Mapping[str, _Reading] = {
    "imported": ("origin = 'imported'", lambda cells: cells["origin"] == "imported"),
    "division": ("system->>'$.division'", lambda cells: json.loads(cells["system"]).get("division")),
    "test_model": ("tester->>'$.test_model'", lambda cells: json.loads(cells["tester"]).get("test_model")),
    "throughput": ("throughput_cluster", itemgetter("throughput_cluster")),
}
_OF_LISTS = ("lowest_accuracy", "highest_accuracy", "cards")  # of servers and cards, which have tables of their own


def _find_reading(name: str) -> _Reading:
    if name in _DERIVED:
        return _DERIVED[name]
    if _COLUMNS[name].kind is Kind.TIME:
        return f"epoch_us({name})", lambda cells: _to_micros(cells[name])
    return name, itemgetter(name)


_READINGS = [_find_reading(name) for name in Facts._fields if name not in _OF_LISTS]
_STORED = ", ".join(sql for sql, _ in _READINGS)

_USABLE = f"(throughput between {SMALLEST!r} and {LARGEST!r} and server >= 0 and rank >= 0)"
_NAMED = "list([server, rank, throughput] order by server, rank, throughput nulls last)"

_FACTS = f"""
    with chosen as materialized (select unnest($run_ids::VARCHAR[]) as run_id),
    ranks as (
        select run_id, server::DOUBLE as server, rank::DOUBLE as rank, throughput
        from rank_results where run_id in (from chosen)),
    medians as (
        select run_id, stored, any_unusable, list_extract(sorted, (stored + 1) // 2) as lower,
            list_extract(sorted, stored // 2 + 1) as upper
        from (select run_id, count(*) as stored, list_sort(list(throughput)) as sorted,
            bool_or({_USABLE}) is null or not bool_and(coalesce({_USABLE}, false)) as any_unusable
            from ranks group by run_id)),
    unusable as (
        select run_id, {_NAMED} as cards from ranks where not coalesce({_USABLE}, false) group by run_id),
    slow as (
        select run_id, count(*) as slow, {_NAMED} as cards
        from ranks join medians using (run_id)
        where not any_unusable and throughput < (lower + upper) / 2 * $share group by run_id),
    of_servers as (
        select run_id, min(accuracy) as least_accuracy, max(accuracy) as most_accuracy
        from server_results where run_id in (from chosen) group by run_id)
    select {_STORED}, least_accuracy, most_accuracy, coalesce(stored, 0), list_slice(unusable.cards, 1, {SHOWN}),
        coalesce(slow, 0), list_slice(slow.cards, 1, {SHOWN})
    from chosen join runs using (run_id) join results using (run_id)
        left join medians using (run_id) left join unusable using (run_id) left join slow using (run_id)
        left join of_servers using (run_id)
"""

_CARDS = 4
BATCH = 2000


def stored_facts(cur: DuckDBPyConnection, run_ids: Sequence[str], share: float) -> Iterator[Facts]:
    """The facts of those of the runs that are stored. `share` of the median card: below it a card is slow.

    Iterate to the end before the cursor is used again."""
    cur.execute(_FACTS, {"run_ids": list(run_ids), "share": share})
    while rows := cur.fetchmany(BATCH):
        for row in rows:
            stored, unusable, slow, slowest = row[-_CARDS:]
            yield Facts._make((*row[:-_CARDS], Cards(stored, _to_cards(unusable), slow, _to_cards(slowest))))


def _to_cards(rows: Sequence[Sequence[Any]] | None) -> Sequence[Card]:
    return [(int(server), int(rank), throughput) for server, rank, throughput in rows] if rows else ()


def facts_of(
    run: Mapping[str, Any],
    result: Mapping[str, Any],
    cards: Sequence[Sequence[Any]],
    servers: Sequence[Sequence[Any]],
    share: float,
) -> Facts:
    """The facts of a run from the cells that will be stored."""
    cells = {**run, **result}
    accuracies = [accuracy for *_, accuracy in servers if accuracy is not None]
    summary = _summarize_cards([(server, rank, throughput) for _, server, rank, throughput in cards], share)
    extremes = min(accuracies, default=None), max(accuracies, default=None)
    return Facts._make((*(read(cells) for _, read in _READINGS), *extremes, summary))


def _summarize_cards(cards: Sequence[Card], share: float) -> Cards:
    ordered = sorted(cards, key=lambda card: (*card[:2], card[2] is None, card[2] or 0.0))
    unusable = [card for card in ordered if not is_card(*card)]
    values = sorted(throughput for *_, throughput in cards if throughput is not None)
    if unusable or not values:
        return Cards(len(cards), unusable[:SHOWN])
    floor = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2 * share
    slow = [card for card in ordered if card[2] is not None and card[2] < floor]
    return Cards(len(cards), (), len(slow), slow[:SHOWN])

"""The kept standings of groups: whatever is recorded, replaced or removed, answers are what counting all runs gives."""

import random
from collections.abc import Iterator
from dataclasses import replace

import duckdb
import pytest

from aisbench_core.model import RunRecord, RunState
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.queries.group_statistics import (
    COLUMNS,
    MAX_DUE,
    TURNS,
    build_current_sql,
    build_statistics_sql,
    is_turn,
)
from aisbench_core.warehouse.store import file_store
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a

BOARD = BoardQuery("cn-north-9", include_invalid=True)


def kept(warehouse: Warehouse) -> list[tuple[object, ...]]:
    """The standings as they are read."""
    with warehouse.cursor() as cur:
        return cur.execute(f"select {', '.join(COLUMNS)} from {build_current_sql(cur)} order by group_id").fetchall()


def counted_anew(warehouse: Warehouse) -> list[tuple[object, ...]]:
    """The standings as all runs give them."""
    with warehouse.cursor() as cur:
        return cur.execute(f"from ({build_statistics_sql('true')}) order by group_id").fetchall()


def due(warehouse: Warehouse) -> int:
    with warehouse.cursor() as cur:
        return int(cur.execute("select count(distinct group_id) from group_statistics_due").fetchall()[0][0])


@pytest.fixture
def held(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> Iterator[Warehouse]:
    """A warehouse whose file stays open however long the test takes: nothing is forgotten from one run to the next."""
    monkeypatch.setattr(file_store, "HOLD_S", 600)
    with warehouse.cursor():
        yield warehouse


def some_run(luck: random.Random) -> RunRecord:
    """One of twelve runs, in one of many shapes."""
    return a.record(
        f"run-{luck.randrange(12)}",
        throughputs=[luck.uniform(900, 1100) for _ in range(8)],
        state=luck.choice([RunState.COMPLETED, RunState.COMPLETED, RunState.FAILED]),
        accuracy=luck.choice([0.76, 0.77, 0.0]),
        rehearsal=luck.random() < 0.2,
        flavor=luck.choice(["", "kat1", "kat2"]),
        pool_id=luck.choice(["", "pool"]),
        with_result=luck.random() < 0.9,
    )


def test_what_is_kept_is_what_counting_gives(warehouse: Warehouse) -> None:
    luck = random.Random(5)
    for step in range(20):
        if step % 5 == 4:
            warehouse.record_many([some_run(luck) for _ in range(4)])
        else:
            warehouse.record(some_run(luck))

        assert kept(warehouse) == counted_anew(warehouse)

    warehouse.rebuild([some_run(luck) for _ in range(3)])

    assert kept(warehouse) == counted_anew(warehouse)
    assert due(warehouse) == 0


def test_no_more_than_some_groups_stay_due(warehouse: Warehouse) -> None:
    names = [name for name in (f"run-{number}" for number in range(2 * MAX_DUE)) if not is_turn(name)]
    for number, name in enumerate(names[: MAX_DUE + 1]):
        warehouse.record(a.record(name, flavor=f"kat{number}"))
        assert due(warehouse) <= MAX_DUE

    assert due(warehouse) == 0
    assert warehouse.board.list_rows(BOARD).total == MAX_DUE + 1


def test_no_more_than_some_runs_stay_uncounted(warehouse: Warehouse) -> None:
    names = [f"run-{number}" for number in range(20 * TURNS)]
    taking_turns = [name for name in names if is_turn(name)]
    warehouse.record(a.record("first"))
    assert due(warehouse) == 1

    warehouse.record(a.record(taking_turns[0]))

    assert due(warehouse) == 0
    assert 10 < len(taking_turns) < 30
    assert [row.runs for row in warehouse.board.list_rows(BOARD).rows] == [2]


def test_what_others_do_between_two_runs_is_seen(held: Warehouse) -> None:
    held.record(a.record("run-1"))
    held.rebuild([])
    held.record(a.record("run-2"))

    assert kept(held) == counted_anew(held)
    assert [row.runs for row in held.board.list_rows(BOARD).rows] == [1]


@pytest.mark.every_store
def test_a_run_that_could_not_be_stored_leaves_nothing_behind(held: Warehouse) -> None:
    whole = a.record("run-2", flavor="kat2")
    beyond = replace(whole, run=replace(whole.run, series_index=2**40))
    held.record(a.record("run-1"))
    with pytest.raises(duckdb.Error, match="Conversion"):
        held.record(beyond)
    held.record(a.record("run-3", flavor="kat2"))

    assert kept(held) == counted_anew(held)
    assert [row.runs for row in held.board.list_rows(BOARD).rows] == [1, 1]


@pytest.mark.every_store
def test_a_group_without_runs_is_offered_no_more(warehouse: Warehouse) -> None:
    warehouse.record(a.record("run-1", flavor="kat1"))
    warehouse.record(a.record("run-1", flavor="kat2"))

    assert warehouse.facets.fetch_values("cn-north-9").flavors == ("kat2",)
    assert [row.flavor for row in warehouse.board.list_rows(BOARD).rows] == ["kat2"]
    assert warehouse.runs.list_rows(replace(BOARD, sort="created_at")).total == 1
    assert [(each.region, each.runs) for each in warehouse.facets.list_regions()] == [("cn-north-9", 1)]


def test_the_newest_runs_come_first_however_far_apart_they_are(warehouse: Warehouse) -> None:
    times = [a.T0.replace(year=year) for year in (2010, 2020, 2024, 2026)]
    warehouse.record_many([a.record(f"run-{at.year}", created_at=at) for at in times])
    newest = replace(BOARD, sort="created_at", limit=2)

    pages = [warehouse.runs.list_rows(replace(newest, offset=offset)) for offset in (0, 2, 4)]

    assert [[row.run_id for row in page.rows] for page in pages] == [
        ["run-2026", "run-2024"],
        ["run-2020", "run-2010"],
        [],
    ]
    assert [page.total for page in pages] == [4, 4, 4]


def test_a_standing_that_is_not_what_its_runs_say_is_found_and_mended(warehouse: Warehouse) -> None:
    warehouse.record_many([a.record(f"run-{number}", flavor=f"kat{number % 3}") for number in range(6)])
    sound = warehouse.check([]).damages
    with warehouse.cursor() as cur:
        cur.execute("update group_statistics set throughput = throughput * 1.01, runs = 7 where flavor = 'kat0'")
        cur.execute("update group_statistics set mean = mean * (1 + 1e-14) where flavor = 'kat1'")
        cur.execute("delete from group_statistics where flavor = 'kat2'")

    found = warehouse.check([]).damages
    mended = warehouse.check([], mend=True).damages

    assert (sound, mended) == ((), ())
    assert [each.where.rsplit(", ", 1)[1] for each in found] == ["kat0", "kat2"]
    assert "runs, throughput" in found[0].sentence
    assert found[0].hint == "run `aisbench warehouse check --mend`"
    assert warehouse.board.list_rows(BOARD).total == 3

"""Leaderboard, run list and facets: honest statistics, one kind at a time, pages made in SQL."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import product
from statistics import mean, median, stdev

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aisbench_core.base.errors import SpecError
from aisbench_core.model import RunState
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.measures.fingerprint import compute_fingerprint
from aisbench_core.warehouse.measures.sorts import BOARD_SORTS, RUN_SORTS
from aisbench_core.warehouse.values.boards import BoardRow
from aisbench_core.warehouse.values.runs import BoardQuery, Facets, RegionFacts
from tests import records as a

BOARD = BoardQuery("cn-north-9")


def only_row(warehouse: Warehouse, query: BoardQuery = BOARD) -> BoardRow:
    (row,) = warehouse.board.list_rows(query).rows
    return row


def test_an_empty_warehouse_has_an_empty_board(warehouse: Warehouse) -> None:
    page = warehouse.board.list_rows(BOARD)

    assert (page.rows, page.total, page.rehearsal) == ((), 0, False)
    assert warehouse.facets.list_regions() == []
    assert warehouse.facets.fetch_values("cn-north-9") == Facets()
    assert warehouse.runs.list_rows(BOARD).total == 0
    assert warehouse.runs.find_row("run-1") is None


def test_equal_runs_make_one_row_with_their_statistics(warehouse: Warehouse) -> None:
    totals = [8000.0, 8400.0, 8100.0, 7000.0, 8200.0]
    warehouse.rebuild(a.records(totals))

    row = only_row(warehouse)

    assert row.runs == 5
    assert row.best == 8400
    assert row.throughput == row.per_node == median(totals) == 8100
    assert row.per_card == 8100 / 8
    assert row.olympic_mean == pytest.approx(mean([8000, 8100, 8200]))
    assert row.cv == pytest.approx(stdev(totals) / mean(totals))
    assert row.best_run_id == "run-1"
    assert row.best_by == "ann"
    assert row.latest_run_id == "run-4"
    assert row.latest_at == a.T0 + timedelta(minutes=4)


def test_below_five_runs_nothing_is_dropped_and_one_run_has_no_spread(warehouse: Warehouse) -> None:
    warehouse.rebuild(a.records([8000, 8100, 8200, 8300]))
    assert only_row(warehouse).olympic_mean is None

    warehouse.rebuild(a.records([8000]))

    row = only_row(warehouse)
    assert (row.cv, row.ci_low, row.ci_high) == (None, None, None)
    assert row.rank == "1"


@pytest.mark.parametrize("warehouse", ["file"], indirect=True)  # the same SQL, and its sums do not know where rows lie
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(1e-3, 1e6), min_size=2, max_size=9))
def test_the_statistics_are_those_of_python(warehouse: Warehouse, totals: list[float]) -> None:
    warehouse.rebuild(a.records(totals))

    row = only_row(warehouse)

    assert row.best == pytest.approx(max(totals))
    assert row.throughput == pytest.approx(median(totals))
    assert row.mean == pytest.approx(mean(totals))
    assert row.cv == pytest.approx(stdev(totals) / mean(totals), abs=1e-9)


def test_invalid_runs_never_enter_a_statistic(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [
            *a.records([8000]),
            a.record("faster-but-wrong", throughputs=[9000.0] * 8, accuracy=7.0),
            a.record("stopped", throughputs=[9000.0] * 8, state=RunState.STOPPED),
        ]
    )

    row = only_row(warehouse, replace(BOARD, include_invalid=True))

    assert (row.runs, row.invalid, row.incomplete) == (1, 1, 1)
    assert row.best == 8000
    assert row.best_run_id == "run-0"


def test_a_group_without_a_valid_run_is_one_click_away_and_says_why(warehouse: Warehouse) -> None:
    warehouse.rebuild([a.record("wrong", accuracy=7.0), a.record("stopped", node_count=2, state=RunState.STOPPED)])
    assert warehouse.board.list_rows(BOARD).total == 0

    page = warehouse.board.list_rows(replace(BOARD, include_invalid=True, sort="node_count", descending=False))

    assert [(row.reason, row.rank, row.throughput) for row in page.rows] == [("V06", "", None), ("stopped", "", None)]


def test_what_people_compare_along_makes_rows_of_its_own(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [
            a.record("base"),
            a.record("same"),
            a.record("version", framework_version="r2.0"),
            a.record("nodes", node_count=2),
            a.record("flavor", flavor="modelarts.kat2.8xlarge"),
            a.record("batch", speed_parameters={"epoch_size": 90, "batch_size": 512}),
            a.record("definition", facts=replace(a.FACTS, throughput_definition="r13_warmup_excluded")),
            a.record("synthetic", synthetic_data=True),
        ]
    )

    rows = warehouse.board.list_rows(BOARD).rows

    assert sorted(row.runs for row in rows) == [1, 1, 1, 1, 1, 1, 2]
    assert [row.synthetic_data for row in rows].count(True) == 1


def test_dedicated_pools_make_rows_of_their_own(warehouse: Warehouse) -> None:
    for pool, speed in (("pool-a", 1000.0), ("pool-b", 3000.0)):
        warehouse.record(a.record(f"in-{pool}", throughputs=[speed] * 8, flavor="", pool_id=pool))

    rows = warehouse.board.list_rows(BOARD).rows

    assert [(row.pool_id, row.throughput) for row in rows] == [("pool-b", 24000.0), ("pool-a", 8000.0)]


def test_accuracy_on_synthetic_data_is_not_on_the_board(warehouse: Warehouse) -> None:
    warehouse.record(a.record(synthetic_data=True))

    row = only_row(warehouse)

    assert row.best_accuracy is None
    assert row.median_accuracy is None


def test_a_fingerprint_leaves_out_the_dimensions_of_comparison() -> None:
    base = compute_fingerprint(a.spec(), a.FACTS)

    same = [a.spec(framework_version="r2.0"), a.spec(flavor="x"), a.spec(node_count=4), a.spec(cards_per_node=4)]
    assert {compute_fingerprint(spec, a.FACTS) for spec in same} == {base}
    assert compute_fingerprint(a.spec(workload="other"), a.FACTS) != base
    assert compute_fingerprint(a.spec(mode="single_server"), a.FACTS) != base
    assert compute_fingerprint(a.spec(), replace(a.FACTS, dataset="other")) != base
    assert compute_fingerprint(a.spec(), replace(a.FACTS, speed_parameters={"epoch_size": "90"})) != base


def test_rehearsals_and_measurements_are_never_on_one_board(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [a.record("real"), a.record("practice", rehearsal=True), a.record("s", region="sandbox", rehearsal=True)]
    )

    measured, rehearsed = warehouse.board.list_rows(BOARD), warehouse.board.list_rows(replace(BOARD, rehearsal=True))

    assert [row.best_run_id for row in measured.rows] == ["real"]
    assert [row.best_run_id for row in rehearsed.rows] == ["practice"]
    assert (measured.rehearsal, rehearsed.rehearsal) == (False, True)
    assert warehouse.board.list_rows(BoardQuery("sandbox")).rehearsal
    assert warehouse.board.list_rows(BoardQuery("sandbox", models=("none",))).rehearsal
    assert warehouse.facets.list_regions() == [
        RegionFacts("cn-north-9", rehearsal=False, runs=1),
        RegionFacts("cn-north-9", rehearsal=True, runs=1),
        RegionFacts("sandbox", rehearsal=True, runs=1),
    ]


def test_regions_of_launched_runs_come_before_imported_ones(warehouse: Warehouse) -> None:
    imported = a.all_known(a.imported())
    warehouse.rebuild([replace(imported, region="before"), a.record("real"), replace(a.record("try"), rehearsal=True)])

    regions = warehouse.facets.list_regions()

    assert [(each.region, each.rehearsal) for each in regions] == [
        ("cn-north-9", False),
        ("cn-north-9", True),
        ("before", False),
    ]


def assert_sorted(rows: Sequence[object], sort: str, *, descending: bool) -> None:
    """By this column, in this order, and what is not known comes last."""
    values = [getattr(row, sort) for row in rows]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=descending), (sort, descending)
    assert values[: len(known)] == known, (sort, descending)


def test_the_board_can_be_sorted_by_each_column_with_empty_values_last(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [*a.records([8000, 8100]), a.record("two", node_count=2, synthetic_data=True), a.record("bad", accuracy=7.0)]
    )

    for sort, descending in product(BOARD_SORTS, (True, False)):
        page = warehouse.board.list_rows(replace(BOARD, sort=sort, descending=descending, include_invalid=True))

        assert len(page.rows) == 2
        assert_sorted(page.rows, sort, descending=descending)


@pytest.mark.every_store
def test_runs_can_be_sorted_by_each_column_with_empty_values_last(warehouse: Warehouse) -> None:
    warehouse.rebuild([*a.records([8000, 8100]), a.record("bad", with_result=False, state=RunState.FAILED)])

    for sort in RUN_SORTS:
        page = warehouse.runs.list_rows(replace(BOARD, sort=sort, include_invalid=True))

        assert len(page.rows) == 3
        assert_sorted(page.rows, sort, descending=True)


@pytest.mark.parametrize("bad", [{"sort": "throughput; drop table runs"}, {"limit": 0}, {"offset": -1}])
def test_a_page_that_makes_no_sense_names_the_field(warehouse: Warehouse, bad: dict[str, object]) -> None:
    query = replace(BOARD, **bad)  # type: ignore[arg-type]  # one field of the query
    for ask in (warehouse.board.list_rows, warehouse.runs.list_rows):
        with pytest.raises(SpecError, match=next(iter(bad))):
            ask(query)


@pytest.mark.every_store
def test_filters_choose_runs_and_facets_name_what_there_is(warehouse: Warehouse) -> None:
    bert = replace(a.FACTS, model="bert_large")
    warehouse.rebuild(
        [
            a.record("one"),
            a.record("two", node_count=2, flavor="f2", created_by="bob"),
            a.record("bert", workload="mindspore_bert", framework_version="r2.0", facts=bert),
            a.record("elsewhere", region="cn-east-3", flavor="f9"),
        ]
    )

    def chosen(**fields: object) -> list[str]:
        query = replace(BOARD, sort="run_id", descending=False, **fields)  # type: ignore[arg-type]  # fields of the query
        return [row.run_id for row in warehouse.runs.list_rows(query).rows]

    assert chosen() == ["bert", "one", "two"]
    assert chosen(models=("bert_large",)) == ["bert"]
    assert chosen(workloads=("mindspore_bert", "mindspore_resnet")) == ["bert", "one", "two"]
    assert chosen(framework_versions=("r2.0",)) == ["bert"]
    assert chosen(flavors=("f2",)) == ["two"]
    assert chosen(node_counts=(2, 3)) == ["two"]
    assert chosen(text="BOB") == ["two"]
    assert chosen(text="'; drop table runs; --") == []
    assert chosen(fingerprint=compute_fingerprint(a.spec(), a.FACTS)) == ["one", "two"]
    assert chosen(synthetic_data=True) == []
    assert warehouse.facets.fetch_values("cn-north-9") == Facets(
        models=("bert_large", "resnet50_v1.5"),
        workloads=("mindspore_bert", "mindspore_resnet"),
        framework_versions=("r1.10", "r2.0"),
        flavors=("f2", "modelarts.kat1.8xlarge"),
        node_counts=(1, 2),
        rulesets=("aisbench/1",),
    )


def test_the_run_list_is_paged_with_its_total(warehouse: Warehouse) -> None:
    warehouse.rebuild(a.records([8000.0] * 7))

    pages = [
        warehouse.runs.list_rows(replace(BOARD, sort="created_at", limit=3, offset=offset)) for offset in (0, 3, 6, 9)
    ]

    assert [row.run_id for page in pages for row in page.rows] == [f"run-{number}" for number in range(6, -1, -1)]
    assert [page.total for page in pages] == [7, 7, 7, 7]


def test_only_valid_runs_are_listed_unless_asked_for(warehouse: Warehouse) -> None:
    warehouse.rebuild([*a.records([8000]), a.record("bad", accuracy=7.0)])

    assert [row.run_id for row in warehouse.runs.list_rows(BOARD).rows] == ["run-0"]
    assert warehouse.runs.list_rows(replace(BOARD, include_invalid=True)).total == 2

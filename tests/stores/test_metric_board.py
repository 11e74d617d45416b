"""The leaderboard by a named metric: its own numbers, unit and direction, and never two units in one ranking."""

from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.model import Better, Combined, PrimaryMetric, RunMetric, RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a

QUERY = BoardQuery("cn-north-9")


def with_metric(
    record: RunRecord, value: float, unit: str = "J/token", better: Better = Better.LOWER, name: str = "energy"
) -> RunRecord:
    return replace(record, metrics=(RunMetric(name, value, unit, better, Combined.MEAN),))


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


def fast_and_frugal() -> list[RunRecord]:
    """Two versions: the faster one needs more energy."""
    fast = a.records([9000.0, 9100.0, 9200.0], "fast", framework_version="r1.9")
    frugal = a.records([5000.0, 5100.0, 5200.0], "frugal", framework_version="r1.10")
    return [with_metric(run, 8.0 + n) for n, run in enumerate(fast)] + [
        with_metric(run, 2.0 + n / 10) for n, run in enumerate(frugal)
    ]


def test_a_metric_of_which_less_is_better_ranks_the_lowest_first(warehouse: Warehouse) -> None:
    warehouse.record_many([*fast_and_frugal(), a.record("without")])

    [benchmark] = warehouse.board.list_benchmarks(replace(QUERY, metric="energy"), 10).rows

    assert [(row.framework_version, row.throughput, row.rank) for row in benchmark.rows] == [
        ("r1.10", 2.1, "1"),
        ("r1.9", 9.0, "2"),
    ]
    best = benchmark.rows[0]
    assert (best.best, best.best_run_id, best.throughput_unit) == (2.0, "frugal-0", "J/token")
    assert best.is_lower_better
    assert best.ci_low is not None
    assert best.ci_high is not None
    assert best.ci_low < 2.1 < best.ci_high
    assert best.runs == 3


def test_the_throughput_is_what_it_was(warehouse: Warehouse) -> None:
    warehouse.record_many(fast_and_frugal())
    before = warehouse.board.list_rows(QUERY)

    warehouse.board.list_rows(replace(QUERY, metric="energy"))

    assert warehouse.board.list_rows(QUERY) == before
    assert [row.framework_version for row in before.rows] == ["r1.9", "r1.10"]


def test_a_metric_in_two_units_is_never_in_one_ranking(warehouse: Warehouse) -> None:
    warehouse.record_many(
        [
            with_metric(a.record("joule"), 2.0, "J/token"),
            with_metric(a.record("kilo", framework_version="r1.9"), 0.001, "kJ/token"),
            with_metric(a.record("same"), 0.002, "kJ/token"),
        ]
    )

    page = warehouse.board.list_benchmarks(replace(QUERY, metric="energy"), 10)

    assert [{(row.throughput_unit, row.rank) for row in block.rows} for block in page.rows] == [
        {("J/token", "1")},
        {("kJ/token", "1"), ("kJ/token", "2")},
    ]


def test_a_metric_of_two_definitions_is_never_in_one_ranking(warehouse: Warehouse) -> None:
    def counted(run_id: str, value: float, way: str) -> RunRecord:
        metric = RunMetric("tokens_per_s", value, "tokens/s", Better.HIGHER, Combined.SUM, f"tokens/{way}/steps/11-50")
        return replace(a.record(run_id), metrics=(metric,))

    warehouse.record_many([counted("real", 2000.0, "counted"), counted("nominal", 2048.0, "nominal")])

    page = warehouse.board.list_benchmarks(replace(QUERY, metric="tokens_per_s"), 10)

    assert sorted([(row.throughput, row.rank) for row in block.rows] for block in page.rows) == [
        [(2000.0, "1")],
        [(2048.0, "1")],
    ]


@pytest.mark.parametrize(
    ("said", "is_lower"),
    [("hhhhhl", False), ("lllllh", True), ("hl", True), ("lh", False), ("nnl", True)],
)
def test_most_runs_say_which_way_is_better_and_the_newest_if_they_are_even(
    warehouse: Warehouse, said: str, is_lower: bool
) -> None:
    ways = {"h": Better.HIGHER, "l": Better.LOWER, "n": Better.NEITHER}
    runs = a.records([100.0 + number for number in range(len(said))])
    warehouse.record_many(
        with_metric(run, 1.0 + number, better=ways[one])
        for number, (run, one) in enumerate(zip(runs, said, strict=True))
    )

    [benchmark] = warehouse.board.list_benchmarks(replace(QUERY, metric="energy"), 10).rows

    assert benchmark.rows[0].is_lower_better is is_lower


def test_a_sum_has_a_share_of_each_card_and_a_mean_has_none(warehouse: Warehouse) -> None:
    total = RunMetric("tokens/s", 800.0, "tokens/s", Better.HIGHER, Combined.SUM)
    mean = RunMetric("mfu", 0.4, "", Better.HIGHER, Combined.MEAN)
    warehouse.record(replace(a.record("run"), metrics=(mean, total)))

    [tokens] = warehouse.board.list_rows(replace(QUERY, metric="tokens/s")).rows
    [mfu] = warehouse.board.list_rows(replace(QUERY, metric="mfu")).rows

    assert (tokens.throughput, tokens.per_card) == (800.0, 100.0)
    assert (mfu.throughput, mfu.per_card) == (0.4, None)


def test_a_workload_is_ranked_by_its_primary_metric_beside_others(warehouse: Warehouse) -> None:
    primary = PrimaryMetric("energy", "J/token", Better.LOWER)
    facts = replace(a.FACTS, model="llm", primary_metric=primary)
    records = [replace(run, workload=facts) for run in fast_and_frugal()]
    warehouse.record_many([*records, *a.records([7000.0, 7100.0], "other")])

    boards = {block.rows[0].model: block.rows for block in warehouse.board.list_benchmarks(QUERY, 10).rows}
    by_throughput = warehouse.board.list_rows(replace(QUERY, metric="throughput", models=("llm",))).rows

    assert [(row.framework_version, row.throughput, row.primary_metric) for row in boards["llm"]] == [
        ("r1.10", 2.1, "energy"),
        ("r1.9", 9.0, "energy"),
    ]
    assert [row.throughput for row in boards[a.FACTS.model]] == [7050.0]
    assert [row.throughput for row in by_throughput] == [9100.0, 5100.0]


def test_dots_and_filters_follow_the_metric(warehouse: Warehouse) -> None:
    warehouse.record_many(fast_and_frugal())
    query = replace(QUERY, metric="energy", framework_versions=("r1.10",), text="frugal")

    rows = warehouse.board.list_rows(query).rows
    dots = warehouse.board.list_dots(query, rows)

    assert sorted(dot.throughput for dot in dots[rows[0].latest_run_id]) == [2.0, 2.1, 2.2]


def test_the_validity_of_another_ruleset_and_a_metric_work_together(warehouse: Warehouse) -> None:
    warehouse.record_many(fast_and_frugal())
    query = replace(QUERY, metric="energy", ruleset_id="ieee-2937-2022", include_invalid=True)

    rows = warehouse.board.list_rows(query).rows

    assert {row.framework_version for row in rows} == {"r1.9", "r1.10"}
    assert {row.throughput_unit for row in rows} == {"J/token"}


def test_an_unknown_metric_has_no_rows(warehouse: Warehouse) -> None:
    warehouse.record_many(fast_and_frugal())

    assert warehouse.board.list_rows(replace(QUERY, metric="'; drop table runs --")).rows == ()

"""What was spent: sums per currency of every launched run, whatever is recorded, replaced or removed."""

import csv
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import duckdb
import pytest

from aisbench_core.base.errors import SpecError
from aisbench_core.model import RunRecord, RunState
from aisbench_core.warehouse.answers.spending import csv_text
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.queries import stored_spending as stored
from aisbench_core.warehouse.values.spending import SpendingBy, SpendingQuery, Spent, month_of
from tests import records as a

MARCH, APRIL = (datetime(2026, month, 3, 8, tzinfo=UTC) for month in (3, 4))


def priced(run_id: str, price: float | None = 12.0, currency: str = "CNY", **changes: object) -> RunRecord:
    """A run of 600 s on one node: a sixth of a node hour."""
    record = a.record(run_id)
    money = {"price_per_node_hour": price, "currency": "" if price is None else currency}
    return replace(record, run=replace(record.run, **(money | changes)))  # type: ignore[arg-type]  # a test names the fields it means


def rows(warehouse: Warehouse, by: SpendingBy, **filters: object) -> dict[str, tuple[float, dict[str, float]]]:
    """Node hours and amounts by name, rounded."""
    found = warehouse.spending.of(SpendingQuery(by, **filters))  # type: ignore[arg-type]  # a test names the filters
    return {row.name: (round(row.node_hours, 6), _rounded(row)) for row in found.rows}


def _rounded(spent: Spent) -> dict[str, float]:
    return {currency: round(amount, 6) for currency, amount in spent.amounts.items()}


def some(warehouse: Warehouse) -> None:
    """Runs of ann and bob in two months, two workloads and two currencies, one without a price."""
    warehouse.record_many(
        [
            priced("one", created_at=MARCH),
            priced("two", 24.0, created_at=APRIL, series_id="s-1"),
            priced("usd", 6.0, "USD", created_at=APRIL, created_by="bob", profile="west"),
            priced("free", None, created_at=APRIL, created_by="bob"),
            priced("failed", created_at=APRIL, created_by="bob", state=RunState.FAILED),
            priced("stopped", created_at=APRIL, created_by="bob", state=RunState.STOPPED, series_id="s-1"),
        ]
    )


SIXTH = round(1 / 6, 6)


def test_everybody_has_sums_per_currency_and_failed_and_stopped_runs_count(warehouse: Warehouse) -> None:
    some(warehouse)

    spending = warehouse.spending.of(SpendingQuery())

    assert rows(warehouse, SpendingBy.PERSON) == {
        "ann": (round(2 / 6, 6), {"CNY": 6.0}),
        "bob": (round(4 / 6, 6), {"CNY": 4.0, "USD": 1.0}),
    }
    assert spending.currencies == ("CNY", "USD")
    assert _rounded(spending.total) == {"CNY": 10.0, "USD": 1.0}
    assert (spending.total.runs, spending.total.not_completed, spending.count) == (6, 2, 2)


def test_what_has_no_price_is_counted_apart_and_never_as_zero(warehouse: Warehouse) -> None:
    warehouse.record_many([priced("free", None), priced("zero", 0.0, created_by="bob")])

    ann, bob = sorted(warehouse.spending.of(SpendingQuery()).rows, key=lambda row: row.name)

    assert (ann.amounts, round(ann.unpriced_hours, 6)) == ({}, SIXTH)
    assert (bob.amounts, bob.unpriced_hours) == ({"CNY": 0.0}, 0.0)
    assert not warehouse.spending.of(SpendingQuery()).is_priced_throughout


@pytest.mark.parametrize(
    ("by", "names"),
    [
        (SpendingBy.MONTH, ["2026-04", "2026-03"]),
        (SpendingBy.WORKLOAD, ["mindspore_resnet"]),
        (SpendingBy.PROFILE, ["beijing", "west"]),
        (SpendingBy.SERIES, ["", "s-1"]),
    ],
)
def test_rows_are_by_month_workload_profile_or_series(warehouse: Warehouse, by: SpendingBy, names: list[str]) -> None:
    some(warehouse)

    found = [row.name for row in warehouse.spending.of(SpendingQuery(by)).rows]

    assert found == names if by is SpendingBy.MONTH else sorted(found) == names


def test_months_without_a_run_are_part_of_the_chart(warehouse: Warehouse) -> None:
    december = datetime(2025, 12, 31, 23, tzinfo=UTC)
    warehouse.record_many([priced("one", created_at=december), priced("two", created_at=MARCH)])

    months = warehouse.spending.of(SpendingQuery()).months

    assert [(month.name, month.runs) for month in months] == [
        ("2025-12", 1), ("2026-01", 0), ("2026-02", 0), ("2026-03", 1),
    ]  # fmt: skip


def test_filters_choose_runs_by_month_of_the_launch_person_workload_and_profile(warehouse: Warehouse) -> None:
    some(warehouse)

    assert rows(warehouse, SpendingBy.PERSON, last=date(2026, 3, 1)) == {"ann": (SIXTH, {"CNY": 2.0})}
    assert rows(warehouse, SpendingBy.MONTH, first=date(2026, 4, 17), people=("ann",)) == {
        "2026-04": (SIXTH, {"CNY": 4.0})
    }
    assert rows(warehouse, SpendingBy.PROFILE, profiles=("west",)) == {"west": (SIXTH, {"USD": 1.0})}
    assert rows(warehouse, SpendingBy.PERSON, workloads=("another",)) == {}
    assert warehouse.spending.facets().months == (date(2026, 4, 1), date(2026, 3, 1))
    assert warehouse.spending.facets().people == ("ann", "bob")


def test_the_most_expensive_comes_first_where_one_currency_has_an_order(warehouse: Warehouse) -> None:
    warehouse.record_many(
        [priced("one", 1.0, duration_s=6000.0, created_by="long"), priced("two", 500.0, created_by="dear")]
    )
    assert [row.name for row in warehouse.spending.of(SpendingQuery()).rows] == ["dear", "long"]
    assert [row.name for row in warehouse.spending.of(SpendingQuery(limit=1)).rows] == ["dear"]
    assert warehouse.spending.of(SpendingQuery(limit=1)).count == 2

    warehouse.record(priced("three", 1.0, "USD", created_by="dear"))

    assert [row.name for row in warehouse.spending.of(SpendingQuery()).rows] == ["long", "dear"]


@pytest.mark.every_store
def test_rehearsals_imports_and_what_never_ran_are_not_spending(warehouse: Warehouse) -> None:
    imported = a.imported("imported")
    never = priced("never", started_at=None, ended_at=None, duration_s=None)
    paid = replace(imported, run=replace(imported.run, price_per_node_hour=5.0, currency="CNY"))
    warehouse.record_many([replace(priced("rehearsal"), rehearsal=True), paid, never])

    spending = warehouse.spending.of(SpendingQuery())

    assert (spending.rows, spending.months, spending.total.runs, spending.currencies) == ((), (), 0, ())
    assert warehouse.spending.facets().months == ()


def test_the_table_is_what_adding_up_all_runs_gives(warehouse: Warehouse) -> None:
    luck = random.Random(3)
    for step in range(30):
        warehouse.record(
            priced(
                f"run-{luck.randrange(12)}",
                luck.choice([None, 1.5, 7.25]),
                luck.choice(["CNY", "USD"]),
                created_by=luck.choice(["ann", "bob"]),
                created_at=luck.choice([MARCH, APRIL]),
                duration_s=luck.choice([600.0, 1800.0]),
                series_id=luck.choice(["", "s-1"]),
                code_sha256=luck.choice("abcdefghijkl") * 64,
            )
        )
        assert stored_differences(warehouse) == [], step
    read = warehouse.spending.of(SpendingQuery())

    warehouse._store.write(stored.recount_spending)

    assert close(read.rows, warehouse.spending.of(SpendingQuery()).rows)


def stored_differences(warehouse: Warehouse) -> list[tuple[str, str]]:
    with warehouse.cursor() as cur:
        return stored.find_differences(cur)


def close(some: Sequence[Spent], others: Sequence[Spent]) -> bool:
    """Whether they are the same but for the last digits of sums."""
    rounded = [
        {row.name: (row.runs, round(row.node_hours, 9), _rounded(row)) for row in rows} for rows in (some, others)
    ]
    return rounded[0] == rounded[1]


def test_a_thousand_runs_alike_are_one_row_to_add_up(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record_many(priced(f"run-{number}", created_at=MARCH) for number in range(1000))

    with warehouse.cursor() as cur:
        assert cur.execute("select runs from spending").fetchall() == [(1000,)]
    [row] = warehouse.spending.of(SpendingQuery()).rows
    assert (row.runs, _rounded(row)) == (1000, {"CNY": 2000.0})


def test_a_changed_sum_is_found_and_mended(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record_many([priced("one", created_at=MARCH)])
    with duckdb.connect(tmp_path / "warehouse.duckdb") as con:
        con.execute("update spending set amount = 1e6")

    damages = warehouse.check([]).damages

    assert [damage.where for damage in damages] == ["spending, 2026-03, ann"]
    assert warehouse.check([], mend=True).damages == ()
    assert rows(warehouse, SpendingBy.PERSON) == {"ann": (SIXTH, {"CNY": 2.0})}


@pytest.mark.every_store
def test_csv_has_a_line_for_each_currency_and_guards_names(warehouse: Warehouse) -> None:
    warehouse.record_many(
        [priced("one", 6.0, created_by="=1+1"), priced("two", 6.0, "USD", created_by="=1+1"), priced("no", None)]
    )

    head, *lines = csv.reader(csv_text(warehouse.spending.of(SpendingQuery())).splitlines())

    assert head == ["person", "currency", "runs", "completed", "node_hours", "amount"]
    assert [[*line[:4], line[-1]] for line in lines] == [
        ["'=1+1", "CNY", "1", "1", "1.0"],
        ["'=1+1", "USD", "1", "1", "1.0"],
        ["ann", "", "1", "1", ""],
    ]


@pytest.mark.parametrize("text", ["2026", "2026-13", "March", "2026-03-01", ""])
def test_a_month_is_named_with_what_is_allowed(text: str) -> None:
    assert month_of("2026-03", "from") == date(2026, 3, 1)
    with pytest.raises(SpecError, match="must be a month such as 2026-03"):
        month_of(text, "from")

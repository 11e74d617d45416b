"""The Spending page: sums per currency, what has no price, a chart by month, and filters in the address."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aisbench_core.model import RunRecord
from pages._ui.shell.words import Language, load_catalogue
from tests import records as a
from tests.console.conftest import OpenPage, texts
from tests.console.test_home import recorded


def priced(run_id: str, price: float | None, currency: str, month: int, by: str = "ann") -> RunRecord:
    """An hour on one node."""
    record = a.record(run_id, created_at=datetime(2026, month, 3, tzinfo=UTC), created_by=by)
    run = replace(record.run, duration_s=3600.0, price_per_node_hour=price, currency=currency)
    return replace(record, run=run)


@pytest.fixture
def spent(data_dir: Path) -> None:
    recorded(
        data_dir,
        priced("one", 1200.5, "CNY", 3),
        priced("two", 100.0, "CNY", 4),
        priced("usd", 6.0, "USD", 4, by="bob"),
        priced("no price", None, "", 4, by="bob"),
    )


@pytest.mark.usefixtures("spent")
def test_each_currency_has_a_sum_of_its_own_and_unknown_prices_are_counted_apart(open_page: OpenPage) -> None:
    app = open_page("spending")

    tiles = [(tile.label, tile.value) for tile in app.metric]
    table = app.dataframe[0].value.to_dict("records")

    assert tiles == [
        ("Cost (CNY)", "1,300.50"),
        ("Cost (USD)", "6.00"),
        ("Node hours", "4"),
        ("Not priced (node hours)", "1"),
        ("Runs", "4"),
    ]
    by_person = {row["Person"]: row for row in table}
    assert (by_person["ann"]["CNY"], by_person["bob"]["USD"]) == (1300.5, 6.0)
    assert by_person["bob"]["CNY"] != by_person["bob"]["CNY"], "empty, not 0"
    assert by_person["bob"]["Not priced (node hours)"] == 1.0


@pytest.mark.usefixtures("spent")
def test_the_address_has_the_grouping_the_months_and_the_filters(open_page: OpenPage) -> None:
    app = open_page("spending", by="month", **{"from": "2026-04"}, person="bob")

    [row] = app.dataframe[0].value.to_dict("records")

    assert (row["Month"], row["USD"], row["Node hours"]) == ("2026-04", 6.0, 2.0)
    assert "CNY" not in row
    assert "Person\\: bob" in texts(app)


@pytest.mark.usefixtures("spent")
def test_the_chart_never_stacks_two_currencies(open_page: OpenPage) -> None:
    app = open_page("spending", show="USD")

    assert [each.value for each in app.radio if each.key == "show"] == ["USD"]
    assert [each.options for each in app.radio if each.key == "show"] == [["CNY", "USD", "Node hours"]]


@pytest.mark.usefixtures("spent")
@pytest.mark.parametrize("query", [{"by": "planet"}, {"from": "2026-13"}, {"to": "x" * 500}, {"show": "EUR"}])
def test_no_address_makes_it_fail(open_page: OpenPage, query: dict[str, str]) -> None:
    app = open_page("spending", **query)

    assert not app.exception
    assert app.metric[0].value == "1,300.50"


@pytest.mark.usefixtures("spent")
def test_filters_without_a_run_say_so(open_page: OpenPage) -> None:
    app = open_page("spending", person="ann", **{"from": "2026-04"}, profile="beijing", to="2026-03")

    assert "No run matches the filters." in texts(app)


@pytest.mark.parametrize("language", list(Language))
def test_without_a_paid_run_it_says_what_is_not_counted(open_page: OpenPage, language: Language) -> None:
    app = open_page("spending", lang=language.value)

    assert app.info[0].value == load_catalogue(language)["spending.empty"]

"""`aisbench spending`: what runs cost, as a table, JSON and CSV; and what `aisbench show` says of one."""

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from aisbench_core.model import RunRecord
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.flow.command_line import CommandLine
from tests.sandbox_process import SandboxProcess


def priced(run_id: str, price: float | None, currency: str, month: int, by: str) -> RunRecord:
    """An hour on one node."""
    record = a.record(run_id, created_at=datetime(2026, month, 3, tzinfo=UTC), created_by=by)
    run = replace(record.run, duration_s=3600.0, price_per_node_hour=price, currency=currency)
    return replace(record, run=run)


@pytest.fixture
def spent(shell: CommandLine) -> CommandLine:
    Warehouse(shell.data_dir / "warehouse.duckdb").record_many(
        [
            priced("one", 1200.5, "CNY", 3, "ann"),
            priced("usd", 6.0, "USD", 4, "bob"),
            priced("no price", None, "", 4, "bob"),
        ]
    )
    return shell


def test_the_table_has_a_column_for_each_currency_and_a_total(spent: CommandLine) -> None:
    lines = spent.type("spending").stdout.splitlines()

    cells = {line.split()[0]: line.split()[1:] for line in lines}
    assert lines[0].split() == ["person", "CNY", "USD", "node", "hours", "not", "priced", "runs", "not", "completed"]
    assert cells["ann"] == ["1,200.50", "–", "1", "1", "0"]
    assert cells["bob"] == ["–", "6.00", "2", "1", "node", "hours", "2", "0"]
    assert cells["total"] == ["1,200.50", "6.00", "3", "1", "node", "hours", "3", "0"]


def test_options_group_and_filter(spent: CommandLine) -> None:
    months = spent.answer("spending", "--by", "month", "--from", "2026-04", "--person", "bob")

    assert [(row["name"], [each["amount"] for each in row["sums"]]) for row in months["rows"]] == [
        ("2026-04", [6.0, None])
    ]
    assert spent.answer("spending", "--workload", "another")["rows"] == []
    assert spent.type("spending", "--to", "2026-02").exit_code == 0


def test_csv_has_a_line_for_each_currency(spent: CommandLine) -> None:
    rows = list(csv.DictReader(io.StringIO(spent.type("spending", "--csv").stdout)))

    assert [(row["person"], row["currency"], row["node_hours"], row["amount"]) for row in rows] == [
        ("bob", "USD", "1.0", "6.0"),
        ("bob", "", "1.0", ""),
        ("ann", "CNY", "1.0", "1200.5"),
    ], "by node hours: amounts of two currencies have no order"


def test_a_wrong_month_is_named_with_what_is_allowed(shell: CommandLine) -> None:
    result = shell.type("spending", "--from", "March")

    assert result.exit_code == 2
    assert "from: must be a month such as 2026-03" in result.stderr
    assert "'March'" in result.stderr
    assert shell.type("spending", "--csv", "--json").exit_code == 2


def test_show_says_what_a_run_has_cost_at_the_price_of_its_launch(shell: CommandLine, sandbox: SandboxProcess) -> None:
    prices = {"rehearsal": False, "price_per_node_hour": {"sandbox.cpu.2cards": 3600.0}, "currency": "EUR"}
    shell.add_profile("lab", sandbox.profile, **prices)
    run_id = shell.type("run", "quickstart_digits", "--cards", "2").stdout.strip()
    shell.add_profile("lab", sandbox.profile, rehearsal=False)
    run = shell.answer("show", run_id)["run"]

    assert (run["price_per_node_hour"], run["currency"]) == (3600.0, "EUR")

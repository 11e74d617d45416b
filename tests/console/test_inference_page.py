"""The page Inference: its own board, import for engineers, and nothing of it on the leaderboard."""

import re
from dataclasses import replace
from pathlib import Path

from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import OpenPage, texts
from tests.console.test_home import recorded
from tests.records import T0
from tests.stores.test_inference_results import OFFLINE, SERVED

CLOCK = re.compile(r"\d\d:\d\d:\d\d")


def test_an_empty_board_says_so_and_offers_the_import(open_page: OpenPage) -> None:
    app = open_page("inference")

    assert [info.value for info in app.info] == ["No results of inference yet."]
    assert [expander.label for expander in app.expander] == ["Import results of inference"]


def test_each_benchmark_has_a_table_with_its_unit_and_only_measured_columns(
    open_page: OpenPage, data_dir: Path
) -> None:
    failing = replace(SERVED, throughput=500.0, failed=2)
    Warehouse(data_dir / "warehouse.duckdb").inference.add([SERVED, OFFLINE, failing], "ann", T0)

    app = open_page("inference")

    assert [head.value for head in app.subheader] == ["qwen", "qwen · gsm8k"]
    offline, served = (table.value for table in app.dataframe)
    assert "Throughput (samples/s)" in offline.columns
    assert "Batch size" in offline.columns
    assert "TTFT p99 (ms)" not in served.columns
    assert [*served["Throughput (tokens/s)"]] == [115.78, 500.0]
    assert [*served.columns][:2] == ["Rank", "Throughput (tokens/s)"], "in sight on a phone"
    assert {*served["Imported"]} == {"2026-03-01 08:00:00"}
    assert [*served["Rank"].fillna(0)] == [1, 0], "where requests failed, there is no rank"
    assert [*served["Failed requests"]] == [0, 2]


def test_the_leaderboard_shows_none_of_them(open_page: OpenPage, data_dir: Path) -> None:
    recorded(data_dir, *a.records([7900, 8000, 8100]))
    before = CLOCK.sub("", texts(open_page("leaderboard")))

    Warehouse(data_dir / "warehouse.duckdb").inference.add([SERVED, OFFLINE], "ann", T0)

    assert CLOCK.sub("", texts(open_page("leaderboard"))) == before
    assert "qwen" not in before


def test_a_result_is_removed_by_whoever_imported_it(open_page: OpenPage, data_dir: Path) -> None:
    warehouse = Warehouse(data_dir / "warehouse.duckdb")
    warehouse.inference.add([SERVED], "ann", T0)

    app = open_page("inference")
    app.button(key="inference-remove-button").click().run()

    assert not app.exception
    assert not warehouse.inference.list_ranked()

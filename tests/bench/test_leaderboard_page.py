"""The leaderboard page over 10,000 runs against a page that loads them all; absolute figures are printed."""

import statistics
import time
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from aisbench_core.warehouse.facade import Warehouse
from tests.bench.test_warehouse import BOARD, RUNS, many_runs

ENTRY = Path(__file__).parents[2] / "pages" / "_ui" / "entry.py"
RERUNS = 9


def naive_page(file: str) -> None:
    """What one would write first: load everything, group with pandas, show every run."""
    import duckdb
    import streamlit as st

    with duckdb.connect(file, read_only=True) as con:
        runs = con.execute("select * from runs join results using (run_id)").df()
    groups = runs.groupby(["model", "framework_version", "flavor", "node_count"])["throughput_cluster"]
    board = groups.agg(["median", "max", "count"]).reset_index().sort_values("median", ascending=False)
    st.bar_chart(board, x="flavor", y="median")
    st.dataframe(board)
    st.dataframe(runs)


def rerun_ms(app: AppTest) -> float:
    """The duration of one rerun, in milliseconds."""
    start = time.perf_counter()
    app.run()
    assert not app.exception
    return (time.perf_counter() - start) * 1000


def test_the_leaderboard_page_stays_quick_at_ten_thousand_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AISBENCH_DATA_DIR", str(tmp_path))
    Warehouse(tmp_path / "warehouse.duckdb").rebuild(many_runs())
    st.cache_resource.clear()
    page = AppTest.from_file(str(ENTRY), default_timeout=60).run()
    page.switch_page("../leaderboard.py")
    page.query_params["region"] = BOARD.region
    page.run()
    peer = AppTest.from_function(naive_page, args=(str(tmp_path / "warehouse.duckdb"),), default_timeout=60).run()

    pairs = [(rerun_ms(page), rerun_ms(peer)) for _ in range(RERUNS)]
    ours, naive = (statistics.median(durations) for durations in zip(*pairs, strict=True))

    with capsys.disabled():
        print(f"\nleaderboard page over {RUNS:,} runs: rerun {ours:.0f} ms (goal 300); ", end="")
        print(f"loading all of them {naive:.0f} ms, {naive / ours:.1f} x")
    assert page.get("bidi_component"), "the page shows its tables"
    assert naive / ours >= 1.5

"""Home: first steps on an empty console; later what changed, what runs, what failed, and what the week took."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qsl

from streamlit.testing.v1 import AppTest

from aisbench_core.domain.authoring.specfile import from_yaml
from aisbench_core.model import RunRecord, RunState
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import BROWSER_KEY, OpenPage, texts
from tests.console.test_history import BAD, GOOD, version
from tests.console.test_results import table

NOW = datetime.now(UTC)


def tiles(app: AppTest) -> dict[str, str]:
    """The counts on top, by label."""
    return {metric.label: metric.value for metric in app.metric}


def recorded(data_dir: Path, *runs: RunRecord) -> None:
    Warehouse(data_dir / "warehouse.duckdb").rebuild(runs)


def test_an_empty_console_shows_the_first_steps(open_page: OpenPage) -> None:
    app = open_page("home")

    assert "1. Configure a run" in texts(app)
    assert "**Or import earlier results**" in texts(app), "no step of the others"
    assert "No active runs" in texts(app)
    assert not app.metric


def test_a_regression_is_one_sentence_with_its_interval_and_runs(open_page: OpenPage, data_dir: Path) -> None:
    recorded(data_dir, *version("r1.10", GOOD, 0), *version("r1.11", BAD, 1))

    app = open_page("home")

    assert "**r1.11 is 6.3 % slower than r1.10** (95 % interval: 5.6–6.9 %; 3 and 6 runs)" in texts(app)
    assert (tiles(app)["Regressed"], tiles(app)["Improved"], tiles(app)["Unclear"]) == ("1", "0", "0")


def test_all_configurations_of_a_verdict_are_one_click_away(open_page: OpenPage, data_dir: Path) -> None:
    fine = a.records([8000.0], "alone", flavor="f2")
    recorded(data_dir, *version("r1.10", GOOD, 0), *version("r1.11", BAD, 1), *fine)

    app = open_page("home")
    link = next(link for link in app.page_link if link.label == "Regression (1)")
    history = open_page("history", **dict(parse_qsl(link.proto.query_string)))

    assert list(table(history)["Verdict"]) == ["Regression"]


def test_a_record_opens_its_run(open_page: OpenPage, data_dir: Path) -> None:
    fast = a.record("fast", throughputs=[1100.0] * 8)
    newest = replace(fast.run, created_at=NOW, started_at=NOW, ended_at=NOW, duration_s=1800.0)
    recorded(data_dir, *a.records([8000.0, 8200.0], "old"), replace(fast, run=newest))
    app = open_page("home")

    app.session_state["records"] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    app.run()

    assert app.query_params["run"] == "fast"


def test_an_improvement_is_said_in_chinese_too(open_page: OpenPage, data_dir: Path) -> None:
    recorded(data_dir, *version("r1.10", BAD, 0), *version("r1.11", GOOD, 1))

    assert "**r1.11 比 r1.10 快 6.7 %**" in texts(open_page("home", lang="zh"))


def test_without_a_change_the_page_says_so(open_page: OpenPage, data_dir: Path) -> None:
    recorded(data_dir, *version("r1.10", GOOD, 0), *version("r1.11", GOOD, 1))

    assert "No benchmark changed against its baseline (benchmark configurations: 1)." in texts(open_page("home"))


def test_missing_runs_are_one_click_away_as_a_series(open_page: OpenPage, data_dir: Path) -> None:
    newest = version("r1.11", (8000.0,), 1)
    recorded(data_dir, *version("r1.10", GOOD, 0), *newest)
    app = open_page("home")
    assert "r1.11 against r1.10: undecided, 1 more of r1.11 needed" in texts(app)

    [button] = [button for button in app.button if button.label == "Launch 1 more as a series"]
    button.click().run()

    draft = f"from-{newest[0].run.run_id}.{BROWSER_KEY[:8]}"
    assert app.title[0].value == "Series"
    assert (app.query_params["draft"], app.query_params["repeats"]) == (draft, "1")
    assert app.text_input(key="repeats").value == "1"
    stored = Ledger(data_dir / "ledger.sqlite3").draft(draft)
    assert stored
    assert from_yaml(stored).framework_version == "r1.11"


def test_more_runs_of_imported_results_are_imported_not_launched(open_page: OpenPage, data_dir: Path) -> None:
    """A launched run never joins a row of imported ones."""
    origin = a.imported().imported
    launched = [*version("r1.10", GOOD, 0), *version("r1.11", (8000.0,), 1)]
    recorded(data_dir, *(a.all_known(replace(each, imported=origin)) for each in launched))

    app = open_page("home")

    assert "1 more of r1.11 needed" in texts(app)
    assert not [button for button in app.button if "as a series" in button.label]
    assert [link for link in app.get("page_link") if link.proto.label == "Import more results"]


def test_the_cause_of_a_failed_run_stands_in_lists_where_it_is_known(open_page: OpenPage, data_dir: Path) -> None:
    ledger = Ledger(data_dir / "ledger.sqlite3")
    ledger.add(
        a.run(
            "r-failed",
            state=RunState.FAILED,
            final_state=RunState.FAILED,
            ended_at=NOW,
            detail="rank 0 exited with code 1",
        )
    )
    folder = RunFolder(data_dir / "runs" / "r-failed")
    folder.logs.mkdir(parents=True)
    folder.log(0).write_text("[rank0]: RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0)\n", "utf-8")
    recorded(data_dir, a.record())

    home, runs = texts(open_page("home")), texts(open_page("runs"))

    for page in (home, runs):
        assert "The memory of a card was exhausted" in page
        assert "exited with code" not in page


def test_what_runs_and_what_failed_since_yesterday_is_listed(open_page: OpenPage, data_dir: Path) -> None:
    ledger = Ledger(data_dir / "ledger.sqlite3")
    ledger.add(a.run("r-active", state=RunState.RUNNING, ended_at=None, duration_s=None))
    ledger.add(a.run("r-failed", state=RunState.FAILED, ended_at=NOW, detail="no node is free"))
    ledger.add(a.run("r-long-ago", state=RunState.FAILED, ended_at=NOW - timedelta(days=3), detail="other"))
    recorded(data_dir, a.record())

    app = open_page("home")

    assert (tiles(app)["Active"], tiles(app)["Failed"]) == ("1", "1")
    assert "no node is free" in texts(app)
    links = [link.proto.label for link in app.get("page_link")]
    assert [label for label in links if "r-active" in label or "r-failed" in label]
    assert not [label for label in links if "r-long-ago" in label]


def test_records_and_node_hours_are_those_of_the_last_days(open_page: OpenPage, data_dir: Path) -> None:
    fast = a.record("fast", throughputs=[1100.0] * 8)
    newest = replace(fast.run, created_at=NOW, started_at=NOW, ended_at=NOW, duration_s=1800.0)
    recorded(data_dir, *a.records([8000.0, 8200.0], "old"), replace(fast, run=newest))

    app = open_page("home")

    assert tiles(app)["Node hours"] == "0.5"
    row = table(app).iloc[0]
    assert (row["Run"], row["Throughput"], row["Previous record"]) == ("fast", "8,800 samples/s", "8,200 samples/s")
    assert row["Change"] == "+7.32 %"


def test_node_hours_cost_what_they_did_at_the_launch_and_rehearsals_nothing(
    open_page: OpenPage, data_dir: Path
) -> None:
    one = a.record("one")
    ended = replace(one.run, created_at=NOW, started_at=NOW, ended_at=NOW, duration_s=1800.0)
    newest = replace(ended, price_per_node_hour=100.0, currency="EUR")
    pretended = replace(ended, run_id="two")
    recorded(data_dir, replace(one, run=newest), replace(one, run=pretended, rehearsal=True))

    real, rehearsals = (open_page("home", region=region) for region in ("cn-north-9", "cn-north-9~rehearsal"))

    assert real.metric[-1].delta == "50.00 EUR"
    assert not rehearsals.metric[-1].delta
    assert "Rehearsal" in texts(rehearsals)


def test_a_region_that_does_not_exist_is_named_and_another_is_shown(open_page: OpenPage, data_dir: Path) -> None:
    recorded(data_dir, a.record())

    app = open_page("home", region="gone")

    assert "Region: gone" in texts(app)
    assert app.metric

"""Verdicts on the pages that show numbers: by which ruleset, what was found, and what to do."""

from dataclasses import replace
from pathlib import Path

from aisbench_core.model import RunState
from aisbench_core.warehouse.facade import Warehouse
from tests.console.conftest import OpenPage, texts
from tests.console.grids import Grid
from tests.records import imported, record

FIX = "What to do: Find the rank without a usable number in the logs"
BY = "Ruleset: AISBench Console (aisbench/1) · division: not stated, treated as open"


def test_live_compare_history_and_the_lists_say_what_a_result_is_worth_and_why(open_page: OpenPage, used: Path) -> None:
    assert Warehouse(used / "warehouse.duckdb").runs.find_row("run-bad") is not None

    live, compared = open_page("live", run="run-bad"), open_page("compare", ids=["run-bad", "run-n1-0"])
    runs = open_page("runs")

    assert BY in texts(live)
    (bad, good) = next(each.value for each in compared.dataframe if "Division" in each.value).to_dict("records")
    assert (bad["Run"], bad["Validity"], bad["Ruleset"]) == ("run-bad", "invalid", "aisbench/1")
    assert "V03" in bad["Failed checks"]
    assert (good["Validity"], good["Division"]) == ("valid", "not stated, treated as open")
    assert FIX in texts(compared)
    assert "Validity · not counted: 1" in [each.label for each in compared.expander]
    assert Grid(compared, "Metrics").row("validity")["value-run-bad"] == "invalid"
    assert Grid(runs).row("run-bad")["status"].startswith("invalid V01: ")
    assert Grid(runs).row("run-n1-0")["status"] == ""


def test_a_run_whose_job_crashed_is_led_to_how_it_ended_and_to_its_log(open_page: OpenPage, used: Path) -> None:
    crashed = record("run-crashed", with_result=False, state=RunState.FAILED)
    ended = replace(crashed.run, detail="worker-0 ended with exit code 137: Killed")
    Warehouse(used / "warehouse.duckdb").record(replace(crashed, run=ended))

    told = texts(open_page("live", run="run-crashed"))
    chinese = texts(open_page("compare", ids=["run-crashed", "run-n1-0"], lang="zh"))

    assert "none (worker-0 ended with exit code 137" in told
    assert "What to do: The run did not complete." in told
    assert "`aisbench logs run-crashed`" in told
    assert "the file that is named, fix" not in told
    assert "处理办法：该运行没有完成。" in chinese


def test_of_an_imported_result_nobody_is_told_to_run_it_again(open_page: OpenPage, used: Path) -> None:
    Warehouse(used / "warehouse.duckdb").record(imported("claimed", accuracy=7.0))

    said = texts(open_page("live", run="claimed"))

    assert "What to do: Import it again with the missing or corrected values" in said
    assert FIX not in said


def test_the_leaderboard_can_be_judged_by_another_ruleset_and_narrowed_to_a_verdict(
    open_page: OpenPage, used: Path
) -> None:
    assert used.exists()

    usual = open_page("leaderboard", show="runs", invalid="1", worth="invalid")
    strict = open_page("leaderboard", show="runs", invalid="1", ruleset="t-cesa-1169-2021")
    groups = open_page("leaderboard", invalid="1", ruleset="t-cesa-1169-2021", lang="zh")

    assert all(status.startswith("invalid") for status in Grid(usual).column("status"))
    assert "Validated with aisbench/1" in texts(usual)
    assert all(status.startswith(("invalid", "incomplete")) for status in Grid(strict).column("status"))
    assert "Ruleset: t-cesa-1169-2021 T/CESA 1169-2021 (rules inferred without the standard's text)" in texts(strict)
    assert "（规则为推断，未依据标准原文）" in texts(groups)

    assert "处理办法：在运行页面填写系统描述" in texts(groups)

"""Following and stopping: what runs, what failed and why, and nothing is stopped by accident."""

import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from streamlit.testing.v1 import AppTest

from aisbench_core.base.clock import utc_now
from aisbench_core.base.formats import format_number
from aisbench_core.domain.progress.points import add_points
from aisbench_core.domain.results.card_samples import write_card_samples
from aisbench_core.domain.results.record import write_samples
from aisbench_core.model import CardSample, Event, Level, MetricSample, Progress, RunState, TrainingPoint
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import OpenPage, texts
from tests.console.grids import Grid
from tests.console.seeds import ACTIVE_RUN, DONE_RUN, FAILED_RUN, RETRYING_RUN


def test_no_number_that_a_log_printed_breaks_the_page_of_a_run(open_page: OpenPage, used: Path) -> None:
    now = utc_now()
    numbers = (-71, 1000, 0, 10, -0.071, -1e308, 1e308, -8, -1.0)
    points = [TrainingPoint(now - timedelta(minutes=10 - minute), *numbers) for minute in range(3)]
    file = used / "runs" / RETRYING_RUN / "progress.jsonl"
    add_points(points, file, 0)
    with file.open("a", encoding="utf-8") as lines:
        lines.write('{"at": "2026-03-01T08:00:00Z", "step": 120, "steps": 100, "share": 1.2}\n')
    progress = Progress(RETRYING_RUN, RunState.RUNNING, -71, 1000, "steps", now)
    Ledger(used / "ledger.sqlite3").set_progress(progress)

    app, home = open_page("live", run=RETRYING_RUN), open_page("home")

    assert not app.exception
    assert not home.exception
    assert "-71" not in texts(app) + texts(home) + " ".join(bar.text for bar in home.progress)
    assert "120" not in texts(app)


def test_a_job_that_prepares_or_evaluates_is_shown_as_such_and_with_what_was_done(
    open_page: OpenPage, used: Path
) -> None:
    now, file = utc_now(), used / "runs" / RETRYING_RUN / "progress.jsonl"
    ledger = Ledger(used / "ledger.sqlite3")
    add_points([TrainingPoint(now, stage="preparing")], file, 0)
    ledger.set_progress(Progress(RETRYING_RUN, RunState.RUNNING, 0, 0, "steps", now, "preparing"))

    prepares = open_page("live", run=RETRYING_RUN)
    add_points([TrainingPoint(now, 100, 1000, 1, 3, 0.1, stage="evaluating")], file, 1)
    ledger.set_progress(Progress(RETRYING_RUN, RunState.RUNNING, 100, 1000, "steps", now, "evaluating"))
    evaluates, chinese = open_page("live", run=RETRYING_RUN), open_page("live", run=RETRYING_RUN, lang="zh")

    assert "preparing data or the model" in texts(prepares) + bars(prepares)
    assert "Step **" not in texts(prepares)
    assert "100 of 1,000 steps · evaluating" in bars(evaluates)
    assert "Step **100** of 1,000 · " in texts(evaluates)
    assert "评估中" in texts(chinese) + bars(chinese)


def test_tokens_a_second_are_shown_where_the_workload_counts_samples(open_page: OpenPage, used: Path) -> None:
    point = TrainingPoint(a.T0, 50, 1000, share=0.05, loss=6.25, tokens_per_s=35008.0)
    add_points([point], used / "runs" / FAILED_RUN / "progress.jsonl", 0)

    failed = texts(open_page("live", run=FAILED_RUN))

    assert "35,008 tokens/s · loss **6.25**" in failed


def bars(app: AppTest) -> str:
    """What stands at the page's bars."""
    return " ".join(bar.text for bar in app.progress)


def test_a_completed_run_shows_its_result_and_never_the_last_estimate(open_page: OpenPage, used: Path) -> None:
    for run_id in (DONE_RUN, FAILED_RUN):
        points = [
            TrainingPoint(a.T0 + timedelta(seconds=step), step, 9, loss=0.5, throughput=4321.0, cards=1)
            for step in (1, 2)
        ]
        add_points(points, used / "runs" / run_id / "progress.jsonl", 0)
    ledger = Ledger(used / "ledger.sqlite3")
    lost = replace(ledger.get(DONE_RUN), run_id="lost")
    collecting = replace(lost, run_id="collecting", state=RunState.COLLECTING, ended_at=None, duration_s=None)
    for run in (lost, collecting):
        ledger.add(run, Event(run.run_id, a.T0, "console", Level.INFO, "launched", "somebody"))
        shutil.copytree(used / "runs" / DONE_RUN, used / "runs" / run.run_id)
    recorded = Warehouse(used / "warehouse.duckdb").runs.find_row(DONE_RUN)

    done, failed = open_page("live", run=DONE_RUN), texts(open_page("live", run=FAILED_RUN))

    assert recorded
    assert figures(done)["Throughput (samples/s)"] == format_number(recorded.throughput)
    assert "4,321" not in texts(done)
    assert "4,321 · loss **0.5** · :small[estimated from 1 of" in failed
    assert "last estimate, no result" in failed
    lost_page, collected = open_page("live", run="lost"), open_page("live", run="collecting")
    assert "4,321" not in texts(lost_page)
    assert texts(lost_page).count("This run is not in the warehouse.") == 1, "whether it has a result is not known"
    assert "22 %" not in [bar.text for bar in lost_page.progress], "it is completed, whatever its log said last"
    assert "**4,321" not in texts(collected)
    assert "last estimate; the result is being collected" in texts(collected)
    assert "Running since" not in texts(collected)
    assert "left, until" not in texts(collected)


def test_a_run_without_a_comparison_has_the_distance_that_the_list_shows(open_page: OpenPage, used: Path) -> None:
    """It is the only one of its version, so that there is no interval."""
    assert used.exists()

    listed = Grid(open_page("runs"), "Runs").row("run-new-0")
    figure = figures(open_page("live", run="run-new-0"))["Against r1.10"]

    assert listed["change"] == figure == "+5.0 %"


def test_the_only_run_of_a_configuration_has_no_distance_from_itself(open_page: OpenPage, used: Path) -> None:
    Warehouse(used / "warehouse.duckdb").rebuild([a.record("run-new-0")])

    listed = Grid(open_page("runs"), "Runs").row("run-new-0")
    shown = figures(open_page("live", run="run-new-0"))

    assert listed["change"] in ("", "–")
    assert not [name for name in shown if name.startswith("Against")]


def test_a_running_job_says_since_when_it_runs(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    assert "Running since" in texts(open_page("live", run=RETRYING_RUN))
    assert "Running since" not in texts(open_page("live", run=FAILED_RUN))


def test_a_run_says_which_nodes_cards_were_hardly_used_and_why(open_page: OpenPage, used: Path) -> None:
    low = [MetricSample(a.T0 + timedelta(minutes=minute), 3, "npuUtil", 21.4) for minute in range(12)]
    write_samples(low, used / "runs" / RETRYING_RUN / "metrics.jsonl")

    shown = [warning.value.replace("\\", "") for warning in open_page("live", run=RETRYING_RUN).warning]
    healthy = [warning.value for warning in open_page("live", run=FAILED_RUN).warning]

    assert [text for text in shown if "Node 3: NPU in use (%) was 21 on average for 11 min" in text]
    assert not [text for text in healthy if "on average" in text]


def test_an_ended_run_shows_what_its_job_measured_on_its_cards(open_page: OpenPage, used: Path) -> None:
    measured = [
        CardSample(a.T0 + timedelta(minutes=minute), node, 1, name, value)
        for minute in range(3)
        for node in range(2)
        for name, value in (("power", 93.6), ("memoryUsed", 3000.0 + minute))
    ]
    write_card_samples(measured, used / "runs" / DONE_RUN / "cards.jsonl")

    app = open_page("live", run=DONE_RUN)
    app.selectbox(key="card-metric-of-run").select("power").run()
    without = open_page("live", run=FAILED_RUN)

    assert "Cards" in [section.label for section in app.expander]
    (table,) = [table.value for table in app.dataframe if "Readings" in table.value.columns]
    assert table["Most memory used (MB)"].tolist() == [3002, 3002]
    assert table["Cores in use, mean (%)"].isna().all()
    assert "Cards" not in [section.label for section in without.expander]


def test_a_run_links_to_its_job_in_the_clouds_console_where_that_is_known(open_page: OpenPage, used: Path) -> None:
    run = replace(a.run("linked"), profile="lab", job_id="0a-1")
    Ledger(used / "ledger.sqlite3").add(run, Event("linked", a.T0, "console", Level.INFO, "launched", "somebody"))
    without_profile = open_page("live", run="linked")
    (used / "profiles").mkdir(exist_ok=True)
    of_the_sandbox = (used / "sandbox" / "profile.yaml").read_text("utf-8")
    stated = of_the_sandbox + "console_url: https://console.lab.example\n"
    (used / "profiles" / "lab.yaml").write_text(stated, "utf-8")

    app = open_page("live", run="linked")

    job_page = "https://console.lab.example/modelarts/?region=sandbox#/training/detail/0a-1"
    assert [button.proto.url for button in without_profile.get("link_button")] == ["run-logs/linked/0"]
    assert [button.proto.url for button in app.get("link_button")] == [job_page, "run-logs/linked/0"]


def test_live_shows_every_active_run(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("live")

    assert ACTIVE_RUN in texts_of_links(app)
    assert RETRYING_RUN in texts_of_links(app)
    assert DONE_RUN not in texts_of_links(app)


def test_one_run_has_a_bar_for_every_state(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("live", run=ACTIVE_RUN)

    assert [bar.text for bar in app.progress] == [
        "Preparing",
        "Uploading · 12 of 48 files",
        "Submitting",
        "Queued",
        "Running",
        "Collecting",
    ]
    assert [bar.value for bar in app.progress] == [100, 25, 0, 0, 0, 0]
    assert "uploading 48 files" in app.dataframe[0].value.to_string()


def test_the_log_of_the_node_in_the_url_is_shown(open_page: OpenPage, used: Path) -> None:
    logs = used / "runs" / RETRYING_RUN / "logs"
    logs.mkdir(parents=True)
    (logs / "worker-1.log").write_text("step 1\nstep 2\n", "utf-8")

    first = open_page("live", run=RETRYING_RUN, node="0")
    second = open_page("live", run=RETRYING_RUN, node="1")
    both = open_page("live", run=RETRYING_RUN)

    assert "No log for node 0" in texts(first)
    for page in (second, both):
        assert any("step 2" in html.proto.body for html in page.get("html"))


def test_a_failed_run_says_why_and_a_completed_one_leads_on(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    failed, done = open_page("live", run=FAILED_RUN), open_page("live", run=DONE_RUN)

    assert "throughput\\_3.json holds nan" in texts(failed)
    assert "Show on the leaderboard" in texts_of_links(done)


def test_a_completed_run_shows_what_was_measured(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("live", run=DONE_RUN)

    assert figures(app)["Throughput (samples/s)"] == "7,900"
    assert ":green-badge[Completed] :green-badge[valid]" in app.title[0].value


def figures(app: AppTest) -> dict[str, str]:
    """The tiles of the page by what stands above them."""
    return {tile.label: tile.value for tile in app.metric}


def texts_of_links(app: AppTest) -> str:
    """What the links of the page say."""
    return "\n".join(link.label for link in app.page_link)


def test_a_run_that_a_person_stopped_is_no_fault_that_has_to_be_mended(open_page: OpenPage, data_dir: Path) -> None:
    stopped = a.record("r-stopped", state=RunState.STOPPED, with_result=False)
    Ledger(data_dir / "ledger.sqlite3").add(replace(stopped.run, detail="stopped by console"))
    Warehouse(data_dir / "warehouse.duckdb").record(stopped)

    app = open_page("live", run="r-stopped")

    assert "This run was stopped, so there is no complete result to validate." in texts(app)
    assert [each.value for each in app.error] == []
    assert "Fix the cause" not in texts(app)


def test_a_run_that_waits_in_a_pool_has_a_priority_to_change(open_page: OpenPage, used: Path) -> None:
    ledger = Ledger(used / "ledger.sqlite3")
    run = ledger.get(RETRYING_RUN)
    waiting = replace(run, state=RunState.QUEUED, spec=run.spec.model_copy(update={"pool_id": "pool-1", "priority": 2}))
    ledger.advance(run, waiting)

    app = open_page("live", run=RETRYING_RUN)
    assert app.radio(key="priority").value == 2
    app = app.button(key="priority-set").click().run()

    assert not app.exception
    assert app.error, "the region of these tests does not answer"
    assert not [each for each in open_page("live", run=FAILED_RUN).radio if each.key == "priority"]


def test_a_run_says_what_it_has_cost_and_an_unknown_price_is_not_zero(open_page: OpenPage, used: Path) -> None:
    ledger = Ledger(used / "ledger.sqlite3")
    uploading, done = ledger.get(ACTIVE_RUN), ledger.get(DONE_RUN)
    ledger.advance(uploading, replace(uploading, started_at=None))

    ended, before = texts(open_page("live", run=DONE_RUN)), texts(open_page("live", run=ACTIVE_RUN))
    ledger.advance(done, replace(done, duration_s=1800.0, price_per_node_hour=50.0, currency="EUR"))
    priced = texts(open_page("live", run=DONE_RUN))

    assert done.duration_s
    assert f"**{done.duration_s / 3600:.3g}** node hours" in ended
    assert "Not priced: no price of" in ended
    assert "**25.00 EUR**" in priced
    assert "node hours" not in before, "its nodes are not occupied yet"


def test_a_run_says_how_far_it_is_how_fast_and_when_it_ends(open_page: OpenPage, used: Path) -> None:
    ledger = Ledger(used / "ledger.sqlite3")
    run = ledger.get(RETRYING_RUN)
    now = utc_now()
    ledger.advance(run, replace(run, started_at=now - timedelta(hours=1)))
    before = open_page("live", run=RETRYING_RUN)
    points = [
        TrainingPoint(now - timedelta(minutes=10 * (6 - step)), step, 12, 1, 2, step / 12, 2.5 - step / 10, 4000.0, 8)
        for step in range(1, 7)
    ]
    add_points(points, used / "runs" / RETRYING_RUN / "progress.jsonl", 0)

    app = open_page("live", run=RETRYING_RUN)

    assert "No progress in the log" in texts(before)
    shown = texts(app)
    assert "Step **6** of 12 · epoch **1** of 2" in shown
    assert "**4,000** · loss **1.9** · :small[estimated from 8 of 16 cards]" in shown
    assert "left, until" in shown
    assert len(app.get("vega_lite_chart")) + len(app.get("arrow_vega_lite_chart")) == 2


def test_a_run_shows_the_parameters_that_were_sent(open_page: OpenPage, used: Path) -> None:
    run = Ledger(used / "ledger.sqlite3").get(DONE_RUN)

    (sent,) = [table.value for table in open_page("live", run=DONE_RUN).dataframe if "Kind" in table.value.columns]

    given = dict(zip(sent["Field"], sent["Value"], strict=True))
    assert run.spec.parameters
    assert {name: given[name] for name in run.spec.parameters} == {
        name: str(value) for name, value in run.spec.parameters.items()
    }

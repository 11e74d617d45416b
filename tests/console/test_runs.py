"""The list of runs: how far they are, what they reached, why they failed, and what can be done with several."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from streamlit.testing.v1 import AppTest

from aisbench_core.model import RunState
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from tests.console.conftest import OpenPage, texts
from tests.console.grids import Grid
from tests.console.seeds import ACTIVE_RUN, DONE_RUN, FAILED_RUN, RETRYING_RUN, STOPPED_RUN, many
from tests.records import run

REASONS = "V01: throughput is missing (expected: every required field, in range); V03: 5 of 8 ranks (expected: 8 ranks)"


def test_active_runs_come_first_with_how_far_they_are(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("runs")

    assert "2 active" in texts(app)
    assert Grid(app).ids[:4] == [RETRYING_RUN, ACTIVE_RUN, "run-bad", STOPPED_RUN]
    assert Grid(app).column("status")[:4] == [
        "Retrying (attempt 3): cannot reach ModelArts: no answer in 60 s",
        "Uploading · 12 of 48 files",
        f"invalid {REASONS}",
        "stopped by console",
    ]


def test_a_row_says_what_a_run_reached_and_how_far_it_is_from_its_baseline(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    grid = Grid(open_page("runs"))

    assert grid.labels["throughput"] == "samples/s"
    done, failed = grid.row(DONE_RUN), grid.row(FAILED_RUN)
    assert [done[key] for key in ("size", "throughput", "change")] == ["1 × 8", "7,900", "−1.2 %"]
    assert done.href == f"live?run={DONE_RUN}&lang=en"
    assert failed["status"] == "throughput_3.json holds nan, which is no measurement"
    assert failed.tone("status") == "bad"
    assert failed["throughput"] == failed["change"] == ""


def test_a_run_is_stopped_only_after_the_question(open_page: OpenPage, used: Path) -> None:
    ledger = Ledger(used / "ledger.sqlite3")
    app = Grid(open_page("runs")).tick(ACTIVE_RUN)

    app.button(key="stop-ticked").click().run()
    before = ledger.get(ACTIVE_RUN).state
    app.button(key="stop-yes").click().run()

    assert before is RunState.UPLOADING
    assert ledger.get(ACTIVE_RUN).state is RunState.STOPPING
    assert ledger.events(ACTIVE_RUN)[-1].actor == "console"


def test_only_a_failed_run_is_collected_again(open_page: OpenPage, used: Path) -> None:
    app = Grid(open_page("runs")).tick(DONE_RUN, STOPPED_RUN)
    offered = [button.key for button in app.button if str(button.key).startswith("collect-")]
    app = Grid(app).tick(DONE_RUN, FAILED_RUN)

    app.button(key="collect-ticked").click().run()

    assert offered == []
    assert "Collecting results again: 1" in texts(app)
    assert Ledger(used / "ledger.sqlite3").get(FAILED_RUN).state is RunState.COLLECTING


def test_ended_runs_are_paged_and_the_page_is_in_the_url(open_page: OpenPage, data_dir: Path) -> None:
    ledger = Ledger(data_dir / "ledger.sqlite3")
    for each in many(45):
        ledger.add(each)

    first, last, beyond = (open_page("runs", page=page) for page in ("1", "3", "99"))

    assert Grid(first).ids[0] == "old-0000"
    assert Grid(last).ids[-1] == "old-0044"
    assert Grid(beyond).ids == Grid(last).ids


def test_ended_runs_are_sorted_over_all_pages(open_page: OpenPage, data_dir: Path) -> None:
    ledger = Ledger(data_dir / "ledger.sqlite3")
    for each in many(25):
        ledger.add(each)

    app = open_page("runs", sort="run_id", order="up", page="2")

    assert Grid(app).ids == [f"old-{index:04}" for index in range(20, 25)]
    assert Grid(Grid(app).sort("duration_s")).ids[0] == "old-0000", "another order begins on the first page"


def test_the_filter_is_in_the_url(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("runs", q="nan")

    assert Grid(app).ids == [FAILED_RUN]
    assert "throughput_3.json" in texts(app)


def test_runs_are_those_of_some_people_in_some_states_since_some_days(open_page: OpenPage, data_dir: Path) -> None:
    ledger, now = Ledger(data_dir / "ledger.sqlite3"), datetime.now(UTC)
    for run_id, state, who, days in (
        ("run-1", RunState.COMPLETED, "ann", 40),
        ("run-2", RunState.FAILED, "ann", 2),
        ("run-3", RunState.RUNNING, "bob", 0),
        ("run-4", RunState.COMPLETED, "bob", 2),
    ):
        ledger.add(run(run_id, state=state, created_by=who, created_at=now - timedelta(days=days)))

    of_ann, failed, recent = (
        open_page("runs", who="ann"),
        open_page("runs", state="failed"),
        open_page("runs", days="7"),
    )
    both = open_page("runs", who="bob", state=["running", "failed"], days="1")
    nobody = open_page("runs", who="zoe")

    assert Grid(of_ann).ids == ["run-2", "run-1"]
    assert Grid(failed).ids == ["run-2"]
    assert Grid(recent).ids == ["run-3", "run-4", "run-2"]
    assert Grid(both).ids == ["run-3"]
    assert texts(both).count("Last 24 hours") == 1
    assert "No run matches the filter." in texts(nobody)
    assert of_ann.multiselect(key="who").options == ["ann", "bob"]


def test_a_filter_of_the_list_is_stored_in_the_url_and_begins_on_its_first_page(
    open_page: OpenPage, data_dir: Path
) -> None:
    ledger = Ledger(data_dir / "ledger.sqlite3")
    for each in many(45):
        ledger.add(each)
    app = open_page("runs", page="3")

    app = app.multiselect(key="state").select(RunState.COMPLETED).run()

    assert app.query_params["state"] in ("completed", ["completed"])
    assert "page" not in app.query_params
    assert Grid(app).ids[0] == "old-0000"


def ends_between_two_reads() -> None:
    """The ids on the first page, where a run ends after the active runs were counted."""
    import streamlit as st

    from aisbench_core.model import RunSort, RunState
    from pages._ui.grid.sorting import read_sorting
    from pages._ui.runs.run_filters import RunChoice
    from pages._ui.runs.run_list import read_runs
    from pages._ui.shell.core import core
    from tests.console.seeds import RETRYING_RUN

    ledger = core().ledger
    run = ledger.get(RETRYING_RUN)
    for state in (RunState.COLLECTING, RunState.COMPLETED):
        run = ledger.advance(run, run.to(state))
    shown = read_runs(RunChoice(), read_sorting(list(RunSort), RunSort.LAUNCHED), [0, 2, 4])
    st.text(" ".join(run.run_id for run in shown))


def test_a_run_that_ends_while_the_page_is_drawn_is_shown_once(used: Path) -> None:
    assert used.exists()

    app = AppTest.from_function(ends_between_two_reads, default_timeout=60).run()

    assert not app.exception
    assert app.text[0].value.split().count(RETRYING_RUN) == 1


def test_ticked_runs_are_compared_run_again_and_tagged(open_page: OpenPage, used: Path) -> None:
    app = Grid(open_page("runs")).tick(DONE_RUN)
    one = [button.label for button in app.button]
    assert app.button(key="compare-ticked").disabled
    app = Grid(app).tick(DONE_RUN, FAILED_RUN)
    both = [button.label for button in app.button]

    app.text_input(key="tag-ticked").set_value("night, fans")
    app = app.button(key="tag-ticked-add").click().run()

    assert "Run again…" in one
    assert "Run again…" not in both
    assert "Added fans, night to runs: 2" in texts(app)
    assert Grid(app).row(DONE_RUN)["run"].endswith("fans night")
    assert Warehouse(used / "warehouse.duckdb").annotations.of([DONE_RUN])[DONE_RUN].tags == ("fans", "night")
    assert "Esc clears" not in [button.label for button in app.button]


def test_columns_are_chosen_by_the_url(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("runs", columns=["id", "status"])

    assert [*Grid(app).labels] == ["run", "status", "id"]
    assert Grid(app).row(DONE_RUN)["id"] == DONE_RUN

"""Deleting ended runs, and pinning and tagging many, on their pages."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.store.ledger.lineage import Parent, ParentKind, add_parents
from aisbench_core.wiring import open_core
from pages._ui.shell.core import core
from tests import records as a
from tests.actors import TESTER
from tests.console.conftest import OpenPage, texts
from tests.console.grids import Grid
from tests.console.seeds import ACTIVE_RUN, DONE_RUN, FAILED_RUN

pytestmark = pytest.mark.usefixtures("used")


def keys(app: AppTest) -> set[str]:
    return {str(button.key) for button in app.button}


def test_an_ended_run_is_deleted_on_its_page_for_a_reason(open_page: OpenPage) -> None:
    app = open_page("live", run=DONE_RUN)

    app.button(key="delete-one").click().run()
    app.button(key="delete-yes").click().run()
    without_reason = texts(app)
    app.text_input(key="delete-reason").set_value("wrong data").run()
    app.button(key="delete-yes").click().run()

    assert "must not be empty" in without_reason
    assert not app.exception
    deletion = core().deletions.find(DONE_RUN)
    assert (deletion or pytest.fail("it is not deleted")).reason == "wrong data"
    assert "wrong data" in texts(app)
    assert "The follower is removing its job" in texts(app)
    assert keys(app) & {"delete-one", "clean-open", "reproduce", "collect-one"} == set()


def test_a_run_that_has_not_ended_cannot_be_deleted(open_page: OpenPage) -> None:
    assert "delete-one" not in keys(open_page("live", run=ACTIVE_RUN))


def test_ticked_runs_are_deleted_together_and_are_listed_only_if_asked_for(open_page: OpenPage) -> None:
    app = Grid(open_page("runs")).tick(DONE_RUN, FAILED_RUN, ACTIVE_RUN)

    app.button(key="delete-ticked").click().run()
    asked = texts(app)
    app.text_input(key="delete-reason").set_value("a trial").run()
    app.button(key="delete-yes").click().run()

    assert "its job, outputs, logs and files are removed" in asked
    assert ACTIVE_RUN in Grid(app).ids
    assert not {DONE_RUN, FAILED_RUN} & {*Grid(app).ids}
    deleted = Grid(open_page("runs", deleted="1"))
    assert sorted(deleted.ids) == sorted([DONE_RUN, FAILED_RUN])
    assert {str(said).partition(": ")[2] for said in deleted.column("status")} == {"a trial"}


def test_pinned_runs_stand_first_and_are_found_by_the_url(open_page: OpenPage) -> None:
    before = Grid(open_page("runs")).ids
    last = before[-1]
    app = Grid(open_page("runs")).tick(last)

    app = app.button(key="pin-ticked").click().run()

    assert Grid(app).ids == [last, *(run_id for run_id in before if run_id != last)]
    assert Grid(app).row(last)["run"].endswith("Pinned")
    assert Grid(open_page("runs", pinned="1")).ids == [last]
    app = Grid(open_page("runs")).tick(last)
    assert Grid(app.button(key="pin-ticked").click().run()).ids == before


def test_a_tag_is_removed_from_all_that_are_ticked(open_page: OpenPage, used: Path) -> None:
    opened = open_core()
    (used / "runs" / FAILED_RUN).mkdir(parents=True, exist_ok=True)
    for run_id in (DONE_RUN, FAILED_RUN):
        opened.annotations.tag(run_id, ["night", "fans"], [], TESTER)
    app = Grid(open_page("runs", tag="night")).tick(DONE_RUN, FAILED_RUN)

    app.text_input(key="tag-ticked").set_value("night, unknown")
    app = app.button(key="tag-ticked-remove").click().run()

    assert "Removed night, unknown from runs: 2" in texts(app)
    assert [core().annotations.of(run_id).tags for run_id in (DONE_RUN, FAILED_RUN)] == [("fans",)] * 2
    assert "No run matches the filter." in texts(app)


def test_the_tree_of_a_run_links_to_what_it_came_from(open_page: OpenPage, used: Path) -> None:
    assert used.exists()
    ledger, run = open_core().ledger, a.run("r-clone")
    ledger.add(run)
    with ledger.transaction() as con:
        add_parents(con, run, [Parent(DONE_RUN, ParentKind.CLONE)])

    app = open_page("live", run=run.run_id)

    links = [link.proto for link in app.get("page_link") if f"run={DONE_RUN}" in link.proto.query_string]
    assert any("Completed" in link.label for link in links)
    assert "Lineage (2 runs)" in [expander.label for expander in app.expander]

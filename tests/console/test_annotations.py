"""Tags and note on a run's page, and tags on the leaderboard."""

from datetime import timedelta
from pathlib import Path

from streamlit.testing.v1 import AppTest

from aisbench_core.model import AnnotationChange, AnnotationKind
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import OpenPage, texts
from tests.console.grids import Grid
from tests.console.seeds import ACTIVE_RUN, DONE_RUN


def remark(app: AppTest, tags: str, note: str) -> AppTest:
    app.text_input(key="annotation-tags").set_value(tags)
    app.text_area(key="annotation-note").set_value(note)
    return app.button(key="annotation-save").click().run()


def test_tags_and_note_are_stored_shown_and_filtered_by(open_page: OpenPage, used: Path) -> None:
    app = remark(open_page("live", run=DONE_RUN), "night, </script>, 标签", "fan 3 was off\n=1+1 [x](y)")

    row = Warehouse(used / "warehouse.duckdb").runs.find_row(DONE_RUN)
    assert row
    assert row.tags == ("</script>", "night", "标签")
    assert "fan 3 was off  \n=1+1 \\[x\\](y)" in texts(app)
    assert "Noted by console" in texts(app)
    board = open_page("leaderboard", show="runs", tag="night", lang="zh")
    assert Grid(board).ids == [DONE_RUN]
    assert Grid(board).column("run") == [f"已完成 {DONE_RUN} </script> night 标签"]
    assert "night" in texts(open_page("runs", q=DONE_RUN))


def test_a_run_that_is_named_has_that_name_on_its_page_and_in_lists(open_page: OpenPage, used: Path) -> None:
    assert used.exists()
    app = open_page("live", run=DONE_RUN)
    before = app.title[0].value

    app.text_input(key="annotation-name").set_value("fans at [80 %](x)")
    app.button(key="annotation-save").click().run()

    assert before.startswith(":green[✓] mindspore")
    assert "fans at \\[80 %\\](x)" in app.title[0].value
    assert "fans at [80 %](x)" in Grid(open_page("runs", q=DONE_RUN)).row(DONE_RUN)["run"]
    assert "named: fans at" in str(app.dataframe[0].value)


def test_what_somebody_else_wrote_meanwhile_is_shown_before_it_is_replaced(open_page: OpenPage, used: Path) -> None:
    warehouse = Warehouse(used / "warehouse.duckdb")
    app = open_page("live", run=DONE_RUN)
    theirs = [
        AnnotationChange(a.T0, "bob", AnnotationKind.NOTE, "bob's"),
        AnnotationChange(a.T0, "bob", AnnotationKind.TAG, "bobs-tag"),
    ]
    warehouse.annotations.add(DONE_RUN, theirs, None)

    remark(app, "mine", "mine")

    assert "bob changed the note meanwhile; it says: bob's" in texts(app).replace("\\", "")
    assert app.text_area(key="annotation-note").value == "mine"
    assert warehouse.annotations.of([DONE_RUN])[DONE_RUN].note == "bob's"
    app.button(key="annotation-save").click().run()
    known = warehouse.annotations.of([DONE_RUN])[DONE_RUN]
    assert (known.note, known.tags) == ("mine", ("bobs-tag", "mine"))


def test_a_run_on_its_way_has_tags_too_and_a_long_note_is_refused(open_page: OpenPage, used: Path) -> None:
    (used / "runs" / ACTIVE_RUN).mkdir(parents=True)

    app = remark(open_page("live", run=ACTIVE_RUN), "early", "")

    assert (used / "runs" / ACTIVE_RUN / "annotations.jsonl").exists()
    assert "tag added" in str(app.dataframe[0].value)
    app = remark(app, "early", "x" * 10_000)
    assert "at most 4000 letters, and has 10000" in texts(app)


def test_an_imported_run_without_its_folder_is_remarked_of(open_page: OpenPage, used: Path) -> None:
    warehouse = Warehouse(used / "warehouse.duckdb")
    warehouse.record(a.imported("i-1", created_at=a.T0 + timedelta(hours=1)))

    remark(open_page("live", run="i-1"), "old", "from the archive")

    row = warehouse.runs.find_row("i-1")
    assert row
    assert (row.tags, row.note) == (("old",), "from the archive; not measured there: max_power")


def test_a_run_is_set_aside_on_its_page_and_counts_again(open_page: OpenPage, used: Path) -> None:
    warehouse = Warehouse(used / "warehouse.duckdb")
    app = open_page("live", run=DONE_RUN)
    before = warehouse.runs.find_row(DONE_RUN)
    app.text_input(key="set-aside-reason").set_value("node *3* was throttled")

    app = submit(app, "Set the run aside")

    assert "Set aside by console" in texts(app)
    assert "node \\*3\\* was throttled" in texts(app)
    assert "gray-badge[set aside]" in app.title[0].value
    assert "set aside" in texts(open_page("runs", q=DONE_RUN))
    app = app.button(key="count-again").click().run()
    assert "Set aside by" not in texts(app)
    assert warehouse.runs.find_row(DONE_RUN) == before


def submit(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()

"""Import results: what was read is shown and completed before anything is stored, and then found on the leaderboard."""

from pathlib import Path
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.exchange.importing.choices import ImportAnswers
from aisbench_core.exchange.readers.results import ColumnMeaning, Table
from aisbench_core.model import Mode, Origin, Role
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow, Validity
from aisbench_core.wiring import open_core
from pages._ui.imports.reading import ASKED, READ, REFUSED
from pages._ui.imports.single_results import answers_in, refused_in
from pages._ui.imports.table_columns import apply_corrections
from pages._ui.shell.words import Language, Words, set_language
from tests.actors import TESTER
from tests.console.conftest import OpenPage, texts
from tests.console.grids import Grid
from tests.console.test_signed_in import as_person
from tests.old_tables import write_table
from tests.unit.old_logs import BERT, RESNET

MANY = 24
TABLE = "模型,版本,节点数,单机卡数,我们的数,精度\nnet,2.0,2,8,900.5,0.81\n"


def upload(app: AppTest, *files: tuple[str, str]) -> AppTest:
    """Hand files over, and have them read."""
    app.file_uploader(key="old-files").set_value([(name, text.encode(), "text/plain") for name, text in files])
    app.run()
    return app.button(key="old-read-files").click().run()


def subheaders(app: AppTest) -> list[str]:
    return [each.value for each in app.subheader]


def imported(data_dir: Path, region: str = "imported") -> list[RunRow]:
    query = BoardQuery(region, include_invalid=True, sort="model", descending=False)
    return list(Warehouse(data_dir / "warehouse.duckdb").runs.list_rows(query).rows)


def test_nothing_is_stored_before_the_button_is_pressed(open_page: OpenPage, data_dir: Path) -> None:
    app = upload(open_page("import"), ("bert.log", BERT), ("resnet.log", RESNET))

    assert not app.exception
    assert "2 results: 2 models, 1 version" in texts(app)
    assert Grid(app, "Results").column("throughput") == ["450.582 samples/s", "14,151.2 samples/s"]
    assert imported(data_dir) == []


def test_old_logs_are_stored_and_exactly_these_are_one_click_away(open_page: OpenPage, data_dir: Path) -> None:
    upload(open_page("import"), ("another.log", BERT.replace("450.58", "460.58"))).button(key="old-save").click().run()
    app = upload(open_page("import"), ("bert.log", BERT), ("resnet.log", RESNET))

    app.button(key="old-save").click().run()

    assert "Imported: 2. Already here: 0." in texts(app)
    (link,) = [link for link in app.page_link if link.label == "Show the imported runs (2)"]
    shown = {name: values[0] for name, values in parse_qs(link.proto.query_string).items()}
    assert (shown["region"], shown["origin"], shown["show"]) == ("imported", "imported", "runs")
    board = BoardQuery("imported", text=shown["q"], include_invalid=True, sort="model", descending=False)
    runs = Warehouse(data_dir / "warehouse.duckdb").runs.list_rows(board).rows
    assert [row.workload for row in runs] == ["mindspore_bert", "mindspore_resnet"]
    assert {row.validity for row in imported(data_dir)} == {Validity.CLAIMED}
    assert len(imported(data_dir)) == 3


def test_the_same_log_again_says_that_it_is_here(open_page: OpenPage, data_dir: Path) -> None:
    upload(open_page("import"), ("bert.log", BERT)).button(key="old-save").click().run()

    app = upload(open_page("import"), ("copy.log", BERT))
    app.button(key="old-save").click().run()

    assert "Imported: 0. Already here: 1." in texts(app)
    assert len(imported(data_dir)) == 1


def test_what_is_said_about_all_results_is_stored_with_each(open_page: OpenPage, data_dir: Path) -> None:
    app = upload(open_page("import"), ("bert.log", BERT))
    app.text_input(key="old-version").set_value("r1.5").run()
    app.text_input(key="old-nodes").set_value("4").run()

    app.button(key="old-save").click().run()

    (row,) = imported(data_dir)
    assert (row.framework_version, row.node_count) == ("r1.5", 4)


def test_a_cause_is_said_once_and_one_answer_mends_all_results(open_page: OpenPage, data_dir: Path) -> None:
    app = upload(open_page("import"), ("results.csv", write_table(MANY)))

    assert f"{MANY} results: 3 models, 4 versions, 2 flavors" in texts(app)
    assert sum("throughput definition missing" in each.value for each in app.markdown) == 1
    assert app.button(key="old-save").label == f"Import {MANY} (0 usable)"
    app.selectbox(key="old-definition").set_value("warmup_epoch_excluded").run()

    assert "throughput definition missing" not in texts(app)
    assert set(Grid(app, "Results").column("counts")) == {"yes yes"}
    assert app.button(key="old-save").label == f"Import {MANY} (all usable)"
    app.button(key="old-save").click().run()
    assert {row.validity for row in imported(data_dir)} == {Validity.CLAIMED}


def test_each_row_of_the_preview_says_whether_it_counts_on_the_leaderboard(open_page: OpenPage, data_dir: Path) -> None:
    upload(open_page("import"), ("resnet.log", RESNET)).button(key="old-save").click().run()
    app = upload(open_page("import"), ("bert.log", BERT), ("resnet.log", RESNET), ("same.log", BERT))

    shown = Grid(app, "Results")

    (stored,) = imported(data_dir)
    assert shown.column("counts") == ["yes yes", "already stored", "a duplicate: the same result is stored once"]
    assert stored.run_id in shown.rows[1].href, "a stored result leads to its run"


def test_a_row_that_does_not_count_says_why(open_page: OpenPage, data_dir: Path) -> None:
    assert data_dir.exists()
    app = upload(open_page("import"), ("bert.log", BERT))

    app.selectbox(key="old-where").set_value("sandbox").run()

    assert Grid(app, "Results").column("counts") == ["a rehearsal: never compared with measurements"]


def test_who_may_not_import_is_told_so_and_is_shown_no_fields(
    open_page: OpenPage, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data_dir.exists()
    monkeypatch.setenv("AISBENCH_IDENTITY", "proxy")
    monkeypatch.setenv("AISBENCH_TRUSTED_PROXIES", "127.0.0.1")
    for name, role in (("boss", Role.ADMIN), ("ann", Role.VIEWER)):
        open_core().people.set_role(name, role, TESTER)
    app = as_person(open_page("import"), "boss")
    may = len(app.file_uploader)

    app = as_person(app, "ann")

    assert (may, len(app.file_uploader)) == (2, 0), "one for results, one for bundles"
    assert "Needs the role engineer" in texts(app)


def test_results_of_a_rehearsal_profile_stay_apart(open_page: OpenPage, data_dir: Path) -> None:
    app = upload(open_page("import"), ("bert.log", BERT))
    app.selectbox(key="old-where").set_value("sandbox").run()

    app.button(key="old-save").click().run()

    (row,) = imported(data_dir)
    assert (row.region, row.rehearsal, row.origin) == ("imported", True, Origin.IMPORTED)


def test_files_without_a_result_are_named_with_the_reason(open_page: OpenPage, data_dir: Path) -> None:
    app = upload(open_page("import"), ("empty.log", "nothing here\n"))

    assert "No results found" in texts(app)
    assert [list(table.value["File"]) for table in app.dataframe] == [["empty.log"]]
    assert imported(data_dir) == []


def test_a_path_on_the_console_s_machine_is_read(open_page: OpenPage, data_dir: Path, tmp_path: Path) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "run.log").write_bytes(BERT.encode("gbk"))
    app = open_page("import")
    app.text_input(key="old-path").set_value(str(folder)).run()

    app.button(key="old-read-path").click().run()
    app.button(key="old-save").click().run()

    assert [row.source for row in imported(data_dir)] == ["run.log (1)"]


def test_a_click_whose_run_was_cut_short_is_not_lost(open_page: OpenPage, tmp_path: Path) -> None:
    """As when another file has arrived while the page was drawn for the click."""
    (tmp_path / "run.log").write_bytes(BERT.encode())
    app = open_page("import")
    app.text_input(key="old-path").set_value(str(tmp_path / "run.log"))
    app.session_state[ASKED] = "old-read-path"

    app.run()

    assert "1 result: 1 model" in texts(app)
    assert ASKED not in app.session_state


def test_a_path_that_is_not_there_is_a_sentence(open_page: OpenPage, data_dir: Path) -> None:
    app = open_page("import")
    app.text_input(key="old-path").set_value(str(data_dir / "nowhere")).run()

    app.button(key="old-read-path").click().run()

    assert "does not exist" in texts(app)


def test_a_table_s_columns_are_shown_with_their_meanings(open_page: OpenPage, data_dir: Path) -> None:
    assert data_dir.exists()

    app = upload(open_page("import"), ("old.csv", TABLE))

    assert not app.exception
    assert any("Table columns (6)" in each.label for each in app.expander)


UNKNOWN = "model,Batch,Kernel,samples/s,accuracy\nbert,256,flash,100,0.7\nbert,4096,eager,800,0.7\n"


def test_each_column_that_is_not_understood_has_a_choice_beside_it(open_page: OpenPage, data_dir: Path) -> None:
    app = upload(open_page("import"), ("lab.csv", UNKNOWN))

    assert subheaders(app) == ["Columns not understood (2)"]
    batch, kernel = (app.selectbox(key=f"old-column-{header}") for header in ("Batch", "Kernel"))
    assert (batch.value, kernel.value) == ("parameter.batch_size", "parameter.kernel")
    assert {result.parameters.get("kernel") for result in app.session_state[READ].results} == {"flash", "eager"}

    app = kernel.set_value("").run()

    assert subheaders(app) == ["Columns not understood (1)"]
    assert open_core().imports.columns.read_stored() == {"Kernel": ""}
    assert [dict(result.parameters) for result in app.session_state[READ].results] == [
        {"batch_size": 256},
        {"batch_size": 4096},
    ]
    app = app.button(key="old-keep-columns").click().run()
    assert subheaders(app) == []
    app.button(key="old-save").click().run()
    assert len(imported(data_dir)) == 2


@pytest.mark.parametrize(
    ("meaning", "size"), [("card_count", (8, 16)), ("cards_per_node", (16, 32))], ids=["all", "each"]
)
def test_cards_beside_several_nodes_are_asked_about(open_page: OpenPage, meaning: str, size: tuple[int, int]) -> None:
    table = "model,nodes,cards,samples/s,accuracy\nbert,2,16,100,0.7\n"
    app = upload(open_page("import"), ("lab.csv", table))
    before = app.session_state[READ].results[0].card_count
    question = app.selectbox(key="old-column-cards")

    app = question.set_value(meaning).run()

    assert before is None
    assert question.options == ["ignore", "cards of all nodes", "cards of each node"]
    [result] = app.session_state[READ].results
    assert (result.cards_per_node, result.card_count) == size
    assert subheaders(app) == []
    assert open_core().imports.columns.read_stored() == {"cards": meaning}


def test_all_columns_that_are_not_understood_are_ignored_in_one_click(open_page: OpenPage) -> None:
    app = upload(open_page("import"), ("lab.csv", UNKNOWN))

    app = app.button(key="old-ignore-columns").click().run()

    assert subheaders(app) == []
    assert open_core().imports.columns.read_stored() == {"Batch": "", "Kernel": ""}


def test_a_cell_that_is_not_understood_is_listed_with_its_place(open_page: OpenPage) -> None:
    app = upload(open_page("import"), ("lab.csv", "model,date,samples/s,accuracy\nbert,Nov 3,100,0.7\n"))

    assert any("Cells not understood, left out (1)" in each.label for each in app.expander)
    [table] = [table.value for table in app.dataframe if "Cell" in table.value]
    assert [*table["Cell"], *table["Header"]] == ["B2", "date"]


def test_a_correction_of_columns_is_carried_out_and_the_rest_stays() -> None:
    table = Table("old.csv", ("a", "b"), {"a": ColumnMeaning.MODEL})

    (after,) = apply_corrections([table], {"b": "throughput_ratio"})

    assert after.mapping == {"a": ColumnMeaning.MODEL, "b": ColumnMeaning.THROUGHPUT_RATIO}


@pytest.mark.parametrize("language", list(Language))
def test_a_change_in_a_row_is_an_answer_about_that_result(language: Language) -> None:
    t = Words(language)
    changes: dict[str, object] = {"node_count": "4", "mode": t("mode.cluster"), "model": ""}

    set_language(language)
    answers = answers_in(changes, ImportAnswers(model="net", framework_version="2.0"))
    cleared = answers_in({"mode": None, "node_count": None}, answers)
    set_language(Language.EN)

    assert answers == ImportAnswers(node_count=4, mode=Mode.CLUSTER, framework_version="2.0")
    assert cleared == ImportAnswers(framework_version="2.0")


@pytest.mark.parametrize("typed", ["0", "4097", "2.5", "four", "1_000"])
def test_a_number_in_a_row_that_is_refused_is_no_answer_and_stays_until_it_is_corrected(typed: str) -> None:
    refused = refused_in({"node_count": f" {typed} "}, {})

    assert answers_in({"node_count": typed}, ImportAnswers(node_count=2)) == ImportAnswers()
    assert refused == {"node_count": typed}
    assert refused_in({"node_count": typed, "Note": "x"}, {"cards_per_node": "65"}) == {
        "cards_per_node": "65",
        "node_count": typed,
    }
    assert refused_in({"node_count": "4"}, refused) == refused_in({"node_count": None}, refused) == {}


def test_a_refused_number_in_a_row_says_what_is_allowed_and_blocks_the_import(open_page: OpenPage) -> None:
    app = upload(open_page("import"), ("bert.log", BERT))
    identity = app.session_state[READ].results[0].identity

    app.session_state[REFUSED] = {identity: {"cards_per_node": "65"}}
    app.run()

    assert "'65' is not allowed; enter a whole number, 1 to 64" in texts(app)
    assert app.button(key="old-save").disabled
    [preview] = [table.value for table in app.dataframe if "cards_per_node" in table.value]
    assert [*preview["cards_per_node"]] == ["65"], "it stays as it was typed"
    upload(app, ("resnet.log", RESNET))
    assert not app.button(key="old-save").disabled, "other files, other answers"


def test_an_empty_leaderboard_leads_here(open_page: OpenPage, data_dir: Path) -> None:
    assert data_dir.exists()

    app = open_page("leaderboard")

    assert "Import earlier results" in {link.label for link in app.page_link}


def test_an_import_is_forgotten_after_a_question_that_names_count_and_file(open_page: OpenPage, data_dir: Path) -> None:
    upload(open_page("import"), ("bert.log", BERT)).button(key="old-save").click().run()
    ((one,), _) = Warehouse(data_dir / "warehouse.duckdb").imports.page()
    app = open_page("import")
    without_a_tick = [button.key for button in app.button]
    app = Grid(app, "Earlier imports").tick(one.import_id)
    app.button(key="imports-forget").click().run()
    asked = texts(app)

    app.button(key="imports-yes").click().run()

    assert "imports-forget" not in without_a_tick
    assert "All imported runs of **bert.log**" in asked
    assert "**1** in total" in asked
    assert "Runs of bert.log forgotten: 1." in texts(app)
    assert imported(data_dir) == []
    assert not app.exception

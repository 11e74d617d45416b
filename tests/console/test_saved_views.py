"""Saved views: what a page shows under a name, opened by a short address, and honest about what is gone."""

import json
from pathlib import Path

from click.testing import CliRunner
from streamlit.testing.v1 import AppTest

from aisbench_core.interfaces.cli import main
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from aisbench_core.warehouse.values.saved import SavedView
from tests.actors import TESTER
from tests.console.conftest import OpenPage, texts
from tests.records import T0


def saved(data_dir: Path) -> dict[str, SavedView]:
    return {each.name: each for each in Warehouse(data_dir / "warehouse.duckdb").saved_views.on()}


def save(app: AppTest, name: str) -> AppTest:
    app.text_input(key="view-name").set_value(name)
    return app.button(key="view-save").click().run()


def test_a_view_is_saved_opened_renamed_and_deleted(open_page: OpenPage, used: Path) -> None:
    app = save(open_page("leaderboard", nodes=["1", "2"], show="runs", invalid="1"), "Small ones")

    assert saved(used)["Small ones"].address == {"nodes": ("1", "2"), "show": ("runs",), "invalid": ("1",)}
    assert "Saved as Small ones" in texts(app)
    app = open_page("leaderboard", view="Small ones", lang="zh")
    assert app.multiselect(key="nodes").value == [1, 2]
    assert app.selectbox(key="show").value == "runs"
    assert app.query_params["lang"] in ("zh", ["zh"])
    assert "view" not in app.query_params
    app.text_input(key="view-new").set_value("Up to two")
    app.button(key="view-rename").click().run()
    assert [*saved(used)] == ["Up to two"]
    app.button(key="view-delete").click().run()
    assert saved(used) == {}


def test_a_taken_name_is_replaced_only_by_a_second_button(open_page: OpenPage, used: Path) -> None:
    save(open_page("leaderboard", nodes=["1"]), "Mine")

    app = save(open_page("leaderboard", nodes=["2"]), "Mine")

    assert "is taken" in texts(app)
    assert saved(used)["Mine"].address == {"nodes": ("1",)}
    app.button(key="view-replace").click().run()
    assert saved(used)["Mine"].address == {"nodes": ("2",)}


def test_a_view_says_which_of_its_filters_are_gone(open_page: OpenPage, used: Path) -> None:
    gone = {"model": ("resnet_of_old",), "nodes": ("1", "512"), "region": ("cn-north-9",)}
    Warehouse(used / "warehouse.duckdb").saved_views.save(
        SavedView("leaderboard", "Old", gone, "ann", T0), actor=TESTER
    )

    app = open_page("leaderboard", view="Old")

    assert "filters match nothing here and are ignored: Model: resnet\\_of\\_old; Nodes: 512" in texts(app)
    assert app.multiselect(key="nodes").value == [1]
    assert "no longer exist" not in texts(open_page("leaderboard", model="resnet50_v1.5"))
    assert "没有名为 Nobody 的视图" in texts(open_page("leaderboard", view="Nobody", lang="zh"))


def test_compare_history_and_scaling_have_views_too(open_page: OpenPage, used: Path) -> None:
    save(open_page("compare", ids=["run-n1-0", "run-n2-0", "run-gone"]), "Two")
    group = Warehouse(used / "warehouse.duckdb").trends.list_rows(BoardQuery("cn-north-9")).rows[0].group.id
    save(open_page("history", group=group, along="version"), "By version")
    save(open_page("scaling"), "All")

    app = open_page("compare", view="Two")
    assert app.multiselect(key="ids").value == ["run-n1-0", "run-n2-0"]
    assert "Runs: run-gone" in texts(app)
    assert open_page("history", view="By version").radio(key="along").value == "version"
    assert not open_page("scaling", view="All").exception
    listed = CliRunner().invoke(main, ["views", "list", "--json"], env={"AISBENCH_DATA_DIR": str(used)})
    assert [each["short"] for each in json.loads(listed.stdout)] == [
        "/compare?view=Two", "/history?view=By+version", "/scaling?view=All",
    ]  # fmt: skip
    for code in (0, 2):
        words = ["views", "delete", "compare", "Two"]
        assert CliRunner().invoke(main, words, env={"AISBENCH_DATA_DIR": str(used)}).exit_code == code

"""The quick search finds pages, runs, series, views and workloads from every page."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.model import Role, WayIn, local_actor
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.saved import SavedView
from aisbench_core.wiring import open_core
from pages._ui.shell.core import core
from tests import records as a
from tests.actors import TESTER
from tests.console import seeds
from tests.console.conftest import OpenPage, texts
from tests.console.test_signed_in import as_person
from tests.stores.test_warehouse_nodes import on_hosts


def results(app: AppTest, text: str) -> list[str]:
    """The labels of the links that the search adds to the page."""
    before = Counter(link.proto.label for link in app.get("page_link"))
    app.button(key="search-open").click().run()
    app.text_input(key="search-text").set_value(text).run()
    assert not app.exception
    return [*(Counter(link.proto.label for link in app.get("page_link")) - before)]


@pytest.mark.parametrize(
    ("text", "found"),
    [("BOARD", "Leaderboard"), (seeds.DONE_RUN, seeds.DONE_RUN), ("run-n1-0", "run-n1-0"), ("bert", "BERT")],
)
def test_a_part_of_a_name_or_id_finds_what_it_names(open_page: OpenPage, used: Path, text: str, found: str) -> None:
    assert used.exists()

    assert any(found in label for label in results(open_page("health"), text))


def test_a_configuration_is_found_by_its_model_and_leads_to_its_page(open_page: OpenPage, data_dir: Path) -> None:
    Warehouse(data_dir / "warehouse.duckdb").rebuild(a.records([9000.0, 9010.0, 9020.0], "fast", flavor="f1"))

    app = open_page("health")

    assert any(label.replace("\\", "").startswith("resnet50_v1.5 · r1.10 · f1") for label in results(app, "resnet"))


@pytest.mark.parametrize(
    ("text", "label", "page", "selection"),
    [
        ("1.10", "r1.10", "leaderboard", "version=r1.10"),
        ("ada", "ada", "runs", "who=ada"),
        ("blue", "night-blue", "runs", "tag=night-blue"),
        ("node-07", "node-07.pool", "live", "run=r-1"),
        ("launch a run", "Launch a run", "configure", "draft=mine"),
    ],
)
def test_whatever_a_page_shows_by_a_name_is_found(
    open_page: OpenPage, data_dir: Path, text: str, label: str, page: str, selection: str
) -> None:
    Warehouse(data_dir / "warehouse.duckdb").record(on_hosts(1, "node-07.pool", "node-08.pool"))
    app = open_page("health")
    core().ledger.add(replace(a.run("r-2"), created_by="ada"))
    core().annotations.tag("r-2", ["night-blue"], [], local_actor("ada", WayIn.CONSOLE))

    results(app, text)

    links = [link.proto for link in app.get("page_link")]
    found = {link.label.partition(" :small")[0].replace("\\", ""): link for link in links}
    assert (page, True) == (found[label].page, selection in found[label].query_string)


@pytest.mark.parametrize(("role", "is_found"), [(Role.ADMIN, True), (Role.VIEWER, False)])
def test_an_action_is_found_only_by_who_may_do_it(
    open_page: OpenPage, data_dir: Path, monkeypatch: pytest.MonkeyPatch, role: Role, *, is_found: bool
) -> None:
    assert data_dir.exists()
    monkeypatch.setenv("AISBENCH_IDENTITY", "proxy")
    monkeypatch.setenv("AISBENCH_TRUSTED_PROXIES", "127.0.0.1")
    open_core().people.set_role("ann", role, TESTER)

    found = results(as_person(open_page("health"), "ann"), "budget")

    assert any("Set a budget" in label for label in found) is is_found


def test_a_saved_view_is_found_by_its_name(open_page: OpenPage, used: Path) -> None:
    app = open_page("health")
    view = SavedView("leaderboard", "Nightly resnet", {"region": ("cn-north-9",)}, "ada", a.T0 + timedelta(days=1))
    core().warehouse.saved_views.save(view, local_actor("ada", WayIn.CONSOLE))

    assert any("Nightly resnet" in label for label in results(app, "nightly"))
    assert used.exists()


@pytest.mark.parametrize("page", ["compare", "history", "leaderboard"])
def test_a_page_without_anything_to_show_can_be_searched_from(open_page: OpenPage, page: str) -> None:
    assert "Health" in results(open_page(page), "health")


def test_a_text_that_nothing_matches_is_said_and_is_no_markup(open_page: OpenPage) -> None:
    app = open_page("health")

    assert results(app, "**no** :red[such] thing") == []
    assert "No results for" in texts(app)
    assert r"\*\*no" in texts(app)


def test_a_dialog_of_the_page_and_the_search_are_never_open_together(open_page: OpenPage) -> None:
    app = open_page("configure")
    app.button(key="launch").click().run()

    app.button(key="search-open").click().run()

    assert not app.exception
    assert not [button for button in app.button if button.key == "launch-yes"]


def test_results_that_read_the_same_say_what_tells_them_apart(open_page: OpenPage, data_dir: Path) -> None:
    runs = [
        *a.records([9000.0], "one", flavor="f1"),
        *a.records([9500.0], "two", flavor="f1", speed_parameters={"depth": 9}),
    ]
    Warehouse(data_dir / "warehouse.duckdb").rebuild(runs)

    found = [label for label in results(open_page("health"), "resnet") if "f1" in label]

    assert [label.split("latest run ")[1].split(" · ")[0] for label in found] == ["two-0", "one-0"]

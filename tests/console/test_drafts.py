"""A draft holds what a person entered: neither labels nor what a browser makes up, and what is launched was read."""

from pathlib import Path

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from aisbench_core.domain.authoring.specfile import from_yaml
from aisbench_core.store.ledger.ledger import Ledger
from pages._ui.shell.words import Language
from tests import records as a
from tests.console.conftest import BROWSER_KEY, OWN_DRAFT, OpenPage, newest, texts

CHOICES = ("spec.workload", "spec.framework_version", "spec.flavor", "spec.mode", "spec.log_levels.cann")


@pytest.fixture
def ledger(data_dir: Path) -> Ledger:
    """The console's ledger."""
    return Ledger(data_dir / "ledger.sqlite3")


def send_again(app: AppTest, before: dict[str, str]) -> AppTest:
    """What a browser does at the next click: it sends what its boxes hold, by their ids."""
    states = app._tree.get_widget_states()
    states.widgets.extend(WidgetState(id=each, string_value=label) for each, label in before.items())
    return app._run(states)


@pytest.mark.parametrize("key", CHOICES)
def test_a_label_of_another_language_is_no_choice(open_page: OpenPage, ledger: Ledger, key: str) -> None:
    app = open_page("configure")
    app.text_input(key="spec.node_count").set_value("3").run()
    before = ledger.draft(OWN_DRAFT)
    box = newest(app.selectbox, key)
    held = {box.id: box.options[box.index or 0]}

    app.selectbox(key="lang").set_value(Language.ZH).run()
    send_again(app, held)
    send_again(app, {newest(app.selectbox, key).id: "a label that nobody offers"})

    assert not app.exception
    assert ledger.draft(OWN_DRAFT) == before


def test_a_filter_takes_only_its_options(open_page: OpenPage, used: Path) -> None:
    assert used.exists()
    app = open_page("leaderboard", region="cn-north-9", order="up")

    send_again(app, {app.selectbox(key="sort").id: "nothing of the list"})

    assert not app.exception
    assert "sort" not in app.query_params


def test_widgets_are_drawn_with_what_the_draft_says(open_page: OpenPage) -> None:
    app = open_page("configure")
    app.text_input(key="spec.parameters.epochs").set_value("7").run()
    app.text_input(key="spec.node_count").set_value("3").run()

    again = open_page("configure")

    assert again.text_input(key="spec.parameters.epochs").proto.default == "7"
    assert again.text_input(key="spec.node_count").proto.default == "3"
    assert not any(each.proto.set_value for each in (*again.selectbox, *again.text_input))


def test_what_another_window_writes_is_shown_and_not_written_back(open_page: OpenPage, ledger: Ledger) -> None:
    app, other = open_page("configure"), open_page("configure")

    other.text_input(key="spec.parameters.epochs").set_value("9").run()
    app.text_input(key="spec.node_count").set_value("3").run()

    spec = from_yaml(ledger.draft(OWN_DRAFT) or "")
    assert (spec.parameters, spec.node_count) == ({"epochs": 9}, 3)
    assert newest(app.text_input, "spec.parameters.epochs").value == "9"


def test_a_draft_that_changed_since_the_question_is_shown_before_it_is_launched(
    open_page: OpenPage, ledger: Ledger
) -> None:
    app = open_page("configure")
    app.text_input(key="spec.node_count").set_value("2").run()
    app.button(key="launch").click().run()
    open_page("configure").text_input(key="spec.node_count").set_value("5").run()

    app.button(key="launch-yes").click().run()
    refused, shown = texts(app), app.code[0].value
    before = ledger.page()
    app.button(key="launch-yes").click().run()

    assert before == []
    assert "has changed since this dialog was opened" in refused
    assert "node_count: 5" in shown
    assert [each.spec.node_count for each in ledger.page()] == [5]


def test_no_address_opens_another_browsers_draft(open_page: OpenPage, ledger: Ledger) -> None:
    ledger.save_draft("browser-of-somebody", "workload: mindspore_bert\n", a.T0)
    ledger.save_draft("system-run", '{"cooling": "air"}', a.T0)

    for name in ("browser-of-somebody", "system-run"):
        app = open_page("configure", draft=name)

        assert app.selectbox(key="spec.workload").value == "quickstart_digits"


def test_a_name_in_the_address_is_a_draft_of_its_own(open_page: OpenPage, ledger: Ledger) -> None:
    open_page("configure", draft="twice").text_input(key="spec.node_count").set_value("4").run()

    assert "node_count: 4" in (ledger.draft("twice") or "")
    assert ledger.draft(OWN_DRAFT) is None


def test_the_menu_leads_back_to_the_draft_that_was_open(open_page: OpenPage, ledger: Ledger) -> None:
    ledger.save_draft("from-gone", "workload: mindspore_bert\n", a.T0)
    app = open_page("configure", draft="from-gone")

    app.switch_page("../runs.py").run()
    app.query_params.clear()
    app.switch_page("../configure.py").run()

    assert app.query_params["draft"] in ("from-gone", ["from-gone"])
    assert newest(app.selectbox, "spec.workload").value == "mindspore_bert"


def test_the_browsers_drafts_are_listed_and_those_of_others_are_not(open_page: OpenPage, ledger: Ledger) -> None:
    ledger.save_draft(f"from-run-7.{BROWSER_KEY[:8]}", "workload: mindspore_bert\nnode_count: 4\n", a.T0)
    ledger.save_draft(f"system-run-7.{BROWSER_KEY}", '{"cooling": "air"}', a.T0)
    ledger.save_draft("from-run-8.somebody", "workload: mindspore_bert\n", a.T0)
    ledger.save_draft(f"import-1-{BROWSER_KEY[:8]}", "nodes: [", a.T0)

    drafts = newest(open_page("configure").selectbox, "draft")

    assert [option.split(" · ")[:2] for option in drafts.options] == [
        ["Not changed yet", "your own"],
        ["mindspore_bert 4 × 1", "from run run-7"],
        ["Not a valid spec yet", "03-01 08:00"],
    ]
    app = drafts.set_value(drafts.options[1]).run()
    assert newest(app.selectbox, "spec.workload").value == "mindspore_bert"


def test_a_new_draft_leaves_the_others_alone(open_page: OpenPage, ledger: Ledger) -> None:
    app = open_page("configure")
    app.text_input(key="spec.node_count").set_value("3").run()

    app.button(key="draft-new").click().run()

    assert newest(app.text_input, "spec.node_count").value == "1"
    assert len(newest(app.selectbox, "draft").options) == 2
    assert "node_count: 3" in (ledger.draft(OWN_DRAFT) or "")


def test_a_deleted_draft_comes_back_unchanged(open_page: OpenPage, ledger: Ledger) -> None:
    ledger.save_draft("nightly", "workload: mindspore_bert\nnode_count: 4\n", a.T0)
    app = open_page("configure", draft="nightly")

    app.button(key="draft-delete").click().run()
    assert ledger.draft("nightly") is None
    assert newest(app.selectbox, "spec.workload").value == "quickstart_digits"

    app.button(key="draft-undo").click().run()
    assert ledger.draft("nightly") == "workload: mindspore_bert\nnode_count: 4\n"
    assert newest(app.selectbox, "spec.workload").value == "mindspore_bert"

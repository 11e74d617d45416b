"""Authoring: form and YAML are two views of one draft, preflight speaks up, and a question launches once."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from yaml import safe_dump

from aisbench_core.cloud.regions import OfferedFlavors
from aisbench_core.config.settings import load_profile, load_settings
from aisbench_core.domain.authoring.specfile import from_yaml
from aisbench_core.model import Budget, BudgetScope, Flavor, RunSpec, StoredBudget
from aisbench_core.people.budgets.ledger import BudgetLedger
from aisbench_core.store.ledger.ledger import Ledger
from pages._ui.shell.core import core
from tests import records as a
from tests.console.conftest import BROWSER_KEY, OWN_DRAFT, OpenPage, newest, texts
from tests.console.grids import Grid
from tests.console.seeds import DONE_RUN
from tests.sandbox_process import SandboxProcess

ANOTHER = "mindspore_resnet"


def draft(data_dir: Path, key: str = OWN_DRAFT) -> RunSpec:
    """What the ledger keeps."""
    text = Ledger(data_dir / "ledger.sqlite3").draft(key)
    assert text is not None
    return from_yaml(text)


def write_yaml(app: AppTest, text: str) -> AppTest:
    """Type a spec into the YAML view."""
    return app.text_area(key="spec.yaml").set_value(text).run()


def is_blocked(app: AppTest) -> bool:
    """Whether the button that launches cannot be pressed."""
    return bool(app.button(key="launch").disabled)


def test_the_first_draft_can_be_launched_as_it_is(open_page: OpenPage) -> None:
    app = open_page("configure")

    assert app.selectbox(key="spec.workload").value == "quickstart_digits"
    assert app.selectbox(key="spec.flavor").value == "sandbox.cpu.2cards"
    assert app.button(key="launch").label == "Launch…"


def test_what_is_entered_survives_a_reload(open_page: OpenPage, data_dir: Path) -> None:
    app = open_page("configure")
    app.text_input(key="spec.node_count").set_value("2").run()
    app.text_input(key="spec.parameters.epochs").set_value("7").run()
    app.text_input(key="spec.name").set_value("first try").run()

    again = open_page("configure")

    assert draft(data_dir).node_count == 2
    assert again.text_input(key="spec.node_count").value == "2"
    assert again.text_input(key="spec.parameters.epochs").value == "7"
    assert again.text_input(key="spec.name").value == "first try"


def test_the_form_shows_in_yaml_and_yaml_shows_in_the_form(open_page: OpenPage) -> None:
    app = open_page("configure", view="yaml")
    text = app.text_area(key="spec.yaml").value or ""

    write_yaml(app, text + "node_count: 4\nparameters: {epochs: 9}\n")
    form = open_page("configure")
    form.text_input(key="spec.node_count").set_value("3").run()
    yaml = open_page("configure", view="yaml")

    assert form.text_input(key="spec.parameters.epochs").value == "9"
    assert "node_count: 3" in (yaml.text_area(key="spec.yaml").value or "")


def test_yaml_that_is_no_spec_is_kept_and_its_problem_named(open_page: OpenPage) -> None:
    app = open_page("configure", view="yaml")

    write_yaml(app, "workload: quickstart_digits\nnodes: 4\n")
    again = open_page("configure", view="yaml")

    assert "is not a known key" in texts(again)
    assert again.button(key="go-to.0").label == "nodes · line 2"
    assert again.text_area(key="spec.yaml").value == "workload: quickstart_digits\nnodes: 4\n"
    assert is_blocked(again)


def test_a_value_that_the_widget_cannot_hold_can_be_corrected_in_the_form(open_page: OpenPage, data_dir: Path) -> None:
    write_yaml(open_page("configure", view="yaml"), "workload: quickstart_digits\nparameters: {epochs: ninety}\n")
    app = open_page("configure")
    assert "must be a whole number (found 'ninety')" in texts(app)

    app.text_input(key="spec.parameters.epochs").set_value("90").run()

    assert draft(data_dir).parameters == {"epochs": 90}
    assert app.text_input(key="spec.parameters.epochs").value == "90"


def test_a_data_set_is_asked_for_where_the_workload_reads_one(open_page: OpenPage) -> None:
    shown = {}
    for workload in ("quickstart_digits", "pytorch_llm_pretrain"):
        write_yaml(open_page("configure", view="yaml"), f"workload: {workload}\n")
        shown[workload] = [each.key for each in open_page("configure").text_input]

    assert "spec.inputs.data_url" in shown["quickstart_digits"]
    assert not [key for key in shown["pytorch_llm_pretrain"] if key and key.startswith("spec.inputs")]


def test_an_error_forbids_the_launch_until_it_is_mended(open_page: OpenPage) -> None:
    app = open_page("configure")

    app.text_input(key="spec.inputs.data_url").set_value("no-slashes").run()
    blocked, reason = is_blocked(app), texts(app)
    app.text_input(key="spec.inputs.data_url").set_value("").run()

    assert blocked
    assert "Errors: 2" in reason
    assert "Fix the errors to launch." in reason
    assert not is_blocked(app)


def test_the_cost_follows_nodes_and_the_hours_in_the_url(open_page: OpenPage, paid: str) -> None:
    app = open_page("configure", hours="3", profile=paid)
    assert "37.50 CNY" in texts(app)

    app.text_input(key="spec.node_count").set_value("2").run()

    assert "75.00 CNY" in texts(app)


def test_a_launch_that_no_budget_has_room_for_says_so_before_it(open_page: OpenPage, paid: str, data_dir: Path) -> None:
    budget = Budget(scope=BudgetScope.EVERYBODY, amount=1, currency="CNY")
    BudgetLedger(Ledger(data_dir / "ledger.sqlite3")).set(StoredBudget(budget, a.T0, "root"))

    app = open_page("configure", profile=paid)
    free = open_page("configure", profile="sandbox")

    assert "A launch would wait for approval: the cost of this launch is unknown" in texts(app)
    assert "wait for approval" not in texts(free)


def test_a_rehearsal_costs_nothing(open_page: OpenPage) -> None:
    said = texts(open_page("configure", hours="3"))

    assert "A rehearsal costs nothing." in said
    assert "CNY" not in said
    assert "CNY" not in texts(open_page("series", new="1"))
    assert core().regions.profile().price_per_node_hour


def test_another_workload_keeps_the_size_and_drops_the_parameters(open_page: OpenPage, data_dir: Path) -> None:
    app = open_page("configure")
    app.text_input(key="spec.node_count").set_value("2").run()
    app.text_input(key="spec.parameters.epochs").set_value("7").run()

    app.selectbox(key="spec.workload").set_value(ANOTHER).run()

    assert not app.exception
    assert draft(data_dir).workload == ANOTHER
    assert draft(data_dir).node_count == 2
    assert draft(data_dir).parameters == {}


def test_every_framework_version_has_its_own_form(open_page: OpenPage, data_dir: Path) -> None:
    app = open_page("configure")
    app.selectbox(key="spec.workload").set_value(ANOTHER).run()

    for version in newest(app.selectbox, "spec.framework_version").options:
        newest(app.selectbox, "spec.framework_version").set_value(version).run()

        assert not app.exception
        assert draft(data_dir).framework_version == version


def test_a_run_becomes_a_draft_without_touching_the_own_one(open_page: OpenPage, used: Path) -> None:
    open_page("configure").text_input(key="spec.node_count").set_value("5").run()
    mine = draft(used)
    app = Grid(open_page("runs", q=DONE_RUN)).tick(DONE_RUN)

    app.button(key="clone-ticked").click().run()

    assert app.title[0].value == "New run"
    assert draft(used, f"from-{DONE_RUN}.{BROWSER_KEY[:8]}").workload == "mindspore_resnet"
    assert draft(used) == mine


def test_the_question_says_what_will_be_sent(open_page: OpenPage, paid: str) -> None:
    app = open_page("configure", profile=paid)

    app.button(key="launch").click().run()

    assert "**paid**" in texts(app)
    assert "12.50 CNY" in texts(app)
    assert "boot_file: train.py" in app.code[0].value


def test_a_question_launches_once_however_often_it_is_answered(open_page: OpenPage, data_dir: Path) -> None:
    app = open_page("configure")
    for _ in range(2):
        app.session_state["launch-question"] = "the same question"
        app.run()
        app.button(key="launch-yes").click().run()
        assert not app.exception
        assert "quickstart\\_digits" in app.title[0].value
        app.switch_page("../configure.py").run()

    assert Ledger(data_dir / "ledger.sqlite3").count() == 1


def test_a_name_of_somebody_elses_is_no_markup(open_page: OpenPage) -> None:
    app = open_page("configure", view="yaml")

    write_yaml(app, "workload: quickstart_digits\nparameters: {'a`b **c**': 1}\n")

    assert "parameters.a\\`b \\*\\*c\\*\\* · line 2" in [button.label for button in app.button]


def test_a_draft_for_an_unknown_workload_can_be_started_over(open_page: OpenPage) -> None:
    app = open_page("configure", view="yaml")
    write_yaml(app, "workload: nobody_knows\n")
    assert "nobody\\_knows" in texts(app)
    assert is_blocked(app)

    app.button(key="discard").click().run()

    assert not is_blocked(app)


def test_a_finding_is_mended_with_one_click_and_the_rest_of_the_draft_stays(
    open_page: OpenPage, data_dir: Path
) -> None:
    app = open_page("configure", view="yaml")
    text = app.text_area(key="spec.yaml").value or ""
    app = write_yaml(app, text + "name: kept\nretries: 9\n")

    (button,) = [each for each in app.button if (each.key or "").startswith("fix.")]
    assert button.label.replace("\\", "") == "Fix: retries: 3"
    app = button.click().run()

    assert (draft(data_dir).retries, draft(data_dir).name) == (3, "kept")
    assert not [each for each in app.button if (each.key or "").startswith("fix.")]


def test_restarts_and_the_training_mode_are_set_in_the_form_and_checked(open_page: OpenPage, data_dir: Path) -> None:
    app = open_page("configure")

    app = app.toggle(key="spec.retry_on_hang").set_value(True).run()
    assert "has no effect without retries" in texts(app)
    app = app.text_input(key="spec.retries").set_value("2").run()
    app = app.toggle(key="spec.outputs.prefetch").set_value(True).run()
    app = app.selectbox(key="spec.environment_check").select_index(2).run()
    app = app.selectbox(key="spec.training_mode").select_index(1).run()

    spec = draft(data_dir)
    assert (spec.retry_on_hang, spec.retries, spec.environment_check) == (True, 2, False)
    assert (spec.training_mode, spec.outputs[0].prefetch) == ("performance", True)
    assert "it is passed as MA" in texts(app)


def test_a_flavor_that_tells_no_more_than_its_name_is_chosen_without_changing_the_cards(
    open_page: OpenPage, data_dir: Path, sandbox: SandboxProcess, sdk_venv: Path
) -> None:
    profile = {**sandbox.profile, "api": "sdk", "sdk_venv": str(sdk_venv)}
    (data_dir / "sandbox" / "profile.yaml").write_text(safe_dump(profile), "utf-8")
    app = open_page("configure")
    app.text_input(key="spec.cards_per_node").set_value("2").run()

    app.selectbox(key="spec.flavor").select("sandbox.cpu.1card").run()

    assert "sandbox.cpu.1card" in app.selectbox(key="spec.flavor").options
    assert (draft(data_dir).flavor, draft(data_dir).cards_per_node) == ("sandbox.cpu.1card", 2)
    assert not app.exception


def test_a_region_that_does_not_answer_is_no_all_clear(open_page: OpenPage) -> None:
    app = open_page("configure")

    assert "so flavor and cards per node were not checked" in texts(app)
    assert "No problems found" not in texts(app)


def test_what_was_wrong_in_the_region_stays_when_the_region_can_no_longer_be_asked(
    open_page: OpenPage, data_dir: Path, sandbox: SandboxProcess
) -> None:
    (data_dir / "sandbox" / "profile.yaml").write_text(safe_dump(sandbox.profile), "utf-8")
    app = open_page("configure")
    newest(app.text_input, "spec.engine_version").set_value("no-such-engine").run()
    assert "No problems found" in texts(app)
    app.button(key="launch").click().run()
    assert texts(app).count("is not offered by") == 1
    app.button(key="launch-no").click().run()

    assert "is not offered by" in texts(app)
    assert "No problems found" not in texts(app)
    sandbox.kill()
    try:
        app.button(key="launch").click().run()
    finally:
        sandbox.resume()

    assert "The region does not answer" in texts(app)
    assert "is not offered by" in texts(app)
    newest(app.text_input, "spec.engine_version").set_value("").run()
    assert "is not offered by" not in texts(app)


def test_a_new_draft_has_all_cards_while_the_region_does_not_answer(open_page: OpenPage, data_dir: Path) -> None:
    flavor = Flavor("sandbox.cpu.2cards", "two cards", "CPU", 2, 4)
    profile = load_profile(load_settings(), "sandbox")
    OfferedFlavors(data_dir / "flavors.json").store(profile, (flavor,))

    app = open_page("configure")
    app.text_input(key="spec.node_count").set_value("2").run()

    assert app.text_input(key="spec.cards_per_node").value == "2"
    assert draft(data_dir).cards_per_node == 2


@pytest.mark.parametrize(
    ("field", "typed", "allowed"),
    [
        ("node_count", "99999", "a whole number, 1 to 4096"),
        ("node_count", "2.5", "a whole number, 1 to 4096"),
        ("cards_per_node", "", "a whole number, 1 to 64"),
        ("retries", "many", "a whole number, 0 to 128"),
        ("auto_stop_hours", "0", "a whole number, 1 to 720"),
        ("parameters.epochs", "99999", "1 to 1000"),
        ("parameters.learning_rate", "nan", "must be a number"),
        ("parameters.epochs", "9" * 5000, "must be a whole number"),
    ],
)
def test_a_number_that_is_not_allowed_stays_typed_is_explained_and_blocks_the_launch(
    field: str, typed: str, allowed: str, open_page: OpenPage
) -> None:
    app = open_page("configure")

    app.text_input(key=f"spec.{field}").set_value(typed).run()
    again = open_page("configure")

    for shown in (app, again):
        assert shown.text_input(key=f"spec.{field}").value == typed
        assert any(allowed in note.value and ":red[" in note.value for note in shown.markdown)
        assert is_blocked(shown)


def test_a_refused_number_leaves_the_other_fields_alone_and_goes_once_it_is_corrected(
    open_page: OpenPage, data_dir: Path
) -> None:
    app = open_page("configure")
    app.text_input(key="spec.node_count").set_value("99999").run()
    app.text_input(key="spec.description").set_value("first try").run()
    app.text_input(key="spec.retries").set_value("-1").run()

    app.text_input(key="spec.retries").set_value("1").run()
    refused = app.text_input(key="spec.node_count").value
    app.text_input(key="spec.node_count").set_value("3").run()

    assert refused == "99999"
    assert (draft(data_dir).node_count, draft(data_dir).description, draft(data_dir).retries) == (3, "first try", 1)
    assert app.button(key="launch").label == "Launch…"


def test_the_yaml_of_a_draft_shows_the_refused_number_and_a_series_of_it_is_refused(open_page: OpenPage) -> None:
    open_page("configure").text_input(key="spec.node_count").set_value("99999").run()

    yaml = open_page("configure", view="yaml")
    series = open_page("series", new="1")

    assert "node_count: 99999" in (yaml.text_area(key="spec.yaml").value or "")
    assert is_blocked(yaml)
    assert "enter a whole number, 1 to 4096" in series.error[0].value


def test_hours_that_are_not_allowed_block_the_launch(open_page: OpenPage, paid: str) -> None:
    app = open_page("configure", profile=paid)

    app.text_input(key="hours").set_value("-3").run()

    assert any("'-3' is not allowed" in note.value for note in app.markdown)
    assert is_blocked(app)

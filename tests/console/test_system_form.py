"""The system description on a run's page: what the job says stands there, what is typed is kept, nothing is sent."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.config.settings import Settings
from aisbench_core.domain.results.record import write_record
from aisbench_core.running.systems.descriptions import SystemTemplate
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.wiring import Core, open_core
from tests.actors import named
from tests.console.conftest import BROWSER_KEY, OpenPage, newest, texts
from tests.console.seeds import ACTIVE_RUN, DONE_RUN, history


@pytest.fixture
def core(used: Path) -> Core:
    """The core of that console, whose ended run has its record."""
    core = open_core(Settings(data_dir=used))
    record = next(each for each in history() if each.run.run_id == DONE_RUN)
    folder = RunFolder(core.settings.runs_dir / DONE_RUN)
    write_record(record, folder.record, folder.metrics, folder.events)
    core.settings.profiles_dir.mkdir(exist_ok=True)
    (core.settings.profiles_dir / "beijing.yaml").write_text(
        "region: cn-north-9\nproject_id: p\nobs_server: obs.example.com\nbucket: bench\n"
    )
    return core


def dialog(app: AppTest) -> AppTest:
    """The page with the dialog open."""
    return app.button(key="system").click().run()


def key(field: str, run_id: str = DONE_RUN) -> str:
    return f"system.{run_id}.{field}"


def test_the_button_says_how_much_is_stated_and_the_dialog_what_the_job_says(core: Core, open_page: OpenPage) -> None:
    assert core.ledger.get(DONE_RUN)
    app = open_page("live", run=DONE_RUN)
    label = app.button(key="system").label

    dialog(app)

    assert label == "System description · 6 of 33"
    assert app.progress[-1].text == "6 of 33 fields set, 6 of them from the job"
    assert app.text_input(key=key("number_of_nodes")).value == ""
    assert app.text_input(key=key("number_of_nodes")).placeholder == "1"
    assert "From the job: modelarts.kat1.8xlarge" in texts(app)
    assert app.button(key="system-save").disabled


def test_what_is_typed_survives_a_reload_and_is_saved_when_asked(core: Core, open_page: OpenPage) -> None:
    app = dialog(open_page("live", run=DONE_RUN))
    app.text_input(key=key("cooling")).set_value("air").run()
    app.text_input(key=key("host_processors_per_node")).set_value("4").run()
    before = core.systems.of(DONE_RUN).stated.values

    again = dialog(open_page("live", run=DONE_RUN))
    shown = again.text_input(key=key("cooling")).value
    again.button(key="system-save").click().run()

    assert (before, shown) == ({}, "air")
    assert core.systems.of(DONE_RUN).stated.values == {"cooling": "air", "host_processors_per_node": 4}
    assert core.ledger.draft(f"system-{DONE_RUN}.{BROWSER_KEY}") is None
    assert "Saved" in texts(again)
    assert core.ledger.events(DONE_RUN)[-1].actor == "console"


def test_changes_can_be_discarded(core: Core, open_page: OpenPage) -> None:
    app = dialog(open_page("live", run=DONE_RUN))
    app.selectbox(key=key("division")).set_value("open").run()
    warned = "Unsaved changes: 1" in texts(app)

    app.button(key="system-discard").click().run()

    assert warned
    assert newest(app.selectbox, key("division")).value == ""
    assert core.systems.of(DONE_RUN).stated.values == {}


def test_typing_what_is_saved_already_is_no_change(core: Core, open_page: OpenPage) -> None:
    core.systems.state(DONE_RUN, {"cooling": "air"}, named("ann"))
    app = dialog(open_page("live", run=DONE_RUN))

    app.text_input(key=key("cooling")).set_value("liquid").run()
    app.text_input(key=key("cooling")).set_value("air").run()

    assert core.ledger.draft(f"system-{DONE_RUN}.{BROWSER_KEY}") is None


def test_a_file_of_the_upstream_tool_becomes_changes(core: Core, open_page: OpenPage) -> None:
    app = dialog(open_page("live", run=DONE_RUN))
    content = json.dumps({"cooling": "风冷", "rack": "7"}, ensure_ascii=False).encode("gbk")

    app.file_uploader[0].set_value([("system.json", content, "application/json")]).run()

    assert newest(app.text_input, key("cooling")).value == "风冷"
    assert "Fields read: 1" in texts(app)
    assert "rack" in texts(app)
    assert core.systems.of(DONE_RUN).stated.values == {}


def test_a_file_that_is_no_json_is_refused_in_words(core: Core, open_page: OpenPage) -> None:
    assert core.ledger.get(DONE_RUN)
    app = dialog(open_page("live", run=DONE_RUN))

    app.file_uploader[0].set_value([("system.json", b"{", "application/json")]).run()

    assert "system.json is not JSON" in texts(app)


def test_a_description_is_kept_for_new_runs(core: Core, open_page: OpenPage) -> None:
    core.systems.state(DONE_RUN, {"cooling": "air"}, named("ann"))
    app = dialog(open_page("live", run=DONE_RUN))

    app.button(key="system-keep").click().run()

    assert core.systems.of(SystemTemplate("beijing", "modelarts.kat1.8xlarge")).stated.values == {"cooling": "air"}
    assert "Used for new runs" in texts(app)


def test_a_value_that_contradicts_the_job_is_said_beside_its_field(core: Core, open_page: OpenPage) -> None:
    core.systems.state(DONE_RUN, {"number_of_nodes": 9}, named("ann"))

    assert "9 is stated, and the job had 1" in texts(dialog(open_page("live", run=DONE_RUN)))


def test_a_run_on_its_way_is_described_in_chinese_too(core: Core, open_page: OpenPage) -> None:
    core.systems.state(ACTIVE_RUN, {"cooling": "风冷"}, named("安"))

    app = dialog(open_page("live", run=ACTIVE_RUN, lang="zh"))

    assert app.text_input(key=key("cooling", ACTIVE_RUN)).label == "散热"
    assert "系统描述已修改：cooling" in app.dataframe[0].value.to_string()


def test_a_damaged_file_is_named_and_the_rest_of_the_page_is_there(core: Core, open_page: OpenPage) -> None:
    (core.settings.runs_dir / DONE_RUN / "system.json").write_text("{")

    app = open_page("live", run=DONE_RUN)

    assert "system.json cannot be read" in texts(app)
    assert app.metric

"""The form's part about CANN, MindSpore and log levels: by name, beside the findings, one draft with the YAML."""

from pathlib import Path

import pytest

from aisbench_core.domain.authoring.specfile import from_yaml
from aisbench_core.model import CannLevel, RunSpec
from aisbench_core.store.ledger.ledger import Ledger
from tests.console.conftest import OWN_DRAFT, OpenPage, texts

NNAE = "Ascend-cann-nnae_5.0.2.1_linux-aarch64.run"
TOOLKIT = "Ascend-cann-toolkit_5.0.2.1_linux-x86_64.run"
WHEEL = "mindspore_ascend-1.3.0-cp37-cp37m-linux_aarch64.whl"


def draft(data_dir: Path) -> RunSpec:
    """What the ledger keeps."""
    text = Ledger(data_dir / "ledger.sqlite3").draft(OWN_DRAFT)
    assert text is not None
    return from_yaml(text)


@pytest.fixture
def shelf(data_dir: Path) -> Path:
    """Packages that lie ready, and something else."""
    folder = data_dir / "software"
    folder.mkdir()
    for name in (NNAE, TOOLKIT, WHEEL, "notes.txt"):
        (folder / name).write_text("package")
    return folder


def test_packages_that_lie_ready_are_chosen_by_name_where_they_belong(open_page: OpenPage, shelf: Path) -> None:
    app = open_page("configure")

    assert app.selectbox(key="spec.update.cann").options == [
        "as in the image",
        f"nnae 5.0.2.1 · aarch64 ({NNAE})",
        f"toolkit 5.0.2.1 · x86_64 ({TOOLKIT})",
    ]
    assert app.selectbox(key="spec.update.mindspore").options[1:] == [
        f"MindSpore 1.3.0 · aarch64 · Python 3.7 ({WHEEL})"
    ]
    app.selectbox(key="spec.update.cann").select_index(1).run()

    assert draft(shelf.parent).update.packages == {"cann": str(shelf / NNAE)}
    assert open_page("configure").selectbox(key="spec.update.cann").value == str(shelf / NNAE)


@pytest.mark.usefixtures("shelf")
def test_a_package_that_does_not_fit_is_named_in_the_form_and_forbids_the_launch(open_page: OpenPage) -> None:
    app = open_page("configure")

    app.selectbox(key="spec.update.cann").select_index(2).run()

    assert f"{TOOLKIT} is for x86".replace("_", "\\_") in texts(app).replace("&#95;", "\\_")
    assert app.button(key="launch").disabled


def test_log_levels_are_chosen_by_name_with_their_number(open_page: OpenPage, data_dir: Path) -> None:
    app = open_page("configure")
    assert app.selectbox(key="spec.log_levels.cann").options == [
        "as in the image", "debug (0)", "info (1)", "warning (2)", "error (3)", "none (4)",
    ]  # fmt: skip

    app.selectbox(key="spec.log_levels.cann").select_index(4).run()
    app.selectbox(key="spec.log_levels.mindspore").select_index(1).run()
    app.selectbox(key="spec.log_levels.events").select_index(1).run()

    assert draft(data_dir).log_levels.cann is CannLevel.ERROR
    assert draft(data_dir).variables == {
        "ASCEND_GLOBAL_LOG_LEVEL": "3",
        "GLOG_v": "0",
        "ASCEND_GLOBAL_EVENT_ENABLE": "0",
    }
    app.selectbox(key="spec.log_levels.cann").select_index(0).run()
    assert draft(data_dir).log_levels.cann is None


def test_what_yaml_says_stands_in_the_form_and_any_path_stays(open_page: OpenPage, data_dir: Path) -> None:
    app = open_page("configure", view="yaml")
    text = app.text_area(key="spec.yaml").value or ""
    mine = f"/home/me/{NNAE}"
    app.text_area(key="spec.yaml").set_value(
        f"{text}update: {{cann: {mine}}}\nlog_levels: {{cann: none, stdout: true}}\n"
    ).run()

    form = open_page("configure")

    assert form.selectbox(key="spec.update.cann").value == mine
    assert form.selectbox(key="spec.log_levels.cann").value == "none"
    assert form.selectbox(key="spec.log_levels.stdout").value is True
    assert "is not a file on this machine" in texts(form)
    assert draft(data_dir).update.cann == mine


def test_the_levels_stay_when_another_workload_is_picked_and_the_packages_do_not(
    open_page: OpenPage, shelf: Path
) -> None:
    app = open_page("configure")
    app.selectbox(key="spec.log_levels.cann").select_index(4).run()
    app.selectbox(key="spec.update.cann").select_index(1).run()

    app.selectbox(key="spec.workload").set_value("mindspore_resnet").run()

    assert draft(shelf.parent).log_levels.cann is CannLevel.ERROR
    assert draft(shelf.parent).update.packages == {}

"""Import and export on New run: what was found is shown, keys stay hidden, nothing is kept unasked."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.domain.authoring.specfile import comments_of, from_yaml
from aisbench_core.model import Mode
from aisbench_core.store.ledger.ledger import Ledger
from tests.console.conftest import OpenPage, newest, texts
from tests.unit.foreign_files import GOOD
from tests.unit.foreign_texts import SECRET
from tests.unit.upstream_files import ACCESS_KEY, LOCAL, SECRET_KEY, config, line_of, session

SHELL = "export SINGLESERVER_MODE=True\nexport MODELARTS_VERSION=V1\n"


def upload(app: AppTest, *files: tuple[str, str]) -> AppTest:
    """Choose files in the dialog."""
    app.button(key="import").click().run()
    app.file_uploader[0].set_value([(name, text.encode("gbk"), "text/plain") for name, text in files])
    return app.run()


def paste(app: AppTest, text: str) -> AppTest:
    """Paste a file into the dialog."""
    app.button(key="import").click().run()
    return app.text_area(key="import-text").set_value(text).run()


def everything(app: AppTest) -> str:
    """All that the session holds and all that the page shows, as text."""
    shown = [str(frame.value) for frame in app.dataframe] + [block.value for block in app.code]
    return "\n".join([repr(app.session_state), texts(app), *shown, str(dict(app.query_params))])


def kept(data_dir: Path) -> str:
    """Every byte that the console has written."""
    return "".join(file.read_bytes().decode("latin-1") for file in data_dir.rglob("*") if file.is_file())


def draft(data_dir: Path, app: AppTest) -> str:
    """The text of the draft that the page is about."""
    text = Ledger(data_dir / "ledger.sqlite3").draft(str(app.query_params["draft"]))
    assert text is not None
    return text


@pytest.mark.parametrize("how", ["upload", "paste"])
def test_an_old_configuration_becomes_a_draft_of_its_own(open_page: OpenPage, data_dir: Path, how: str) -> None:
    app = open_page("configure")
    app.text_input(key="spec.node_count").set_value("5").run()

    found = upload(app, ("modelarts_config.py", config(LOCAL))) if how == "upload" else paste(app, config(LOCAL))
    assert not found.exception
    found.button(key="import-use").click().run()

    spec = from_yaml(draft(data_dir, found))
    assert (spec.workload, spec.name, spec.api) == ("mindspore_bert", "aisbench-debug", "v2")
    assert comments_of(draft(data_dir, found))["train_steps"] == "参数 train_steps 的说明"
    assert newest(found.selectbox, "spec.workload").value == "mindspore_bert"
    assert open_page("configure").text_input(key="spec.node_count").value == "5"


def test_comments_stay_when_the_form_changes_the_draft(open_page: OpenPage, data_dir: Path) -> None:
    job = session("session_config_v2", parameters="[\n# 自己的参数\n{'name': 'own', 'value': '1'}]")
    app = paste(open_page("configure"), config(LOCAL, job))
    app.button(key="import-use").click().run()

    app.text_input(key="spec.node_count").set_value("2").run()

    assert comments_of(draft(data_dir, app)) == {"own": "自己的参数"}
    assert "自己的参数" in texts(app)


def test_what_was_found_is_shown_with_lines_and_hidden_keys(open_page: OpenPage) -> None:
    text = config(LOCAL, session("session_config_v2", job_name="JOB"))

    app = paste(open_page("configure"), text)

    line = line_of(text, "'job_name'")
    assert f"**line {line} · session\\_config\\_v2.job\\_name**" in texts(app)
    facts = app.dataframe[0].value.set_index("Setting")["Value"].to_dict()
    assert (facts["bucket"], facts["access_key"], facts["secret_key"]) == ("zgwtest", "••••", "••••")
    assert "workload: mindspore_bert" in app.code[0].value


def test_keys_are_nowhere_before_a_person_agrees(open_page: OpenPage, data_dir: Path) -> None:
    app = paste(open_page("configure"), config(LOCAL))
    app.button(key="import-save").click().run()
    app.button(key="import-use").click().run()

    for secret in (ACCESS_KEY, SECRET_KEY):
        assert secret not in everything(app)
        assert secret not in kept(data_dir)
    assert (data_dir / "profiles" / "cn-north-4.yaml").exists()
    assert not (data_dir / "credentials.yaml").exists()


def test_keys_are_written_to_the_credentials_file_and_nowhere_else(open_page: OpenPage, data_dir: Path) -> None:
    app = upload(open_page("configure"), ("modelarts_config.py", config(LOCAL)))
    app.checkbox(key="import-keys").check().run()

    app.button(key="import-save").click().run()

    assert "and its keys are saved" in app.success[0].value
    assert "SecretStr('**********')" in everything(app)
    assert SECRET_KEY not in everything(app)
    file = data_dir / "credentials.yaml"
    assert file.stat().st_mode & 0o777 == 0o600
    assert SECRET_KEY in file.read_text("utf-8")
    file.unlink()
    assert SECRET_KEY not in kept(data_dir)


def test_a_saved_profile_is_chosen_for_the_draft(open_page: OpenPage) -> None:
    app = paste(open_page("configure"), config(LOCAL))
    app.text_input(key="import-name").set_value("team").run()
    app.button(key="import-save").click().run()

    app.button(key="import-use").click().run()

    assert newest(app.selectbox, "profile").value == "team"


def test_another_profile_of_that_name_is_replaced_only_on_demand(open_page: OpenPage, data_dir: Path) -> None:
    file = data_dir / "profiles" / "cn-north-4.yaml"
    file.parent.mkdir()
    file.write_text("region: r\nproject_id: p\nobs_server: o\nbucket: another\n")
    app = paste(open_page("configure"), config(LOCAL))

    app.button(key="import-save").click().run()
    assert "another profile" in app.error[0].value
    assert "another" in file.read_text()
    app.run()
    app.checkbox(key="import-replace").check().run()
    app.button(key="import-save").click().run()

    assert "zgwtest" in file.read_text()


def test_the_shell_configuration_is_read_along(open_page: OpenPage, data_dir: Path) -> None:
    app = upload(open_page("configure"), ("modelarts_config.py", config(LOCAL)), ("config.sh", SHELL))

    assert app.radio(key="import-job").value == "session_config"
    app.button(key="import-use").click().run()

    spec = from_yaml(draft(data_dir, app))
    assert (spec.mode, spec.api) == (Mode.SINGLE_SERVER, "v1")


def test_a_workload_that_the_file_does_not_tell_can_be_named(open_page: OpenPage) -> None:
    job = session("session_config_v2", boot_file="'/zgwtest/lcm_test/bert/own.py'")
    app = paste(open_page("configure"), config(LOCAL, job))
    assert app.button(key="import-use").disabled

    app.selectbox(key="import-workload").set_value("mindspore_bert").run()

    assert not app.button(key="import-use").disabled
    assert "boot_file: own.py" in app.code[0].value


@pytest.mark.parametrize("name", ["estimator", "terraform", "v1"])
def test_a_job_of_another_tool_becomes_a_draft(open_page: OpenPage, data_dir: Path, name: str) -> None:
    (sample,) = (each for each in GOOD if each.name == name)
    app = paste(open_page("configure"), sample.text)
    app.selectbox(key="import-workload").set_value("mindspore_bert").run()
    assert SECRET not in everything(app)

    app.button(key="import-use").click().run()

    spec = from_yaml(draft(data_dir, app))
    assert (spec.workload, spec.name, spec.node_count) == ("mindspore_bert", "vision", 2)


def test_a_file_of_no_such_kind_is_refused_by_its_looks(open_page: OpenPage) -> None:
    app = paste(open_page("configure"), "model:\n  type: bert\n")

    assert "looks like a YAML document" in app.error[0].value


def test_a_file_that_cannot_be_read_says_so_and_another_can_be_chosen(open_page: OpenPage) -> None:
    app = paste(open_page("configure"), f"access_config = {{\n'secret_access_key': '{SECRET_KEY}\n}}")

    assert "line 2" in app.error[0].value
    assert SECRET_KEY not in everything(app)
    app.text_area(key="import-text").set_value(config(LOCAL)).run()
    assert app.button(key="import-use")


def test_the_draft_can_be_downloaded_for_the_upstream_tool(open_page: OpenPage) -> None:
    app = paste(open_page("configure"), config(LOCAL))
    app.button(key="import-use").click().run()

    labels = [each.proto.label for each in app.get("download_button")]

    assert labels == ["Download modelarts_config.py", "JSON of API v2", "YAML of ma-cli"]


def test_a_spec_that_the_upstream_tool_cannot_run_says_why(open_page: OpenPage) -> None:
    app = open_page("configure", view="yaml")

    text = "workload: quickstart_digits\nimage_url: org/image:1\ncommand: python train.py\n"
    app.text_area(key="spec.yaml").set_value(text).run()

    assert "custom image" in texts(app)

"""`aisbench config import` and `export`: old configurations from the shell."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from aisbench_core.domain.authoring.specfile import comments_of, from_yaml
from aisbench_core.interfaces.cli import main
from aisbench_core.model import Api
from tests.unit.upstream_files import ACCESS_KEY, PACKAGE, SECRET_KEY, config, imported, line_of, v2


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an old configuration in it."""
    (tmp_path / "modelarts_config.py").write_text(config(), "gbk")
    (tmp_path / "config.sh").write_text("export SINGLESERVER_MODE=True\n")
    return tmp_path


def typed(folder: Path, *words: str) -> Result:
    """One command, with a data folder of its own and the folder's files by their names."""
    known = {file.name: str(file) for file in folder.iterdir()}
    environment = {"AISBENCH_DATA_DIR": str(folder / "data")}
    result = CliRunner(env=environment).invoke(main, ["config", *(known.get(word, word) for word in words)])
    assert SECRET_KEY not in result.output
    assert ACCESS_KEY not in result.output
    return result


def kept(folder: Path) -> str:
    """Every byte that the command has written."""
    files = [file for file in (folder / "data").rglob("*") if file.is_file()]
    return "".join(file.read_bytes().decode("latin-1") for file in files)


def test_an_import_shows_what_it_found_and_stores_nothing(folder: Path) -> None:
    result = typed(folder, "import", "modelarts_config.py", "config.sh")

    assert result.exit_code == 0, result.output
    assert "bucket      zgwtest" in result.stdout
    assert "keys        ••••" in result.stdout
    assert result.stdout.count("mode: single_server") == 2
    assert "config.code-dir" in result.stderr
    assert not (folder / "data" / "profiles").exists()
    assert SECRET_KEY not in kept(folder)


def test_the_json_answer_holds_everything_but_the_keys(folder: Path) -> None:
    answer = json.loads(typed(folder, "import", "modelarts_config.py", "--json").stdout)

    assert (answer["profile"]["bucket"], answer["keys"]) == ("zgwtest", "found")
    assert [each["source"] for each in answer["specs"]] == ["session_config", "session_config_v2"]
    assert answer["specs"][1]["comments"]["epoch_size"] == "参数 epoch_size 的说明"
    assert {each["rule"] for each in answer["findings"]} == {"config.code-dir"}
    assert all(each["line"] for each in answer["findings"])


def test_profile_keys_and_spec_are_kept_when_they_are_asked_for(folder: Path) -> None:
    save = ("--name", "team", "--save-profile", "--save-keys", "--job", "v2", "-o", str(folder / "spec.yaml"))

    result = typed(folder, "import", "modelarts_config.py", *save)

    assert result.exit_code == 0, result.output
    assert "profile team written" in result.stderr
    assert "keys of team written" in result.stderr
    text = (folder / "spec.yaml").read_text("utf-8")
    assert from_yaml(text) == imported(config()).specs[1].spec
    assert comments_of(text)["epoch_size"] == "参数 epoch_size 的说明"
    credentials = folder / "data" / "credentials.yaml"
    assert SECRET_KEY in credentials.read_text()
    assert credentials.stat().st_mode & 0o777 == 0o600
    credentials.unlink()
    assert SECRET_KEY not in kept(folder)

    again = typed(folder, "import", "modelarts_config.py", *save)

    assert "profile team already exists" in again.stderr


def test_an_error_ends_with_2_and_nothing_is_stored(folder: Path) -> None:
    text = config().replace("'train_instance_count': 1,", "'train_instance_count': nodes(),")
    (folder / "bad.py").write_text(text)

    result = typed(folder, "import", "bad.py", "--save-profile", "--save-keys")

    assert result.exit_code == 2
    line = line_of(text, "nodes()")
    assert f"error: line {line}: session_config.train_instance_count: is not a literal (a call)" in result.stderr
    assert not (folder / "data" / "profiles").exists()
    assert not (folder / "data" / "credentials.yaml").exists()


def test_an_error_in_the_other_job_does_not_matter(folder: Path) -> None:
    text = config().replace("'train_instance_count': 1,", "'train_instance_count': nodes(),", 1)
    (folder / "half.py").write_text(text)

    assert typed(folder, "import", "half.py").exit_code == 2
    assert typed(folder, "import", "half.py", "--job", "v1").exit_code == 2
    assert typed(folder, "import", "half.py", "--job", "v2").exit_code == 0


def test_the_folders_of_a_package_tell_the_workload(tmp_path: Path) -> None:
    place = tmp_path / f"{PACKAGE}-single-0711" / "code" / "config"
    place.mkdir(parents=True)
    (place / "modelarts_config.py").write_text(v2(boot_file="'/zgwtest/lcm_test/bert/own.py'"))

    (spec,) = json.loads(typed(place, "import", "modelarts_config.py", "--json").stdout)["specs"]

    assert (spec["spec"]["workload"], spec["spec"]["framework_version"]) == ("mindspore_resnet", "r1.8")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("import", "nowhere.py"), "cannot be read: No such file"),
        (("import", "modelarts_config.py", "-o", "spec.yaml"), "the file contains 2 specs"),
        (("import", "modelarts_config.py", "--workload", "nobody"), "no workload named 'nobody'"),
        (("import", "modelarts_config.py", "modelarts_config.py"), "expected one modelarts_config.py"),
        (("import", "keyless.py", "--save-keys"), "the file contains no keys"),
        (("import", "placeless.py", "--save-profile"), "does not contain enough for a profile"),
        (("export", "quickstart_digits", "--profile", "nobody"), "no profile named 'nobody'"),
    ],
)
def test_what_cannot_be_done_is_said_and_ends_with_2(folder: Path, words: tuple[str, ...], sentence: str) -> None:
    (folder / "keyless.py").write_text(config().replace(SECRET_KEY, "").replace(ACCESS_KEY, ""))
    (folder / "placeless.py").write_text(config().replace("0123456789abcdef0123456789abcdef", ""))

    result = typed(folder, *words)

    assert sentence in result.stderr
    assert result.exit_code == 2


@pytest.mark.parametrize(("version", "api"), [("V1", Api.V1), ("V2", Api.V2)])
def test_of_two_jobs_the_one_that_config_sh_names_is_written(folder: Path, version: str, api: Api) -> None:
    (folder / "config.sh").write_text(f"export MODELARTS_VERSION={version}\n")

    result = typed(folder, "import", "modelarts_config.py", "config.sh", "-o", str(folder / "spec.yaml"))

    assert result.exit_code == 0, result.output
    assert from_yaml((folder / "spec.yaml").read_text()).api is api


def test_out_and_in_again_from_the_shell(folder: Path) -> None:
    save = ("--save-profile", "--job", "v2", "-o", str(folder / "spec.yaml"))
    assert typed(folder, "import", "modelarts_config.py", *save).exit_code == 0

    result = typed(folder, "export", "spec.yaml", "--profile", "cn-north-4", "-o", str(folder / "out.py"))

    assert result.exit_code == 0, result.output
    again = imported((folder / "out.py").read_bytes())
    first = imported(config())
    assert again.profile == first.profile
    assert again.specs[0].spec == first.specs[1].spec
    assert again.keys is None


@pytest.mark.parametrize("form", ["v2", "ma-cli"])
def test_an_export_for_another_tool_can_be_imported_again(folder: Path, form: str) -> None:
    typed(folder, "import", "modelarts_config.py", "--save-profile")
    words = ("mindspore_bert", "--profile", "cn-north-4", "--set", "flavor=modelarts.kat1.8xlarge", "--nodes", "2")

    exported = typed(folder, "export", *words, "--format", form, "-o", str(folder / "job"))
    again = json.loads(typed(folder, "import", "job", "--json").stdout)

    assert exported.exit_code == 0, exported.output
    spec = again["specs"][0]["spec"]
    assert (spec["workload"], spec["node_count"], spec["cards_per_node"]) == ("mindspore_bert", 2, 8)
    assert spec["boot_file"] == "run_pretrain.py"


def test_an_export_goes_to_stdout_and_says_what_was_left_out(folder: Path) -> None:
    typed(folder, "import", "modelarts_config.py", "--save-profile")
    words = ("mindspore_bert", "--profile", "cn-north-4", "--set", "environments.GLOG_v=3", "--set", "flavor=x")

    shown, answered = typed(folder, "export", *words), typed(folder, "export", *words, "--json")

    assert shown.stdout.startswith("# -*- coding: utf-8 -*-")
    assert "warning: environments: is not supported" in shown.stderr
    answer = json.loads(answered.stdout)
    assert answer["text"] == shown.stdout
    assert [each["rule"] for each in answer["findings"]] == ["config.left-out"]

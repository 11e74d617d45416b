"""In, out and in again: a configuration as the manuals write it comes back with nothing added, lost or reordered."""

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from aisbench_core.config.settings import Profile, Settings
from aisbench_core.domain.authoring.config_file import ConfigFile
from aisbench_core.domain.authoring.specfile import comments_of, from_yaml, to_yaml
from aisbench_core.exchange.upstream.configs.contents import Hints, ImportedConfig
from aisbench_core.exchange.upstream.configurations import Configs
from aisbench_core.model import Api, RunSpec
from tests.actors import TESTER
from tests.unit.good_specs import profile as other_profile
from tests.unit.manual_grammar import configurations
from tests.unit.upstream_files import WORKLOADS

SAMPLES = sorted((Path(__file__).parent / "modelarts_configs").iterdir())


@pytest.fixture
def configs(tmp_path: Path) -> Configs:
    """A console whose profile would fill in a flavor of its own."""
    found = Configs(Settings(data_dir=tmp_path), WORKLOADS)
    found.save_profile(other_profile(name="there", flavor="modelarts.kat1.8xlarge", pool_id=""), actor=TESTER)
    return found


def read(configs: Configs, files: list[ConfigFile], version: str = "") -> ImportedConfig:
    return configs.understand(configs.read(files), Hints(framework_version=version))


def back(configs: Configs, text: str, place: Profile) -> tuple[str, str]:
    """The exported files of a spec as it is kept: as YAML."""
    configs.save_profile(place, replace=True, actor=TESTER)
    exported = configs.write(from_yaml(text), place.name, comments_of(text))
    return exported.text, exported.script


def dicts(text: str) -> dict[str, Any]:
    """What a file assigns; `ed({…})` is a dict."""
    tree = ast.parse(text.removeprefix("\ufeff"))
    return {
        node.targets[0].id: ast.literal_eval(node.value.args[0])
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Call)
    }


def decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("gbk")


def check(configs: Configs, files: list[ConfigFile]) -> None:
    version = "" if all(each.spec.framework_version for each in read(configs, files).specs) else "r1.5"
    first = read(configs, files, version)
    original = dicts(decoded(files[0].content))
    assert first.profile
    assert first.specs
    for found in first.specs:
        text, script = back(configs, to_yaml(found.spec, found.comments), first.profile)
        scripts = [ConfigFile("ma-pre-start.sh", script.encode())] if script else []
        again = read(configs, [ConfigFile("modelarts_config.py", text.encode()), *scripts], version)

        assert again.specs == (found,)
        assert list(again.specs[0].spec.parameters) == list(found.spec.parameters)
        assert again.profile == first.profile
        assert _job(dicts(text)[found.source]) == _job(original[found.source])


def _job(values: dict[str, Any]) -> dict[str, Any]:
    """What a dict says; where the code is uploaded to differs, and what is not set is not there."""
    said = {key: value for key, value in values.items() if value not in (None, "")}
    code = said.pop("code_dir", "")
    return said | {"boot_file": str(said.get("boot_file", "")).removeprefix(code)}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gbk"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["unix", "windows"])
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.stem)
def test_a_file_as_people_have_it_comes_back_as_it_was(
    sample: Path, ending: str, encoding: str, configs: Configs
) -> None:
    texts = [sample] if sample.is_file() else sorted(sample.iterdir(), key=lambda file: file.suffix == ".sh")
    contents = [file.read_text("utf-8").replace("\n", ending).encode(encoding) for file in texts]
    names = [file.name if file.suffix == ".sh" else "modelarts_config.py" for file in texts]

    check(configs, [ConfigFile(name, content) for name, content in zip(names, contents, strict=True)])


@pytest.mark.slow
@given(configurations())
@settings(
    max_examples=100, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_every_file_in_the_forms_of_the_manuals_comes_back_as_it_was(configs: Configs, content: bytes) -> None:
    check(configs, [ConfigFile("modelarts_config.py", content)])


def test_nothing_of_the_manifest_or_the_profile_is_added_to_what_was_imported(configs: Configs) -> None:
    spec = RunSpec(
        workload="mindspore_resnet", framework_version="r1.3", parameters={"epoch_size": 5}, api=Api.V1, imported=True
    )

    job = dicts(configs.write(spec, "there").text)["session_config"]

    assert job["hyperparameters"] == [{"label": "epoch_size", "value": "5"}]
    assert [job[key] for key in ("job_name", "boot_file", "framework_version", "train_instance_type")] == [
        "",
        "",
        "",
        None,
    ]


def test_a_launch_still_fills_in_what_an_imported_spec_leaves_open() -> None:
    spec = RunSpec(workload="mindspore_resnet", parameters={"epoch_size": 5}, imported=True)

    filled = WORKLOADS.get(spec.workload).fill_spec(spec)

    assert filled.parameters["run_eval"] is False
    assert not filled.imported


def test_the_mark_of_an_import_changes_no_hash_of_a_spec_without_it() -> None:
    assert "imported" not in to_yaml(RunSpec(workload="w"))
    assert RunSpec(workload="w", imported=False).sha256 == RunSpec(workload="w").sha256

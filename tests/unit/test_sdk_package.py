"""Whether the package `modelarts` is on this machine: found without being imported, wherever the profile says."""

import ast
import sys
from pathlib import Path

import pytest

from aisbench_core.cloud.modelarts_package import sdk_worker
from aisbench_core.config.sdk_package import installed_version, is_installed, python_of
from aisbench_core.domain.preflight.fixes import apply_fixes
from aisbench_core.model import Api, Level, RunSpec
from tests.unit.good_specs import changed, code_folder, found, good_spec, only, profile


@pytest.fixture
def resnet(tmp_path: Path) -> RunSpec:
    """A spec that nothing is wrong with."""
    return good_spec(code_folder(tmp_path))


def package_in(folder: Path) -> Path:
    """A package that fails when it is imported."""
    (folder / "modelarts").mkdir(parents=True)
    (folder / "modelarts" / "__init__.py").write_text("raise RuntimeError('imported')\n", "utf-8")
    return folder


def test_it_is_found_beside_the_console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_installed(profile())

    monkeypatch.syspath_prepend(str(package_in(tmp_path)))

    assert is_installed(profile())
    assert python_of(profile()) == sys.executable
    assert installed_version(profile()) == ""


def test_a_mere_folder_of_its_name_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "modelarts").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))

    assert not is_installed(profile())


def test_it_is_found_in_a_virtual_environment_of_another_python(tmp_path: Path) -> None:
    place = profile(sdk_venv=str(tmp_path))
    assert not is_installed(place)

    site = package_in(tmp_path / "lib" / "python3.9" / "site-packages")
    (site / "modelarts-1.4.18.dist-info").mkdir()

    assert is_installed(place)
    assert installed_version(place) == "1.4.18"
    assert python_of(place) == str(tmp_path / "bin" / "python")


def test_the_worker_is_written_for_the_pythons_that_the_package_is_for() -> None:
    source = Path(str(sdk_worker.__file__)).read_text("utf-8")

    tree = ast.parse(source, feature_version=(3, 7))

    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= sys.stdlib_module_names


# --- what preflight says ------------------------------------------------------------------------------


def test_a_spec_that_asks_for_it_can_be_mended_where_the_profile_does_not(resnet: RunSpec) -> None:
    spec = changed(resnet, api="sdk")
    finding = only(found(spec), "api.available")

    assert (finding.level, finding.field) == (Level.ERROR, "api")
    assert found(apply_fixes(spec, [finding])) == []
    assert only(found(spec, profile(api=Api.SDK)), "api.available").fix == ()


def test_nothing_is_wrong_where_it_is(resnet: RunSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(package_in(tmp_path / "packages")))

    assert found(changed(resnet, api="sdk", environments={"A": "b"}, mode="single_server")) == []


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"auto_stop_hours": 1}, "auto_stop_hours", "has no automatic stop"),
        ({"retries": 1}, "retries", "has no retries"),
        ({"flavor": "", "pool_id": "pool1", "priority": 2}, "priority", "has no job priority"),
        (
            {"inputs": [{"name": "data_url", "path": "/b/d/", "access_method": "env"}]},
            "inputs.data_url",
            "only as parameters, --data_url",
        ),
    ],
)
def test_what_it_has_no_argument_for_is_an_error_that_names_the_field(
    resnet: RunSpec, changes: dict[str, object], field: str, says: str
) -> None:
    finding = only(found(changed(resnet, api="sdk", **changes)), "api.sdk")

    assert (finding.level, finding.field) == (Level.ERROR, field)
    assert says in finding.message
    assert not [each for each in found(changed(resnet, **changes)) if each.rule == "api.sdk"]


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"inputs": []}, "inputs", "needs an input data_url"),
        (
            {"volumes": [{"server_path": "h:/a", "local_path": "/m", "read_only": True}]},
            "volumes",
            "cannot mount a share read-only",
        ),
        (
            {"volumes": [{"server_path": "h:/a", "local_path": "/m"}, {"server_path": "h:/b", "local_path": "/n"}]},
            "volumes",
            "at most one share",
        ),
    ],
)
def test_what_its_older_class_has_no_argument_for_is_an_error_that_names_the_field(
    resnet: RunSpec, changes: dict[str, object], field: str, says: str
) -> None:
    finding = only(found(changed(resnet, api="sdk-v1", **changes)), "api.sdk")

    assert (finding.level, finding.field) == (Level.ERROR, field)
    assert says in finding.message


def test_what_the_older_api_lacks_its_older_class_lacks_too(resnet: RunSpec) -> None:
    finding = only(found(changed(resnet, api="sdk-v1", auto_stop_hours=1)), "api.v1")

    assert finding.message == "api sdk-v1 has no automatic stop"


def test_it_knows_no_workspace_but_the_default_one(resnet: RunSpec) -> None:
    place = profile(api=Api.SDK, workspace_id="0123456789abcdef0123456789abcdef")

    assert only(found(resnet, place), "api.sdk").field == "profile.workspace_id"


def test_it_ends_no_job_so_a_job_that_costs_is_warned_about(resnet: RunSpec) -> None:
    priced = profile(price_per_node_hour={"modelarts.kat1.8xlarge": 80.5})

    assert "api sdk has no automatic stop" in only(found(changed(resnet, api="sdk"), priced), "cost.auto-stop").hint

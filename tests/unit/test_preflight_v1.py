"""Preflight for the older API (v1): what it lacks is found, and nothing of a spec is dropped without a word."""

from pathlib import Path
from typing import Any

import pytest

from aisbench_core.domain.preflight.fixes import apply_fixes
from aisbench_core.model import Api, Level, RunSpec
from tests.unit.good_specs import changed, code_folder, found, good_spec, only, profile


@pytest.fixture
def resnet(tmp_path: Path) -> RunSpec:
    """A spec that nothing is wrong with."""
    return good_spec(code_folder(tmp_path))


CASES: list[tuple[dict[str, Any], str, str]] = [
    (
        {"api": "v1", "inputs": [{"name": "imagenet", "path": "/b/d/"}]},
        "inputs.imagenet",
        "api v1 has no input 'imagenet'; the only input is data_url, given as --data_url",
    ),
    (
        {"api": "v1", "inputs": [{"name": "data_url", "path": "/b/d/", "access_method": "env"}]},
        "inputs.data_url",
        "no input in an environment variable",
    ),
    (
        {"api": "v1", "outputs": [{"name": "train_url"}, {"name": "more"}]},
        "outputs.more",
        "the only output is train_url",
    ),
    ({"api": "v1", "environments": {"A": "b"}}, "environments", "passes no environment variables"),
    (
        {"api": "v1", "mode": "single_server", "boot_file": "", "image_url": "swr/x:1", "command": "python t.py"},
        "mode",
        "passes no SINGLESERVER_MODE to a custom image",
    ),
    ({"api": "v1", "auto_stop_hours": 1}, "auto_stop_hours", "has no automatic stop"),
    ({"api": "v1", "retries": 1}, "retries", "has no retries"),
    ({"api": "v1", "retry_always": True}, "retry_always", "has no retries"),
    ({"api": "v1", "retry_on_hang": True}, "retry_on_hang", "has no retries"),
    ({"api": "v1", "environment_check": False}, "environment_check", "has no environment check"),
    ({"api": "v1", "training_mode": "performance"}, "training_mode", "has no training mode"),
    ({"api": "v1", "resume_from": "r1"}, "resume_from", "downloads no output before the job starts"),
    ({"api": "v1", "working_dir": "/home/x"}, "working_dir", "has no working directory"),
    ({"api": "v1", "algorithm": "a1", "boot_file": ""}, "algorithm", "has no algorithms"),
    ({"api": "v1", "local_code_dir": "/home/x"}, "local_code_dir", "puts the code into its own directory"),
    (
        {"api": "v1", "outputs": [{"name": "train_url", "prefetch": True}]},
        "outputs.train_url",
        "downloads no output before the job starts",
    ),
    ({"api": "v1", "flavor": "", "pool_id": "pool1", "priority": 2}, "priority", "has no job priority"),
    (
        {"api": "v1", "flavor": "modelarts.pool.visual.8xlarge", "pool_id": "pool1"},
        "flavor",
        "accepts no flavor in a dedicated pool",
    ),
]


@pytest.mark.parametrize(("changes", "field", "says"), CASES)
def test_what_the_older_api_lacks_is_an_error_that_names_the_field(
    resnet: RunSpec, changes: dict[str, Any], field: str, says: str
) -> None:
    finding = only(found(changed(resnet, **changes)), "api.v1")

    assert (finding.level, finding.field) == (Level.ERROR, field)
    assert says in finding.message
    assert not [each for each in found(changed(resnet, **(changes | {"api": "v2"}))) if each.rule == "api.v1"]


def test_single_servers_and_log_levels_reach_preset_images_through_a_script(resnet: RunSpec) -> None:
    assert found(changed(resnet, api="v1", mode="single_server", log_levels={"cann": "info"})) == []


def test_what_can_be_left_out_is_left_out_on_request(resnet: RunSpec) -> None:
    asked = changed(resnet, api="v1", environments={"A": "b"}, retries=1, auto_stop_hours=2)

    mended = apply_fixes(asked, [finding for finding in found(asked) if finding.rule == "api.v1"])

    assert found(mended) == []


def test_the_older_api_is_used_where_the_spec_or_the_profile_says_so(resnet: RunSpec) -> None:
    costly = {"price_per_node_hour": {"modelarts.kat1.8xlarge": 80.5}}

    assert found(changed(resnet, api="v1")) == found(resnet, profile(api=Api.V1)) == []
    assert only(found(changed(resnet, retries=1), profile(api=Api.V1)), "api.v1").field == "retries"
    assert "api v1 has no automatic stop" in only(found(resnet, profile(api=Api.V1, **costly)), "cost.auto-stop").hint

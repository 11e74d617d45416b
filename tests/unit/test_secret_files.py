"""Which variables programs get that have no business with keys."""

import pytest

from aisbench_core.config.variables import holds_keys, sandbox_options, scrub_environment

OURS = {
    "PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "https_proxy": "p", "PIP_INDEX_URL": "i", "PYTHONPATH": "x",
}  # fmt: skip
FOREIGN = {
    "AISBENCH_SK": "1", "HUAWEICLOUD_SDK_AK": "1", "AWS_SECRET_ACCESS_KEY": "1", "OBS_ACCESS_KEY_ID": "1",
    "AISBENCH_WAREHOUSE_PASSWORD": "1", "GITHUB_TOKEN": "1", "MY_OWN": "1", "PIP_KEY": "1", "PGPASSWORD": "1",
}  # fmt: skip


def test_only_harmless_variables_reach_the_sandbox() -> None:
    assert scrub_environment(OURS | FOREIGN) == OURS


@pytest.mark.parametrize(
    ("name", "is_key"),
    [
        ("AISBENCH_SK", True),
        ("HUAWEICLOUD_SDK_SECURITY_TOKEN", True),
        ("AWS_SECRET_ACCESS_KEY", True),
        ("AISBENCH_WAREHOUSE_PASSWORD", True),
        ("AISBENCH_DATA_DIR", False),
        ("AWS_REGION", False),
    ],
)
def test_keys_in_the_environment_are_noticed(name: str, is_key: bool) -> None:
    assert holds_keys({name: "value"}) is is_key
    assert not holds_keys({name: ""})
    assert ("--beside-real-keys" in sandbox_options([], [], {name: "value"})) is is_key

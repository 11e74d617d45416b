"""config.sh and names of packages: text that is looked at, and no shell."""

import pytest

from aisbench_core.exchange.upstream.configs.contents import package_name
from aisbench_core.model import Mode
from tests.unit.upstream_files import PACKAGE, config, imported, one


def test_the_shell_configuration_decides_mode_and_which_job_comes_first() -> None:
    shell = "#!/bin/bash\n# 必选\nexport PYTHON_COMMAND=python3.7\nexport SINGLESERVER_MODE='True' # on\n"

    found = imported(config(), f"{shell}MODELARTS_VERSION=V1\n")

    assert {each.spec.mode for each in found.specs} == {Mode.SINGLE_SERVER}
    assert found.first == found.specs[0]
    assert imported(config()).first == imported(config()).specs[1]
    assert not [each for each in found.findings if each.field.startswith("config.sh")]


@pytest.mark.parametrize(
    ("line", "rule", "field"),
    [
        ("export SINGLESERVER_MODE=maybe", "config.type", "config.sh.SINGLESERVER_MODE"),
        ("export MODELARTS_VERSION=V3", "config.type", "config.sh.MODELARTS_VERSION"),
        ("export RANK_TABLE=1", "config.unknown", "config.sh.RANK_TABLE"),
        ("export PYTHON_COMMAND=$(which python)", "config.shell", "config.sh"),
        ("export PYTHON_COMMAND=`which python`", "config.shell", "config.sh"),
        ("SINGLESERVER_MODE=True; rm -rf /", "config.shell", "config.sh"),
        ("source other.sh", "config.shell", "config.sh"),
        ("export PYTHON_COMMAND='python", "config.shell", "config.sh"),
    ],
)
def test_a_line_of_the_shell_configuration_that_is_not_understood_is_named(line: str, rule: str, field: str) -> None:
    found = imported(config(), f"\n{line}\n")

    finding = one(found, rule)
    assert (finding.field, finding.line) == (field, 2)
    assert {each.spec.mode for each in found.specs} == {Mode.CLUSTER}


def test_a_packages_name_says_what_is_in_it() -> None:
    name = package_name(f"{PACKAGE}.tar.gz")

    assert name
    assert (name.company, name.workload, name.architecture) == ("huawei", "train_mindspore_resnet", "aarch64")
    assert (name.tool_version, name.framework_version, name.environment) == ("1.0", "r1.8", "modelarts")
    assert package_name(f"C:\\bench\\{PACKAGE}\\code") == name
    assert package_name("modelarts_config.py") is None

"""Preflight: every rule finds what it is for, names the field, and leaves good specs alone."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.config.settings import HOME
from aisbench_core.domain.preflight import online
from aisbench_core.domain.preflight.offline import RULES, check_offline
from aisbench_core.domain.preflight.rule import PreflightRule
from aisbench_core.domain.preflight.rules.names import LONGEST_NAME
from aisbench_core.model import Level, RunSpec
from tests.unit.good_specs import DATA, FLAVORS, WORKLOADS, changed, code_folder, found, good_spec, only, profile


@pytest.fixture
def resnet(tmp_path: Path) -> RunSpec:
    """A spec that nothing is wrong with."""
    return good_spec(code_folder(tmp_path))


def test_nothing_is_found_in_a_good_spec(resnet: RunSpec) -> None:
    assert found(resnet) == []
    assert found(changed(resnet, node_count=16)) == []
    assert found(changed(resnet, flavor="", pool_id="poolc90f063b", priority=2)) == []
    assert found(changed(resnet, flavor="modelarts.pool.visual.8xlarge", pool_id="poolc90f063b")) == []


@pytest.mark.parametrize("name", WORKLOADS.names())
def test_every_workload_that_brings_its_code_and_needs_no_data_can_be_launched_as_it_is(name: str) -> None:
    workload = WORKLOADS.get(name)
    spec = RunSpec(workload=name, flavor="sandbox.cpu.2cards", cards_per_node=2, node_count=2)

    errors = {finding.rule for finding in found(spec) if finding.level is Level.ERROR}

    assert errors == (
        set() if workload.ships_code and workload.dataset.optional else {"code.missing", "inputs.required"}
    )


CASES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "workload.unknown",
        {"workload": "resnt"},
        "workload",
        "no workload named 'resnt'; known workloads: mindspore_bert",
    ),
    ("workload.version", {"framework_version": "r9"}, "framework_version", "'r9'; allowed: r1.3, r1.5"),
    ("parameters.value", {"parameters": {"epochsize": 1}}, "parameters.epochsize", "allowed: config_path"),
    (
        "parameters.value",
        {"parameters": {"epoch_size": "90"}},
        "parameters.epoch_size",
        "must be a whole number (found '90')",
    ),
    ("parameters.value", {"parameters": {"epoch_size": 0}}, "parameters.epoch_size", "(found 0)"),
    (
        "parameters.enable-modelarts",
        {"parameters": {"enable_modelarts": False}},
        "parameters.enable_modelarts",
        "must be true on ModelArts (found False)",
    ),
    (
        "parameters.checkpoint-epochs",
        {"parameters": {"epoch_size": 10}},
        "parameters.save_checkpoint_epochs",
        "save_checkpoint_epochs is 90 and epoch_size is 10",
    ),
    ("inputs.required", {"inputs": []}, "inputs.data_url", "needs the data set ImageNet"),
    ("inputs.required", {"inputs": [{"name": "data_url"}]}, "inputs.data_url", "no path is given"),
    ("inputs.path", {"inputs": [*DATA, {"name": "extra"}]}, "inputs.extra", "input 'extra' has no path"),
    ("paths.form", {"log_path": "obs://bench/logs/"}, "log_path", "has a scheme"),
    ("paths.form", {"log_path": "bench/logs/"}, "log_path", "does not start with /"),
    ("paths.form", {"log_path": "/"}, "log_path", "has no bucket"),
    ("paths.form", {"log_path": "/bench//logs/"}, "log_path", "empty, . or .. part"),
    ("paths.form", {"log_path": "/bench/logs//"}, "log_path", "empty, . or .. part"),
    ("paths.form", {"log_path": "/bench/../logs/"}, "log_path", "empty, . or .. part"),
    ("paths.form", {"log_path": "/bench/lo\x07gs/"}, "log_path", "control character"),
    ("paths.form", {"log_path": f"/bench/{'模' * 400}/"}, "log_path", "longer than 1024 bytes"),
    ("paths.directory", {"log_path": "/bench/logs"}, "log_path", "'/bench/logs' does not end with /"),
    ("paths.directory", {"outputs": [{"name": "train_url", "path": "/bench/o"}]}, "outputs.train_url", "end with /"),
    ("paths.bucket", {"log_path": "/Bench/logs/"}, "log_path", "'Bench' is not a bucket name"),
    ("paths.bucket", {"log_path": "/ab/logs/"}, "log_path", "3 to 63"),
    ("paths.bucket", {"log_path": "/a..b/logs/"}, "log_path", "'a..b'"),
    ("paths.bucket", {"log_path": "/10.0.0.1/logs/"}, "log_path", "not an IP address"),
    ("channels.names", {"inputs": [*DATA, *DATA]}, "inputs.data_url", "'data_url' is used 2 times"),
    ("channels.names", {"outputs": [{"name": "epoch_size"}]}, "outputs.epoch_size", "'epoch_size' is used 2 times"),
    (
        "channels.names",
        {"environments": {"OUT": "1"}, "outputs": [{"name": "OUT", "access_method": "env"}]},
        "outputs.OUT",
        "inputs, outputs and envs",
    ),
    (
        "outputs.separate",
        {"outputs": [{"name": "train_url", "path": "/bench/imagenet/out/"}]},
        "outputs.train_url",
        "'/bench/imagenet/out/' and input '/bench/imagenet/' overlap",
    ),
    ("code.missing", {"code_dir": ""}, "code_dir", "ships no training code"),
    ("code.missing", {"code_dir": "code"}, "code_dir", "'code' is not an absolute path"),
    ("code.missing", {"code_dir": "/no/such/place"}, "code_dir", "'/no/such/place' is not a directory"),
    ("boot.missing", {"boot_file": "other.py"}, "boot_file", "'other.py' is not in the code directory"),
    ("boot.python", {"boot_file": "train.sh"}, "boot_file", "'train.sh' does not end with .py"),
    ("boot.outside", {"boot_file": "../train.py"}, "boot_file", "'../train.py' is outside the code directory"),
    ("boot.outside", {"boot_file": "/etc/train.py"}, "boot_file", "'/etc/train.py' is outside"),
    ("image.incomplete", {"image_url": "swr/x:1"}, "command", "needs a start command"),
    ("image.incomplete", {"command": "python t.py"}, "image_url", "needs a custom image"),
    (
        "image.boot-file",
        {"image_url": "swr/x:1", "command": "python t.py", "boot_file": "train.py"},
        "boot_file",
        "allowed: one of them",
    ),
    ("image.name", {"image_url": "https://swr/x:1", "command": "a", "boot_file": ""}, "image_url", "not the name of"),
    ("image.name", {"image_url": "pytorch:2.1", "command": "a", "boot_file": ""}, "image_url", "not the name of"),
    ("image.tag", {"image_url": "org/pytorch", "command": "a", "boot_file": ""}, "image_url", "has no tag"),
    (
        "image.region",
        {"image_url": "swr.cn-north-4.myhuaweicloud.com/org/x:1", "command": "a", "boot_file": ""},
        "image_url",
        "is in cn-north-4, but the job runs in r1",
    ),
    ("image.conda", {"conda_env": "/opt/conda/envs/a"}, "conda_env", "but image_url is empty"),
    (
        "image.conda",
        {"conda_env": "bench", "image_url": "org/x:1", "command": "a", "boot_file": ""},
        "conda_env",
        "'bench' is not an absolute path",
    ),
    (
        "image.conda-activate",
        {"image_url": "org/x:1", "command": "conda activate a && python t.py", "boot_file": ""},
        "command",
        "without a login shell",
    ),
    (
        "image.arguments",
        {"image_url": "org/x:1", "command": "python t.py || sleep 5h", "boot_file": ""},
        "command",
        "appended to sleep, which then fails",
    ),
    ("image.command-lines", {"image_url": "swr/x:1", "command": "a\nb"}, "command", "allowed: one line"),
    ("resource.missing", {"flavor": ""}, "flavor", "neither a flavor nor a dedicated pool"),
    ("resource.both", {"pool_id": "pool1"}, "flavor", "'pool1' and the public flavor 'modelarts.kat1.8xlarge'"),
    ("flavor.unknown", {"flavor": "p9"}, "flavor", "'p9' is not offered by r1; offered: modelarts.kat1.4xlarge"),
    ("pool.name", {"flavor": "", "pool_id": "Pool_1"}, "pool_id", "'Pool_1' is not a pool id"),
    ("pool.priority", {"priority": 2}, "priority", "priority 2 has no effect"),
    ("pool.priority-right", {"flavor": "", "pool_id": "pool1", "priority": 3}, "priority", "setHighPriority"),
    (
        "nodes.cards",
        {"flavor": "modelarts.kat1.4xlarge", "cards_per_node": 4, "node_count": 2},
        "cards_per_node",
        "2 nodes × 4 cards is not possible on Ascend",
    ),
    (
        "nodes.most",
        {"node_count": 17},
        "node_count",
        "modelarts.kat1.8xlarge is not available on 17 nodes; allowed: 1 to 16",
    ),
    ("nodes.most", {"flavor": "lonely", "node_count": 2}, "node_count", "allowed: no distributed training"),
    ("cards.flavor", {"cards_per_node": 4}, "cards_per_node", "has 8 cards per node, but the spec says 4"),
    (
        "cards.flavor",
        {"flavor": "modelarts.pool.visual.xlarge", "pool_id": "pool1"},
        "cards_per_node",
        "has 1 card per node, but the spec says 8",
    ),
    (
        "engine.accelerator",
        {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"},
        "engine_version",
        "is made for GPU, but modelarts.kat1.8xlarge has Ascend",
    ),
    ("environments.log-level", {"environments": {"GLOG_v": "info"}}, "environments.GLOG_v", "allowed: 0 INFO, 1 WARN"),
    (
        "environments.log-level",
        {"environments": {"ASCEND_GLOBAL_LOG_LEVEL": "5"}},
        "environments.ASCEND_GLOBAL_LOG_LEVEL",
        "4 NULL",
    ),
    ("retries.everywhere", {"retries": 4}, "retries", "accept only 0 to 3"),
    ("retries.needed", {"retry_always": True}, "retry_always", "has no effect without retries"),
    ("retries.needed", {"retry_on_hang": True}, "retry_on_hang", "has no effect without retries"),
    ("retries.needed", {"environment_check": True}, "environment_check", "has no effect without retries"),
    ("container.code", {"local_code_dir": "/home/ma-user"}, "local_code_dir", "cannot hold the code"),
    ("container.code", {"local_code_dir": "/home/ma-user/infer/x"}, "local_code_dir", "cannot hold the code"),
    ("container.code", {"local_code_dir": "/home/../etc"}, "local_code_dir", "cannot hold the code"),
    ("container.code", {"local_code_dir": "home/code"}, "local_code_dir", "cannot hold the code"),
    ("container.working", {"working_dir": "work"}, "working_dir", "is not an absolute path without .."),
    ("container.working", {"working_dir": "/home/../etc"}, "working_dir", "is not an absolute path without .."),
    (
        "channels.prefetch",
        {"inputs": [{"name": "data_url", "path": "/b/d/", "prefetch": True}]},
        "inputs.data_url",
        "downloads every input",
    ),
    (
        "training-mode.engine",
        {"engine_name": "PyTorch", "engine_version": "pytorch_2.1.0-cann_8", "training_mode": "performance"},
        "training_mode",
        "pytorch_2.1.0-cann_8 has no training mode",
    ),
    ("training-mode.unproven", {"training_mode": "diagnosis"}, "training_mode", "passed as MA_DIAG_MODE_ENV"),
    (
        "variables.twice",
        {"retries": 1, "environment_check": False, "environments": {"MA_SKIP_IMAGE_DETECT": "1"}},
        "environments.MA_SKIP_IMAGE_DETECT",
        "also set by environment_check",
    ),
    (
        "api.available",
        {"api": "sdk"},
        "api",
        "api sdk needs the package modelarts, which is not installed in the console's own",
    ),
    ("name.characters", {"name": "a.b"}, "name", "a job name cannot start with 'a.b'"),
    (
        "name.length",
        {"name": "n" * (LONGEST_NAME + 1)},
        "name",
        f"{LONGEST_NAME + 1} characters; allowed: {LONGEST_NAME}",
    ),
    ("description.length", {"description": "d" * 257}, "description", "257 characters; allowed: 256"),
    (
        "environments.count",
        {"environments": {f"V{i}": "" for i in range(100)}},
        "environments",
        "100 environment variables are given; allowed: 99",
    ),
    ("environments.key", {"environments": {"1V": ""}}, "environments.1V", "'1V' is not a variable name"),
    ("environments.value", {"environments": {"V": "v" * 4097}}, "environments.V", "4097 characters; allowed: 4096"),
    ("environments.value", {"environments": {"V": "a\0b"}}, "environments.V", "NUL"),
    ("environments.reserved", {"environments": {"RANK_ID": "0"}}, "environments.RANK_ID", "set by the platform"),
    ("environments.secret", {"environments": {"MY_SK": "x"}}, "environments.MY_SK", "looks like a key"),
    ("secrets.name", {"secrets": ["1V"]}, "secrets", "secret number 1 is not a variable name"),
    ("secrets.name", {"secrets": ["AISBENCH_RUN_ID"]}, "secrets", "set by the platform or the console"),
    (
        "secrets.twice",
        {"environments": {"V": "x"}, "secrets": ["V"]},
        "environments.V",
        "V is in both environments and secrets; allowed: one of them",
    ),
    ("secrets.twice", {"secrets": ["V", "V"]}, "secrets", "V is listed 2 times"),
    (
        "volumes.count",
        {"volumes": [{"server_path": "h:/a", "local_path": f"/m{i}"} for i in range(9)]},
        "volumes",
        "9 volumes are given; allowed: 8",
    ),
    (
        "volumes.share",
        {"volumes": [{"server_path": "/a", "local_path": "/m"}]},
        "volumes.0.server_path",
        "'/a' is not an NFS share",
    ),
    (
        "volumes.mount",
        {"volumes": [{"server_path": "h:/a", "local_path": "/cache/"}]},
        "volumes.0.local_path",
        "is reserved by the platform",
    ),
    (
        "volumes.mount",
        {"volumes": [{"server_path": "h:/a", "local_path": "/m"}, {"server_path": "h:/b", "local_path": "/m/"}]},
        "volumes.1.local_path",
        "is used for two volumes",
    ),
    ("volumes.mount", {"volumes": [{"server_path": "h:/a", "local_path": "m"}]}, "volumes.0.local_path", "absolute"),
    (
        "volumes.share",
        {"volumes": [{"server_path": "h:/a", "pfs_path": "/b/a", "local_path": "/m"}]},
        "volumes.0.pfs_path",
        "both server_path and pfs_path are given; allowed: one of them",
    ),
    (
        "channels.local",
        {"inputs": [{"name": "data_url", "path": "/b/in/", "local_dir": "data"}]},
        "inputs.data_url.local_dir",
        "'data' is not an absolute path",
    ),
    (
        "channels.local",
        {
            "inputs": [{"name": "data_url", "path": "/b/in/", "local_dir": "/home/data/"}],
            "volumes": [{"server_path": "h:/a", "local_path": "/home/data"}],
        },
        "inputs.data_url.local_dir",
        "is used twice",
    ),
    ("volumes.share", {"volumes": [{"local_path": "/m"}]}, "volumes.0.server_path", "'' is not an NFS share"),
    ("volumes.share", {"volumes": [{"pfs_path": "b/a", "local_path": "/m"}]}, "volumes.0.pfs_path", "does not start"),
    (
        "volumes.share",
        {"volumes": [{"pfs_path": "/b/a", "local_path": "/m", "read_only": True}]},
        "volumes.0.read_only",
        "cannot be mounted read-only",
    ),
]


@pytest.mark.parametrize(("rule_id", "changes", "field", "says"), CASES)
def test_a_rule_names_the_field_what_was_found_and_what_is_allowed(
    resnet: RunSpec, rule_id: str, changes: dict[str, Any], field: str, says: str
) -> None:
    finding = only(found(changed(resnet, **changes)), rule_id)

    assert finding.field == field
    assert says in finding.message
    assert (finding.level, finding.source) == next(
        (rule.level, rule.source) for rule in RULES if rule.rule_id == rule_id
    )


def test_every_rule_has_an_id_of_its_own_and_a_sentence() -> None:
    rules: list[PreflightRule[Any]] = [*RULES, *online.RULES]

    assert len({rule.rule_id for rule in rules}) == len(rules)
    assert all(rule.summary.endswith(".") for rule in rules)


def test_errors_come_first(resnet: RunSpec) -> None:
    levels = [finding.level for finding in found(changed(resnet, retries=9, name="a.b", parameters={"epoch_size": 1}))]

    assert levels == [Level.ERROR, Level.WARNING, Level.WARNING]


def test_a_spec_of_which_nothing_is_known_is_looked_at_all_the_same() -> None:
    findings = check_offline(RunSpec(workload="x y", name="ok", node_count=2), profile(), WORKLOADS)

    assert {finding.rule for finding in findings} == {"workload.unknown", "resource.missing"}


# --- the document -------------------------------------------------------------------------------------

DOCUMENT = HOME / "docs" / "preflight.md"
HEAD = """# Preflight rules

A spec is checked against these rules before launch. An **error** prevents it, a **warning** or an **info** does not.
The console shows findings beside the fields; on the command line, use `aisbench preflight WORKLOAD|SPEC.yaml`, and
`--fix` to print the spec with all proposed fixes applied.

## Without the cloud

These rules read the spec, the profile, the workload's manifest and the code directory, and take less than 50 ms.

"""
ONLINE = """
## With the cloud

`aisbench preflight --online` also runs these rules, which only read from the region. They run concurrently; one that
takes longer than `look_seconds` is a warning. The rules `nodes.cards`, `nodes.most` and `cards.flavor` run again with
the region's own list of flavors.

"""


def document() -> str:
    """docs/preflight.md as the code would write it."""
    return HEAD + "\n".join(_lines(RULES)) + "\n" + ONLINE + "\n".join(_lines(online.RULES)) + "\n"


def _lines(rules: Iterable[PreflightRule[Any]]) -> Iterator[str]:
    for rule in rules:
        yield f"* `{rule.rule_id}`, {rule.level}: {rule.summary}"


def test_the_document_lists_every_rule() -> None:
    assert DOCUMENT.read_text("utf-8") == document(), "to write it anew: make docs"


@pytest.mark.parametrize(
    ("image", "is_wrong"),
    [
        ("swr.cn-north-4.myhuaweicloud.com/lab/mindspore-arm64:2.2", False),
        ("swr.cn-north-4.myhuaweicloud.com/lab/mindspore:2.2-aarch64", False),
        ("lab/mindspore:2.2", False),
        ("lab/charm64:1", False),
        ("lab/mindspore:2.2-x86_64", True),
        ("lab/mindspore-AMD64:2.2", True),
    ],
)
def test_an_image_for_other_processors_is_told_by_its_name(tmp_path: Path, image: str, is_wrong: bool) -> None:
    spec = changed(good_spec(code_folder(tmp_path)), image_url=image, command="python train.py", boot_file="")
    arm = replace(FLAVORS[1], architecture="aarch64")

    findings = check_offline(spec, profile(), WORKLOADS, (arm,))

    assert [finding.field for finding in findings if finding.rule == "image.architecture"] == ["image_url"] * is_wrong
    assert "image.architecture" not in {finding.rule for finding in found(spec)}, "the region does not say"

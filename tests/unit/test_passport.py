"""Passports of a job's nodes as the console reads them: tools of several versions, differences, the fingerprint."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from aisbench_core.base.errors import ResultError
from aisbench_core.domain.passport.accelerators import find_accelerators
from aisbench_core.domain.passport.collecting import combine_nodes, read_passport
from aisbench_core.domain.passport.reading import NodePassport, read_node
from aisbench_core.model import Passport, Resolved, ResolvedContent, passport_of
from aisbench_core.warehouse.answers.passports import compare_captured
from aisbench_core.warehouse.measures.fingerprint import compute_fingerprint
from tests import records as a

OUTPUTS = yaml.safe_load(Path(__file__).with_name("tool_outputs.yaml").read_text("utf-8"))

LSCPU = """Architecture:             aarch64
CPU(s):                   192
Vendor ID:                HiSilicon
  Model name:             Kunpeng-920
    Thread(s) per core:   1
    Core(s) per socket:   48
    Socket(s):            4
    CPU max MHz:          2600.0000
Caches (sum of all):
  L3 cache:               192 MiB
NUMA:
  NUMA node(s):           8
"""

NODE: dict[str, Any] = {
    "format": "aisbench-passport/1",
    "host": {
        "name": "node-0",
        "system": "EulerOS 2.0 (SP10)",
        "kernel": "4.19.90",
        "python": "3.9.10",
        "memory_kb": 1583000000,
        "cpus_allowed": 192,
        "governor": "performance",
        "transparent_hugepages": "always",
        "infiniband": ["200 Gb/sec (4X HDR)"] * 8,
    },
    "tools": {**OUTPUTS["npu_24_910b4"]["tools"], "lscpu": LSCPU},
    "versions": {
        "/usr/local/Ascend/driver/version.info": "Version=24.1.1\nascendhal_version=7.35.19\n",
        "/usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info": "version=8.0.RC2\n",
        "/usr/local/Ascend/ascend-toolkit/latest/hccl/version.info": "Version=7.3.0.1.231\n",
    },
    "packages": {"torch": "2.1.0", "torch-npu": "2.1.0.post6", "pyyaml": "6.0.1"},
    "environment": {"HCCL_BUFFSIZE": "200", "ASCEND_LAUNCH_BLOCKING": "0", "MY_SWITCH": None},
    "arguments": ["train.py", "--train_url=/out", "--micro-batch-size", "4", "--config", "model.yaml"],
    "configs": [
        {
            "argument": "config",
            "path": "model.yaml",
            "sha256": "c0ffee",
            "text": "train:\n  global_batch_size: 256\n  name: demo\n",
        }
    ],
}


@pytest.mark.parametrize("version", OUTPUTS)
def test_the_output_of_each_tool_and_version_is_read(version: str) -> None:
    case = OUTPUTS[version]

    assert find_accelerators(case["tools"]) == case["facts"]


def read(node: dict[str, Any], number: int = 0) -> NodePassport:
    return read_node(json.dumps(node).encode(), number, {"train_url"})


def test_a_node_is_read_as_facts_by_group() -> None:
    facts = {**read(NODE).facts}

    assert (
        facts
        | {
            "config.config": "sha256:c0ffee",
            "setting.config.train.global_batch_size": "256",
            "argument.micro-batch-size": "4",
            "accelerator.firmware": "7.5.0.5.220",
            "software.cann": "8.0.RC2",
            "software.hccl": "7.3.0.1.231",
            "software.torch-npu": "2.1.0.post6",
            "package.pyyaml": "6.0.1",
            "environment.HCCL_BUFFSIZE": "200",
            "environment.MY_SWITCH": "set",
            "host.cpu": "Kunpeng-920",
            "host.memory_gib": "1510",
            "host.infiniband": "200 Gb/sec (4X HDR) × 8",
        }
        == facts
    )
    assert "argument.train_url" not in facts  # the spec says it
    assert "setting.config.train.name" not in facts


def change(*path: str, to: object) -> Callable[[dict[str, Any]], None]:
    def apply(node: dict[str, Any]) -> None:
        for name in path[:-1]:
            node = node[name]
        node[path[-1]] = to

    return apply


def tool(name: str, before: str, after: str) -> Callable[[dict[str, Any]], None]:
    def apply(node: dict[str, Any]) -> None:
        assert before in node["tools"][name]
        node["tools"][name] = node["tools"][name].replace(before, after)

    return apply


BOARD, COMMON = "npu-smi info -t board -i 1", "npu-smi info -t common -i 1"
PLANTED = {
    "accelerator.model": tool("npu-smi info", "1     910B4", "1     910B3"),
    "accelerator.memory_mb": tool("npu-smi info", "29356/ 32768", "29356/ 65536"),
    "accelerator.health": tool("npu-smi info", "Warning", "Alarm  "),
    "accelerator.count": tool("npu-smi info", "| 1     910B4               | Warning ", "| NA NA | "),
    "accelerator.firmware": tool(BOARD, "7.5.0.5.220", "7.3.0.1.231"),
    "accelerator.driver": tool(BOARD, "24.1.1", "23.0.6"),
    "accelerator.product": tool(BOARD, "IT21HMDC_Bin5", "IT21HMDB02-B2"),
    "accelerator.clock_mhz": tool(COMMON, "(MHZ)               : 1800", "(MHZ)               : 1650"),
    "software.cann": change(
        "versions",
        "/usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info",
        to="version=8.0.0",
    ),
    "software.hccl": change(
        "versions", "/usr/local/Ascend/ascend-toolkit/latest/hccl/version.info", to="Version=7.1.0\n"
    ),
    "software.torch-npu": change("packages", "torch-npu", to="2.1.0.post8"),
    "package.pyyaml": change("packages", "pyyaml", to="5.4"),
    "package.debugpy": change("packages", "debugpy", to="1.8"),
    "environment.HCCL_BUFFSIZE": change("environment", "HCCL_BUFFSIZE", to="400"),
    "environment.ASCEND_LAUNCH_BLOCKING": change("environment", "ASCEND_LAUNCH_BLOCKING", to="1"),
    "environment.PROFILING_MODE": change("environment", "PROFILING_MODE", to=None),
    "config.config": lambda node: node["configs"][0].update(sha256="decade"),
    "argument.micro-batch-size": lambda node: node["arguments"].__setitem__(3, "8"),
    "host.kernel": change("host", "kernel", to="5.10.0"),
    "host.governor": change("host", "governor", to="powersave"),
    "host.cpus_allowed": change("host", "cpus_allowed", to=96),
    "host.infiniband": lambda node: node["host"]["infiniband"].__setitem__(3, "100 Gb/sec (4X EDR)"),
    "host.numa_nodes": tool("lscpu", "NUMA node(s):           8", "NUMA node(s):           4"),
    "host.memory_gib": change("host", "memory_kb", to=791000000),
}


@pytest.mark.parametrize("fact", PLANTED)
@pytest.mark.parametrize("odd", [0, 3])
def test_the_node_that_differs_from_the_others_is_named(fact: str, odd: int) -> None:
    nodes = [copy.deepcopy(NODE) for _ in range(4)]
    PLANTED[fact](nodes[odd])
    for number, node in enumerate(nodes):
        node["host"]["name"] = f"node-{number}"

    passport = combine_nodes([read(node, number) for number, node in enumerate(nodes)], 4)

    assert passport.differing_nodes == (odd,)
    assert fact in {one.name for one in passport.differences}
    assert {one.host for one in passport.differences} == {f"node-{odd}"}


def test_equal_nodes_differ_in_nothing_and_each_node_may_have_values_of_its_own() -> None:
    nodes = [copy.deepcopy(NODE) for _ in range(4)]
    for number, node in enumerate(nodes):
        node["environment"]["MY_ADDRESS_OF_RANK"] = None
        node["environment"]["HCCL_SOCKET"] = f"10.0.0.{number}"
        node["environment"]["RANK"] = str(number)
        node["tools"]["npu-smi info"] = node["tools"]["npu-smi info"].replace("88.2", f"9{number}.0")

    assert combine_nodes([read(node, number) for number, node in enumerate(nodes)], 4).differences == ()


def test_a_run_has_the_nodes_whose_files_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "0.json").write_text(json.dumps(NODE))
    (tmp_path / "1.json").write_text("{")
    (tmp_path / "2.json").write_text(json.dumps({**NODE, "host": 3}))
    (tmp_path / "3.json").write_text(json.dumps({**NODE, "configs": [1]}))

    passport = read_passport(tmp_path, a.spec(node_count=8))

    assert passport is not None
    assert (passport.nodes, passport.expected) == (1, 8)
    assert read_passport(tmp_path / "none", a.spec()) is None
    with pytest.raises(ResultError, match="the passport of node 0 cannot be read"):
        read_node(b"[]", 0)


def test_a_passport_is_read_back_from_its_text() -> None:
    passport = combine_nodes([read(NODE), read({**NODE, "packages": {}}, 1)], 2)

    assert passport_of(passport.text) == passport
    assert json.loads(passport.text)["differing"] == "1"
    assert passport_of("{}") is passport_of(None) is None


def test_a_batch_size_hidden_in_a_file_makes_another_benchmark() -> None:
    spec, facts = a.spec(), a.FACTS
    recorded = Passport(1, 1, {"config.config": "sha256:1", "software.torch": "2.1"})
    plain = compute_fingerprint(spec, facts)

    def fingerprint(*names: str, **files: str) -> str:
        known = {name: ResolvedContent(sha256) for name, sha256 in files.items()}
        found = replace(recorded, facts=dict.fromkeys(names, "1"))
        return compute_fingerprint(spec, facts, Resolved(files=known), found)

    of_file = compute_fingerprint(spec, facts, Resolved(), recorded)
    other = replace(recorded, facts={**recorded.facts, "config.config": "sha256:2"})
    assert len({plain, of_file, compute_fingerprint(spec, facts, Resolved(), other)}) == 3
    assert fingerprint("argument.micro-batch-size") != plain
    assert fingerprint("argument.tensor-model-parallel-size") != plain
    # What people compare along, and what decides no speed, is in no benchmark.
    assert fingerprint("argument.name", "software.torch", "accelerator.firmware", "environment.HCCL_BUFFSIZE") == plain
    # The content of this file is in it anyway.
    assert fingerprint("config.recipe", recipe="3") == compute_fingerprint(
        spec, facts, Resolved(files={"recipe": ResolvedContent("3")})
    )


def test_differences_of_runs_are_grouped_by_what_decides_speed() -> None:
    first = Passport(
        1, 1, {"package.a": "1", "host.kernel": "4", "config.c": "1", "accelerator.model": "A", "x.y": "1"}
    )
    second = Passport(1, 1, {"package.a": "2", "host.kernel": "4", "config.c": "2", "accelerator.model": "B"})

    found = compare_captured([first, second, None])

    assert [field.field for field in found] == ["config.c", "accelerator.model", "package.a", "x.y"]
    assert found[-1].values == ("1", "", None)
    assert compare_captured([first, None]) == ()

"""What was captured on a node, as facts by name: `<group>.<name>`, of the groups of a passport."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aisbench_core.base.errors import ResultError
from aisbench_core.base.messages import Message
from aisbench_core.domain.passport.accelerators import count_values, find_accelerators
from aisbench_core.domain.passport.settings import find_settings
from aisbench_core.domain.preflight.rules.secrets import is_likely_secret

FORMAT = "aisbench-passport/1"

WITHHELD = "set"
"""In place of the value of a variable that is not on the reporter's list."""

_MOST_FACTS, _LONGEST = 4000, 500

# The names of `lscpu`, by fact.
_CPU = {
    "host.cpu": "Model name",
    "host.sockets": "Socket(s)",
    "host.cores_per_socket": "Core(s) per socket",
    "host.threads_per_core": "Thread(s) per core",
    "host.cpus": "CPU(s)",
    "host.cpu_mhz": "CPU max MHz",
    "host.l1d": "L1d cache",
    "host.l1i": "L1i cache",
    "host.l2": "L2 cache",
    "host.l3": "L3 cache",
    "host.numa_nodes": "NUMA node(s)",
}
_HOST = ("system", "kernel", "machine", "cpus_allowed", "governor", "transparent_hugepages")

# Packages that a training's speed is known to depend on.
_FAST = re.compile(
    r"torch|torch-npu|torchvision|torchaudio|mindspore.*|tensorflow.*|npu-(bridge|device)|jax(lib)?|paddlepaddle.*|deepspeed"
    r"|megatron.*|mindspeed.*|mindformers|transformers|accelerate|apex|flash-attn.*|xformers|triton.*|transformer-engine.*"
    r"|nvidia-(nccl|cudnn|cublas|cuda-runtime)-.*|numpy"
)
# What differs between nodes by nature.
_OF_NODE = re.compile(
    r"HCCL_IF_IP|HCCL_WHITELIST_FILE|MS_(WORKER_IP|NODE_ID|SCHED_HOST|SCHED_PORT|ROLE)|ASCEND_(DEVICE_ID|PROCESS_LOG_PATH)"
    r"|HOSTNAME|RANK|LOCAL_RANK|GROUP_RANK|ROLE_RANK|RANK_ID|DEVICE_ID|VC_TASK_INDEX|_|PWD|OLDPWD|SHLVL|AISBENCH_\w+"
)
_RELEASE = re.compile(
    r"^\s*\"?(?:version|Version|Software Version|version_dir)\"?\s*[:=]\s*\"?([\w.+-]+)", re.MULTILINE
)
_RUNNING = re.compile(r"runtime_running_version=\[([\w.+-]+)")
# Ends of paths of files with versions, by fact.
_VERSION_FILES = {
    "software.cann": ("install.info", "version.cfg", "runtime/version.info"),
    "software.hccl": ("hccl/version.info",),
    "software.cuda": ("cuda/version.json",),
    "software.npu_driver": ("driver/version.info",),
    "software.npu_firmware": ("firmware/version.info",),
}


@dataclass(frozen=True, slots=True)
class NodePassport:
    """`host`: a name or address of the node's host."""

    node: int
    host: str
    facts: Mapping[str, str]


def read_node(content: bytes, node: int, given: Collection[str] = ()) -> NodePassport:
    """A node from its file. `given`: arguments that the run's spec has, too. Raises ResultError."""
    try:
        values = json.loads(content)
        facts = dict(_iter_facts(values, given)) if values["format"] == FORMAT else {}
        host = values.get("host", {})
        name = str(host.get("server") or host.get("name") or "")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ResultError(Message("the passport of node {node} cannot be read", node=node)) from error
    kept = [(fact, _clean_text(value)) for fact, value in facts.items() if value not in ("", "None")][:_MOST_FACTS]
    return NodePassport(node, _clean_text(name), {fact: _withhold_secret(fact, value) for fact, value in kept})


def _iter_facts(values: Mapping[str, Any], given: Collection[str]) -> Iterator[tuple[str, str]]:
    tools, host = _get_texts(values.get("tools")), values.get("host", {})
    for config in values.get("configs", ()):
        argument, path = str(config["argument"]), str(config["path"])
        yield f"config.{argument}", f"sha256:{config['sha256']}" if config.get("sha256") else ""
        for name, value in find_settings(path, str(config.get("text", ""))).items():
            yield f"setting.{argument}.{name}", value
    for name, value in _iter_arguments(values.get("arguments", ())):
        if name not in given:
            yield f"argument.{name}", value
    yield from find_accelerators(tools).items()
    yield from _iter_software(values)
    for name, value in sorted(values.get("environment", {}).items()):
        if not _OF_NODE.fullmatch(name):
            yield f"environment.{name}", WITHHELD if value is None else str(value)
    yield from ((f"host.{name}", str(host[name])) for name in _HOST if host.get(name))
    if host.get("memory_kb"):
        yield "host.memory_gib", str(round(int(host["memory_kb"]) / 1024**2))
    yield "host.infiniband", count_values(map(str, host.get("infiniband", ())))
    processor = dict(line.split(":", 1) for line in tools.get("lscpu", "").splitlines() if ":" in line)
    said = {name.strip(): value.strip() for name, value in processor.items()}
    yield from ((fact, said[name]) for fact, name in _CPU.items() if said.get(name) not in (None, "-", ""))


def _iter_software(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    files = _get_texts(values.get("versions"))
    for fact, ends in _VERSION_FILES.items():
        texts = (text for end in ends for path, text in files.items() if path.endswith(end))
        found = (match[1] for text in texts if (match := _RUNNING.search(text) or _RELEASE.search(text)))
        yield fact, next(found, "")
    yield "software.python", str(values.get("host", {}).get("python", ""))
    for name, version in sorted(values.get("packages", {}).items()):
        yield f"{'software' if _FAST.fullmatch(name) else 'package'}.{name}", str(version)


def _iter_arguments(arguments: list[str]) -> Iterator[tuple[str, str]]:
    pending, position = "", 0
    for argument in map(str, arguments[1:]):
        name, separator, value = argument.partition("=")
        if not argument.startswith("-"):
            position += not pending
            yield pending or str(position), argument
            pending = ""
            continue
        if pending:
            yield pending, WITHHELD
        pending = "" if separator else name.lstrip("-")
        if separator:
            yield name.lstrip("-"), value
    if pending:
        yield pending, WITHHELD


def _get_texts(values: Any) -> dict[str, str]:
    return {str(name): str(text) for name, text in values.items()} if isinstance(values, dict) else {}


def _clean_text(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text[:_LONGEST]).strip()


def _withhold_secret(fact: str, value: str) -> str:
    """What the reporter may have missed."""
    group, _, name = fact.partition(".")
    is_checked = group in ("environment", "argument", "setting") and value != WITHHELD
    return WITHHELD if is_checked and is_likely_secret(name.rpartition(".")[2], value) else value

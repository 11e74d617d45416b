"""A program to start on a node, and what all boot methods share: its interpreter, its directory, where it prints."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aisbench_sandbox.engine.node.layout import Node

NOT_FOUND = 127
"""What a shell returns for a program that it does not find."""

_STARTER = Path(__file__).with_name("starter.py")
_REFUSE = 'echo "[ModelArts Service Log][init] $1" >&2; exit "$2"'
_FRAMEWORK = re.compile(r"([a-z]+)_(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Launch:
    """One program to start on a node: `label` tells people which one, `output` names the file of what it prints.

    `environment` is added to the node's own. `task` is named when it is not the node's worker. A program that `serves`
    others ends with them: nobody waits for it."""

    label: str
    command: list[str]
    folder: Path
    output: str
    environment: Mapping[str, str] = field(default_factory=dict)
    task: str = ""
    serves: bool = False


def boot_command(node: Node) -> list[str]:
    """The boot file, run by the node's Python, with the job's arguments."""
    return [str(node.python), str(node.boot_file), *node.arguments()]


def module_command(node: Node, program: str, module: str, hint: str) -> list[str]:
    """`python -m module`, which is the framework's command `program`, with a clear line where it is not installed."""
    return [str(node.python), str(_STARTER), program, module, hint]


def folder(node: Node) -> Path:
    """Where a program starts: in the directory that the job names, else where the code directory was put."""
    return node.working_dir or node.code.parent


def output_file(node: Node, task: str = "worker") -> str:
    """The file for what a node's only program of a task prints."""
    return f"{task}-{node.index}.txt"


def refusal(node: Node, code: int, reason: str) -> Launch:
    """A program that says in the node's log why the job cannot run, and ends with this code."""
    command = ["/bin/sh", "-c", _REFUSE, "sh", reason, str(code)]
    return Launch("the boot helper", command, node.home, output_file(node))


def image_has(node: Node, framework: str, least: tuple[int, int]) -> bool:
    """Whether the job's image has this version of a framework (2.1 is (2, 1)), or a later one.

    A preset image's name says so; of an image of the user's own we believe it."""
    engine = node.job.algorithm["engine"]
    version = _FRAMEWORK.match(str(engine.get("engine_version") or ""))
    has = version is not None and version[1] == framework and (int(version[2]), int(version[3])) >= least
    return has or bool(engine.get("image_url"))

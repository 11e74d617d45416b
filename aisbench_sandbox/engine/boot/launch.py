"""A program to start on a node, and what all boot methods share: interpreter, working directory, output file."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aisbench_sandbox.engine.node.layout import Node

# The exit code of a shell when a program is not found.
NOT_FOUND = 127

# A file rather than `-c`: whether a framework is there has to be found out by the node's Python, into which the job
# may have installed it.
_STARTER = Path(__file__).with_name("starter.py")
# The reason is an argument, not part of the script, so it needs no quoting.
_REFUSE = 'echo "[ModelArts Service Log][init] $1" >&2; exit "$2"'
_FRAMEWORK = re.compile(r"([a-z]+)_(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Launch:
    """One program to start on a node: `label` identifies it in messages, `output` is the name of its output file.

    `environment` is added to the node's own. `task` is set if it is not the node's worker. A program that `serves`
    others is ended with them instead of being waited for."""

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
    """`python -m module`, the framework's command `program`, with a clear message if it is not installed."""
    return [str(node.python), str(_STARTER), program, module, hint]


def find_folder(node: Node) -> Path:
    """The working directory of a program: as the job requests it, else the code directory's parent."""
    return node.working_dir or node.code.parent


def output_file(node: Node, task: str = "worker") -> str:
    """The name of the output file of a task's only program on a node."""
    return f"{task}-{node.index}.txt"


def build_refusal(node: Node, code: int, reason: str) -> Launch:
    """A program that logs why the job cannot run, and exits with this code."""
    command = ["/bin/sh", "-c", _REFUSE, "sh", reason, str(code)]
    return Launch("the boot helper", command, node.home, output_file(node))


def refusal_without(node: Node, program: str, framework: str, least: tuple[int, int]) -> Launch | None:
    """The refusal of a program that comes with this version of a framework; None if the job's image has it.

    A preset image's name tells; a custom image is assumed to have it."""
    engine = node.job.algorithm["engine"]
    image = str(engine.get("engine_version") or "")
    version = _FRAMEWORK.match(image)
    has = version is not None and version[1] == framework.lower() and (int(version[2]), int(version[3])) >= least
    if has or engine.get("image_url"):
        return None
    wanted = f"{framework} {'.'.join(map(str, least))} or later"
    return build_refusal(node, NOT_FOUND, f"{program}: command not found. The image {image} has no {wanted}")

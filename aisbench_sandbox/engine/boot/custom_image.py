"""A custom image: its command as given, once per node, with this machine's programs instead of the image's."""

import shlex
from collections.abc import Mapping

from aisbench_sandbox.engine.boot.launch import Launch, output_file
from aisbench_sandbox.engine.node.layout import Node


def build_launches(node: Node, _: Mapping[str, str]) -> list[Launch]:
    """One non-login shell that reads no profile; the job's arguments are appended to the command."""
    line = " ".join([node.job.algorithm["command"], *map(shlex.quote, node.arguments())])
    # Training guide 3.4: a job does not run in a shell environment, so conda is not activated, for example.
    command = ["/bin/bash", "--noprofile", "--norc", "-c", line]
    return [Launch("the command", command, node.working_dir or node.home, output_file(node))]

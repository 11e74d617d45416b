"""An image of the user's own: its command as given, once per node, with this machine's programs and not the image's."""

import shlex
from collections.abc import Mapping

from aisbench_sandbox.engine.boot.launch import Launch, output_file
from aisbench_sandbox.engine.node.layout import Node


def launches(node: Node, _: Mapping[str, str]) -> list[Launch]:
    """One shell that is no login shell and reads no profile; the job's arguments follow the command's last word."""
    line = " ".join([node.job.algorithm["command"], *map(shlex.quote, node.arguments())])
    command = ["/bin/bash", "--noprofile", "--norc", "-c", line]
    return [Launch("the command", command, node.working_dir or node.home, output_file(node))]

"""MA_RUN_METHOD=torchrun: PyTorch's launcher once per node, which starts the boot file once per card."""

from collections.abc import Mapping

from aisbench_sandbox.engine.boot.launch import (
    NOT_FOUND,
    Launch,
    folder,
    image_has,
    module_command,
    output_file,
    refusal,
)
from aisbench_sandbox.engine.node.layout import Node

_MIN_VERSION = (1, 11)
_HINT = "PyTorch is not installed in the sandbox's Python: install the extra torch."


def launches(node: Node, environment: Mapping[str, str]) -> list[Launch]:
    """One torchrun; an image without it fails as in the cloud."""
    if not image_has(node, "pytorch", _MIN_VERSION):
        image = node.job.algorithm["engine"].get("engine_version")
        reason = f"torchrun: command not found. The image {image} has no PyTorch 1.11 or later"
        return [refusal(node, NOT_FOUND, reason)]
    command = [
        *module_command(node, "torchrun", "torch.distributed.run", _HINT),
        *_options(node, environment),
        str(node.boot_file),
        *node.arguments(),
    ]
    return [Launch("torchrun", command, folder(node), output_file(node))]


def _options(node: Node, environment: Mapping[str, str]) -> list[str]:
    size = [f"--nnodes={node.job.node_count}", f"--nproc_per_node={node.job.flavor.cards}"]
    extra = environment.get("MA_EXTRA_TORCHRUN_PARAMS", "").split()  # split like an unquoted shell variable
    if node.job.node_count == 1:
        return ["--standalone", *size, *extra]
    rendezvous = [
        f"--node_rank={node.index}",
        f"--master_addr={node.host(0)}",
        f"--master_port={environment['MA_TORCHRUN_MASTER_PORT']}",
        f"--rdzv_id=modelarts-job-{node.job.job_id}",
        "--rdzv_backend=static",
    ]
    return [*size, *rendezvous, *extra]

"""MA_RUN_METHOD=torchrun: PyTorch's launcher once per node, which starts the boot file once per card."""

from collections.abc import Mapping

from aisbench_sandbox.engine.boot.launch import (
    Launch,
    find_folder,
    module_command,
    output_file,
    refusal_without,
)
from aisbench_sandbox.engine.node.layout import Node

# Starting a Preset Image's Boot File: 1.11.0 or later.
_MIN_VERSION = (1, 11)
_HINT = "PyTorch is not installed in the sandbox's Python: install the extra torch."


def build_launches(node: Node, environment: Mapping[str, str]) -> list[Launch]:
    """One torchrun; an image without it fails as in the cloud."""
    if refusal := refusal_without(node, "torchrun", "PyTorch", _MIN_VERSION):
        return [refusal]
    command = [
        *module_command(node, "torchrun", "torch.distributed.run", _HINT),
        *_build_options(node, environment),
        str(node.boot_file),
        *node.arguments(),
    ]
    return [Launch("torchrun", command, find_folder(node), output_file(node))]


def _build_options(node: Node, environment: Mapping[str, str]) -> list[str]:
    size = [f"--nnodes={node.job.node_count}", f"--nproc_per_node={node.job.flavor.cards}"]
    extra = environment.get("MA_EXTRA_TORCHRUN_PARAMS", "").split()  # split like an unquoted shell variable
    if node.job.node_count == 1:
        return ["--standalone", *size, *extra]
    rendezvous = [
        f"--node_rank={node.index}",
        f"--master_addr={node.host(0)}",
        f"--master_port={environment['MA_TORCHRUN_MASTER_PORT']}",
        f"--rdzv_id=modelarts-job-{node.job.job_id}",
        # master_addr and master_port are used as they are, without a rendezvous server.
        "--rdzv_backend=static",
    ]
    # Last, so that MA_EXTRA_TORCHRUN_PARAMS can override what stands before it, as the manual promises.
    return [*size, *rendezvous, *extra]

"""PyTorch on GPUs: the boot file once per node, which gets an address and starts one process per card itself."""

from collections.abc import Mapping

from aisbench_sandbox.engine.boot.launch import Launch, boot_command, find_folder, output_file
from aisbench_sandbox.engine.node.layout import Node
from aisbench_sandbox.engine.rank_tables import get_loopback


def build_launches(node: Node, _: Mapping[str, str]) -> list[Launch]:
    """One program, with the arguments of the manual."""
    command = [*boot_command(node), *_rendezvous_options(node)]
    return [Launch("the boot file", command, find_folder(node), output_file(node))]


def _rendezvous_options(node: Node) -> list[str]:
    """None for one card; the address for several cards; also rank and world size for several nodes."""
    if node.job.card_count == 1:
        return []
    address = ["--init_method", f"tcp://{get_loopback(0)}:{node.port}"]
    if node.job.node_count == 1:
        return address
    # world_size counts nodes (`<node_num>` in the manual), not processes.
    return [*address, "--rank", str(node.index), "--world_size", str(node.job.node_count)]

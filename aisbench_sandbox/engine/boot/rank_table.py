"""Ascend-Powered-Engine's default: the boot file once per card, which finds its peers in the rank table."""

from collections.abc import Mapping

from aisbench_sandbox.engine.boot.launch import Launch, boot_command
from aisbench_sandbox.engine.node.layout import Node


def build_launches(node: Node, _: Mapping[str, str]) -> list[Launch]:
    """One program per card."""
    return [_of_card(node, rank) for rank in node.ranks]


def _of_card(node: Node, rank: int) -> Launch:
    device = rank - node.ranks.start
    # What the boot helper (davincirun.py) sets for each card; the name of the output file is that of table 4-10 in
    # the training guide.
    return Launch(
        f"rank {rank}",
        boot_command(node),
        node.working_dir or node.workspace(device),
        f"modelarts-job-{node.job.job_id}-proc-rank-{rank}-device-{device}.txt",
        {
            "RANK_TABLE_FILE": str(node.rank_table),
            "RANK_TABLE_FILE_V_1_0": str(node.rank_table),
            "RANK_ID": str(rank),
            "RANK_SIZE": str(node.job.card_count),
            "DEVICE_ID": str(device),
            "ASCEND_DEVICE_ID": str(device),
            "JOB_ID": node.job.job_id,
            "ASCEND_PROCESS_LOG_PATH": str(node.log / "ascend" / "process_log" / f"rank_{rank}"),
        },
    )

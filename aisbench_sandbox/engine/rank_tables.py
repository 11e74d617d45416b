"""The rank tables of Ascend programs: the platform's (template 2) and the boot helper's (template 1)."""

import json
import platform
from pathlib import Path

from aisbench_sandbox.files import write_atomically
from aisbench_sandbox.job import Job

NAME = "jobstart_hccl.json"
# Readable by the job's user.
READABLE = 0o644


def get_loopback(node: int) -> str:
    """The node's address: Linux answers on all of 127.0.0.0/8, others on one address only."""
    return f"127.0.{node // 254}.{node % 254 + 1}" if platform.system() == "Linux" else "127.0.0.1"


def write_platform_table(folder: Path, job: Job, *, completed: bool) -> None:
    """Write template 2 atomically; until all nodes have their addresses its status is `initializing`."""
    # All counts and ids are strings in both templates (manual for custom images, RANK_TABLE_FILE).
    group = {
        "group_name": f"modelarts-job-{job.job_id}",
        "device_count": str(job.card_count),
        "instance_count": str(job.node_count),
        "instance_list": [_to_instance(job, node) for node in range(job.node_count)] if completed else [],
    }
    # The manual for custom images says only that the status is not always `completed` at the start, and that programs
    # have to wait for it.
    status = "completed" if completed else "initializing"
    table = {"status": status, "group_count": "1", "group_list": [group]}
    write_atomically(folder / NAME, json.dumps(table).encode(), READABLE)


def rank_table(job: Job) -> str:
    """Template 1, which the boot helper makes of template 2: ranks are numbered through the nodes in order."""
    cards = job.flavor.cards
    servers = [
        {
            # The boot helper orders the servers by the index of their pods.
            "server_id": get_loopback(node),
            "device": [
                {**device, "rank_id": str(node * cards + number)}
                for number, device in enumerate(_list_devices(job, node))
            ],
        }
        for node in range(job.node_count)
    ]
    count = str(job.node_count)
    return json.dumps({"status": "completed", "version": "1.0", "server_count": count, "server_list": servers})


def _to_instance(job: Job, node: int) -> dict[str, object]:
    name = f"modelarts-job-{job.job_id}-worker-{node}"
    return {"pod_name": name, "server_id": get_loopback(node), "devices": _list_devices(job, node)}


def _list_devices(job: Job, node: int) -> list[dict[str, str]]:
    # Addresses that only HCCL would use, which is not here. 198.18.0.0/15 is reserved for benchmarks (RFC 2544).
    return [
        {"device_id": str(device), "device_ip": f"198.18.{node}.{device + 1}"} for device in range(job.flavor.cards)
    ]

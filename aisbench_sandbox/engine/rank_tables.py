"""The rank tables of Ascend programs: the platform's (template 2) and the boot helper's (template 1)."""

import json
import platform
from pathlib import Path

from aisbench_sandbox.files import write_atomically
from aisbench_sandbox.jobs import Job

NAME = "jobstart_hccl.json"
READABLE = 0o644
"""Readable by the job's user."""


def loopback(node: int) -> str:
    """The node's address: Linux answers on all of 127.0.0.0/8, others on one address only."""
    return f"127.0.0.{node + 1}" if platform.system() == "Linux" else "127.0.0.1"


def write_platform_table(folder: Path, job: Job, *, completed: bool) -> None:
    """Write template 2 atomically; until all nodes have their addresses its status is `initializing`."""
    group = {
        "group_name": f"modelarts-job-{job.job_id}",
        "device_count": str(job.card_count),
        "instance_count": str(job.node_count),
        "instance_list": [_instance(job, node) for node in range(job.node_count)] if completed else [],
    }
    status = "completed" if completed else "initializing"
    table = {"status": status, "group_count": "1", "group_list": [group]}
    write_atomically(folder / NAME, json.dumps(table).encode(), READABLE)


def rank_table(job: Job) -> str:
    """Template 1, which the boot helper converts from it: ranks are numbered through the nodes in order."""
    cards = job.flavor.cards
    servers = [
        {
            "server_id": loopback(node),
            "device": [
                {**device, "rank_id": str(node * cards + number)} for number, device in enumerate(_devices(job, node))
            ],
        }
        for node in range(job.node_count)
    ]
    count = str(job.node_count)
    return json.dumps({"status": "completed", "version": "1.0", "server_count": count, "server_list": servers})


def _instance(job: Job, node: int) -> dict[str, object]:
    name = f"modelarts-job-{job.job_id}-worker-{node}"
    return {"pod_name": name, "server_id": loopback(node), "devices": _devices(job, node)}


def _devices(job: Job, node: int) -> list[dict[str, str]]:
    # Addresses of a network that does not exist: only HCCL would use them, which is not here.
    return [
        {"device_id": str(device), "device_ip": f"198.18.{node}.{device + 1}"} for device in range(job.flavor.cards)
    ]

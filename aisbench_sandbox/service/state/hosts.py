"""The addresses of a job's nodes in the API."""

from aisbench_sandbox.engine.rank_tables import get_loopback
from aisbench_sandbox.job import Job

# Nodes outside of dedicated pools are this machine.
HOST = "127.0.0.1"


def host_of(job: Job, node: int, schedule_count: int = 0) -> str:
    """The host of a job's node, current or last; empty before the job has started.

    `schedule_count` is the number of the attempt, from 1; 0 means the last one."""
    if not job.attempts:
        return ""
    # Index -1 for 0: the last attempt.
    hosts = job.attempts[schedule_count - 1].hosts
    return _find_address(hosts[node]) if node < len(hosts) else HOST


def hosts_of(job: Job) -> frozenset[str]:
    """The hosts of all of the job's nodes, current or last."""
    return frozenset(host_of(job, node) for node in range(job.node_count)) - {""}


def _find_address(name: str) -> str:
    """Nodes of dedicated pools are called <pool>-node-<number>."""
    number = name.rpartition("-node-")[2]
    return get_loopback(int(number)) if number.isdigit() else HOST

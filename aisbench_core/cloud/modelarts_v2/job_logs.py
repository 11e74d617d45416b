"""Logs of jobs as ModelArts' newer API has them: what their objects are called, and how it says that there is none."""

from collections.abc import Mapping

from aisbench_core.model import JobStatus

NOTHING_YET = frozenset({"ModelArts.2776", "ModelArts.2777", "ModelArts.2818", "ModelArts.2819"})
"""No log or metric was written yet, or the log was cleared."""


def log_paths(job: JobStatus, log_path: str) -> Mapping[int, str]:
    """Where each node's log object is found, by node index, under the run's log directory."""
    directory = log_path.rstrip("/")
    return {node: f"{directory}/modelarts-job-{job.job_id}-worker-{node}.log" for node in range(job.node_count)}

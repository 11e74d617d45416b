"""Marks results that were made here, so that nobody takes them for measurements."""

import json
import re
from collections.abc import Iterable

from aisbench_sandbox.jobs import Job
from aisbench_sandbox.obs.objects import Objects
from aisbench_sandbox.obs.paths import bucket_and_key

STAMP = "rehearsal.json"
"""The marker object beside result files; the console reads it when it collects or imports them."""

_RESULT = re.compile(r"(?:.*/)?(?:throughput|accuracy|ranksize)[^/]*")


def stamp_results(objects: Objects, job: Job) -> None:
    """Put a stamp into each directory of the job's outputs that has result files, whoever uploaded them.

    Raises ObjectError if OBS refuses."""
    text = json.dumps({"rehearsal": True, "made_by": "AISBench sandbox", "job_id": job.job_id}).encode()
    for path in output_paths(job):
        bucket, prefix = bucket_and_key(path)
        if not objects.has_bucket(bucket):
            continue
        for folder in sorted(_folders_with_results(_keys(objects, bucket, prefix))):
            objects.put(bucket, f"{folder}{STAMP}", text)


def output_paths(job: Job) -> list[str]:
    """The directories that may contain a job's results."""
    paths = [channel.path for channel in job.channels("outputs")]
    # A script of the older API (v1) uploads its results itself, to the path in this parameter.
    paths += [entry["value"] for entry in job.algorithm.get("parameters") or () if entry["name"] == "train_url"]
    return [path for path in paths if path]


def _folders_with_results(keys: Iterable[str]) -> set[str]:
    return {key[: key.rfind("/") + 1] for key in keys if _RESULT.fullmatch(key)}


def _keys(objects: Objects, bucket: str, prefix: str) -> Iterable[str]:
    marker = ""
    while True:
        page = objects.list(bucket, prefix, marker)
        yield from (stat.key for stat in page.objects)
        if not page.truncated:
            return
        marker = page.next_marker

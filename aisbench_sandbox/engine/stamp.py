"""Marks results that were made here, so that nobody takes them for measurements."""

import json
import re

from aisbench_sandbox.job import Job
from aisbench_sandbox.obs.paths import bucket_and_key
from aisbench_sandbox.obs.storage.objects import Objects

# The marker object beside result files; the console reads it when it collects or imports them.
STAMP = "rehearsal.json"

_RESULT = re.compile(r"(?:.*/)?(?:throughput|accuracy|ranksize)[^/]*")


def stamp_results(objects: Objects, job: Job) -> None:
    """Put a stamp into each directory of the job's outputs that has result files, whoever uploaded them.

    Raises ObjectError if OBS refuses."""
    text = json.dumps({"rehearsal": True, "made_by": "AISBench sandbox", "job_id": job.job_id}).encode()
    for path in output_paths(job):
        bucket, prefix = bucket_and_key(path)
        if not objects.has_bucket(bucket):
            continue
        keys = (stat.key for stat in objects.all_below(bucket, prefix))
        # What counts is what lies in OBS: scripts also upload results themselves, with moxing.
        for folder in sorted({key[: key.rfind("/") + 1] for key in keys if _RESULT.fullmatch(key)}):
            objects.put(bucket, f"{folder}{STAMP}", text)


def output_paths(job: Job) -> list[str]:
    """The directories that may contain a job's results."""
    paths = [channel.path for channel in job.channels("outputs")]
    # A script of the older API (v1) uploads its results itself, to the path in this parameter.
    paths += [entry["value"] for entry in job.algorithm.get("parameters") or () if entry["name"] == "train_url"]
    return [path for path in paths if path]

"""An engine for tests: jobs follow a script instead of running, and write what the script says to OBS."""

import math
import threading
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from aisbench_core.sandbox.jobs import Job, Jobs, Phase, TaskEnd
from aisbench_core.sandbox.objects import Objects
from aisbench_core.sandbox.obs_paths import bucket_and_key


class Pace(StrEnum):
    """When a job moves on: at each look, with time, or only when told."""

    LOOK = "look"
    TIME = "time"
    HOLD = "hold"


class Script(BaseModel):
    """What a job pretends. Without `outputs`, every rank reports 100 samples/s and the accuracy is 0.9."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    by: Pace = Pace.LOOK
    seconds_per_phase: Annotated[float, Field(ge=0)] = 0.0
    outputs: dict[str, str] | None = None
    log: str = "a scripted job pretends to train\n"
    exit_code: Annotated[int, Field(ge=0, le=255)] = 0
    message: str = ""


class ScriptedEngine:
    """Moves jobs by their scripts; a stopped job ends at the next look. Nothing runs, so a restart loses nothing."""

    def __init__(self, jobs: Jobs, objects: Objects) -> None:
        self._jobs = jobs
        self._objects = objects
        self._lock = threading.RLock()

    def check(self, job: Job) -> None:
        """Every job can be pretended."""

    def start(self, job: Job) -> None:
        """Nothing: the job moves when its script says so."""

    def look(self) -> None:
        """Move every job as far as its script says."""
        with self._lock:
            for job in self._jobs.all():
                for _ in range(self._due(job)):
                    self.advance(job.job_id)

    def stop(self, job_id: str) -> None:
        """Nothing: the job is Terminating, and the next look ends it."""

    def advance(self, job_id: str) -> None:
        """Creating, Pending, Running, end; Terminating, Terminated."""
        with self._lock:
            job = self._jobs.find(job_id)
            now = self._jobs.now()
            if job is None or job.has_ended:
                return
            if job.phase is Phase.CREATING:
                self._jobs.change(job_id, lambda job: job.queued(now))
            elif job.phase is Phase.PENDING:
                self._write_logs(job)
                self._jobs.change(job_id, lambda job: job.running(now))
            else:
                self._end(job, now)

    def end_all(self) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Nothing runs."""

    def _due(self, job: Job) -> int:
        """How many phases the job moves on at this look."""
        script = Script.model_validate(job.script)
        if job.has_ended:
            return 0
        if job.phase is Phase.TERMINATING or script.by is Pace.LOOK:
            return 1
        if script.by is Pace.HOLD:
            # A held job runs; it is the end that waits.
            return {Phase.CREATING: 2, Phase.PENDING: 1}.get(job.phase, 0)
        return self._phases_passed(job, script.seconds_per_phase)

    def _phases_passed(self, job: Job, seconds: float) -> int:
        done = {Phase.CREATING: 0, Phase.PENDING: 1, Phase.RUNNING: 2}[job.phase]
        passed = math.inf if seconds == 0 else (self._jobs.now() - job.created_at) / 1000 / seconds
        return int(min(3, passed)) - done

    def _end(self, job: Job, now: int) -> None:
        script = Script.model_validate(job.script)
        message = script.message or (f"exited with code {script.exit_code}" if script.exit_code else "")
        tasks = job.tasks[:1] if script.exit_code else job.tasks
        ends = tuple(TaskEnd(task, script.exit_code, message) for task in tasks)
        if job.phase is Phase.RUNNING:
            self._write_outputs(job, standard_outputs(job) if script.outputs is None else script.outputs)
        else:
            ends = ()
        self._jobs.change(job.job_id, lambda job: job.ended(now, ends))

    def _write_outputs(self, job: Job, outputs: Mapping[str, str]) -> None:
        channels = job.channels("outputs")
        if not channels:
            return
        bucket, folder = bucket_and_key(channels[0].path)
        for name, text in outputs.items():
            self._objects.put(bucket, f"{folder}{name}", text.encode())

    def _write_logs(self, job: Job) -> None:
        text = f"[ModelArts Service Log][init] AISBench sandbox, scripted\n{Script.model_validate(job.script).log}"
        for node in range(job.node_count):
            self._jobs.log_file(job.job_id, node).write_text(text)
            bucket, key = bucket_and_key(job.log_object(node))
            if bucket:
                self._objects.put(bucket, key, text.encode())


def standard_outputs(job: Job) -> dict[str, str]:
    """What a cluster's training code writes when all goes well."""
    ranks = {f"throughput_{rank}.json": "100.0" for rank in range(job.card_count)}
    return {**ranks, "ranksize.json": str(job.card_count), "accuracy.json": "0.9"}

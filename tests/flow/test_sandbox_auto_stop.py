"""The longest running time that a job was given ends it; the clock here is the test's."""

import time
from pathlib import Path
from queue import Queue

from aisbench_sandbox.capacity import Capacity
from aisbench_sandbox.engine.recovery import JobOutcome, job_after
from aisbench_sandbox.engine.training import Training, TrainingContext
from aisbench_sandbox.job import JobPhase
from aisbench_sandbox.jobs import JobStore
from aisbench_sandbox.obs.storage.objects import Objects
from aisbench_sandbox.service.state.creation import accept_request
from tests.sandbox_process import processes_of
from tests.training_client import await_true, job_body


def test_a_job_that_runs_too_long_is_terminated_and_its_processes_with_it(tmp_path: Path) -> None:
    objects = Objects(tmp_path / "obs")
    objects.create_bucket("sandbox-bench")
    objects.put("sandbox-bench", "code/train.py", b"import time\nprint('started', flush=True)\ntime.sleep(600)\n")
    jobs = JobStore(tmp_path / "jobs", time.time)
    body = job_body()
    body["spec"]["auto_stop"] = {"time_unit": "HOURS", "duration": 2}
    added = jobs.add(accept_request(body, objects), None)
    assert added is not None
    job = jobs.change(added.job_id, lambda job: job.to_running(jobs.now(), ("public",)))
    assert job is not None
    now = [0.0]
    outcomes: Queue[JobOutcome] = Queue()
    capacity = Capacity(tmp_path / "capacity.json", None, 1)
    shop = TrainingContext(jobs, objects, tmp_path / "work", "", capacity, 1.0)
    training = Training(job, shop, lambda _, outcome: outcomes.put(outcome), clock=lambda: now[0])
    training.start()
    log = jobs.log_file(job.job_id, 0)
    now[0] = 2 * 3600 - 1.0
    await_true(lambda: log.exists() and "started" in log.read_text(), "the job at work")

    now[0] = 2 * 3600.0

    stopped = job_after(job, outcomes.get(timeout=60), jobs.now())
    assert stopped.phase is JobPhase.TERMINATED
    assert stopped.events[-1].message("en-us") == "Training job is terminated (maximum running time: 2h)."
    assert processes_of(job.job_id) == []

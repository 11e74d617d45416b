"""A job on a machine that cannot write any more, until it can again."""

import time
from pathlib import Path

from aisbench_sandbox.capacity import Capacity
from aisbench_sandbox.engine.engine import SubprocessEngine
from aisbench_sandbox.engine.training import TrainingContext
from aisbench_sandbox.job import JobPhase
from aisbench_sandbox.jobs import JobStore
from aisbench_sandbox.obs.storage.objects import Objects
from aisbench_sandbox.service.state.creation import accept_request
from tests.sandbox_process import processes_of
from tests.training_client import await_true, job_body


def test_a_job_whose_end_cannot_be_written_down_ends_as_soon_as_it_can_be(tmp_path: Path) -> None:
    objects = Objects(tmp_path / "obs")
    objects.create_bucket("sandbox-bench")
    objects.put("sandbox-bench", "code/train.py", b"import time\nprint('started', flush=True)\ntime.sleep(600)\n")
    folder, away = tmp_path / "jobs", tmp_path / "away"
    jobs = JobStore(folder, time.time)
    capacity = Capacity(tmp_path / "capacity.json", None, 1)
    engine = SubprocessEngine(TrainingContext(jobs, objects, tmp_path / "work", "", capacity, 1.0))
    job = jobs.add(accept_request(job_body(), objects), None)
    assert job is not None
    engine.start(job)
    log = jobs.log_file(job.job_id, 0)
    await_true(lambda: log.exists() and "started" in log.read_text(), "the job at work")

    folder.rename(away)
    await_true(lambda: not list((tmp_path / "work").iterdir()), "the end of its processes")
    assert processes_of(job.job_id) == []
    away.rename(folder)

    def phase() -> JobPhase:
        there = jobs.find(job.job_id)
        assert there is not None
        return there.phase

    await_true(lambda: phase() is JobPhase.FAILED, "the end of the job")
    ended = jobs.find(job.job_id)
    assert ended is not None
    assert [end.message for end in ended.ends] == ["the sandbox's machine fails: No such file or directory"]
    assert JobStore(folder, time.time).all() == [ended]
    engine.close()

"""What follows when a job stops running, and how its status tells it."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from aisbench_sandbox.attempts import FaultScenario
from aisbench_sandbox.engine.recovery import JobOutcome, is_retried, job_after
from aisbench_sandbox.engine.scheduling import fail_if_overdue
from aisbench_sandbox.job import Job, JobPhase, TaskEnd
from aisbench_sandbox.jobs import JobStore
from aisbench_sandbox.service.jobs.stages import stages_json
from aisbench_sandbox.service.state.status import status_json
from tests.training_client import job_body

FAILED = (TaskEnd("worker-1", 7, "rank 1 exited with code 7"),)
CODE = JobOutcome("failed", FAILED, FaultScenario.CODE)
NODE = JobOutcome("failed", (TaskEnd("worker-0", 137, "the node is faulty"),), FaultScenario.NODE, (0,))
HANG = JobOutcome("failed", fault=FaultScenario.HANG)
PREEMPTED = JobOutcome("preempted", fault=FaultScenario.PREEMPTED)


def running(retries: int = 0, *also: str) -> Job:
    """A job with two nodes that was created at 1 s and runs since 2 s."""
    body = job_body(nodes=2)
    body["metadata"]["annotations"] = {
        **({"fault-tolerance/job-retry-num": str(retries)} if retries else {}),
        **{f"fault-tolerance/{name}": "true" for name in also},
    }
    return Job("id", body, 1000).with_event(1000, "created").to_queued(1000).to_running(2000, ("a", "b"))


def again(job: Job, outcome: JobOutcome, at: int) -> Job:
    """The job, run again a second after it stopped."""
    return job_after(job, outcome, at).to_running(at + 1000, ("a", "b"))


def told(job: Job) -> list[str]:
    return [event.kind for event in job.events]


def test_without_fault_tolerance_a_failure_is_the_end() -> None:
    job = job_after(running(), CODE, 5000)

    assert (job.phase, job.ends, job.ended_at) == (JobPhase.FAILED, FAILED, 5000)


def test_a_fault_of_the_jobs_own_code_is_not_retried_unless_that_is_asked_for() -> None:
    assert job_after(running(3), CODE, 5000).phase is JobPhase.FAILED
    assert job_after(running(3, "job-unconditional-retry"), CODE, 5000).phase is JobPhase.PENDING
    assert job_after(running(0, "job-unconditional-retry"), CODE, 5000).phase is JobPhase.FAILED


def test_a_faulty_node_sends_the_job_back_to_the_head_of_the_queue_as_often_as_it_may() -> None:
    once = job_after(running(1), NODE, 5000)
    twice = job_after(once.to_running(6000, ("c", "d")), NODE, 7000)

    assert (once.phase, once.ahead, once.ends) == (JobPhase.PENDING, True, ())
    assert told(once)[-2:] == ["restarted", "queued"]
    assert (twice.phase, twice.ends) == (JobPhase.FAILED, NODE.ends)


@pytest.mark.parametrize(("outcome", "option"), [(CODE, "job-unconditional-retry"), (HANG, "hang-retry")])
def test_the_same_trouble_of_a_job_is_retried_three_times_in_a_row(outcome: JobOutcome, option: str) -> None:
    job = running(128, option)
    for number in range(3):
        job = again(job, outcome, 5000 + number * 2000)
    assert job.phase is JobPhase.RUNNING

    assert not is_retried(job, outcome.fault or FaultScenario.LOST)
    assert is_retried(job, FaultScenario.NODE)
    assert is_retried(again(job, NODE, 20_000), outcome.fault or FaultScenario.LOST)


def test_preemption_costs_no_retry_and_gives_no_privilege() -> None:
    job = job_after(running(1), PREEMPTED, 5000)

    assert (job.phase, job.ahead) == (JobPhase.PENDING, False)
    assert told(job)[-2:] == ["preempted", "queued"]
    assert is_retried(job, FaultScenario.NODE)


@pytest.mark.parametrize("outcome", [CODE, NODE, HANG, PREEMPTED, JobOutcome("completed")])
def test_a_job_that_was_asked_to_stop_is_terminated_whatever_happens_then(outcome: JobOutcome) -> None:
    job = job_after(running(3, "job-unconditional-retry", "hang-retry").to_terminating(), outcome, 5000)

    assert job.phase is JobPhase.TERMINATED


def test_a_job_that_was_issued_again_leaves_the_queue_after_a_while_and_others_do_not() -> None:
    waits = job_after(running(1), NODE, 5000)
    preempted = job_after(running(1), PREEMPTED, 5000)

    assert fail_if_overdue(waits, 1800, 5000 + 1_800_000) is waits
    assert fail_if_overdue(preempted, 1800, 9_999_999_999) is preempted
    left = fail_if_overdue(waits, 1800, 5000 + 1_800_001)
    assert (left.phase, left.ended_at, told(left)[-1]) == (JobPhase.FAILED, 1_805_000, "queue_failed")


def test_the_duration_leaves_out_all_waiting() -> None:
    job = job_after(running(1), NODE, 5000)
    assert status_json(job, 100_000)["duration"] == 3000

    job = job.to_running(60_000, ("c", "d"))

    assert status_json(job, 61_000)["duration"] == 4000
    job = job_after(job, JobOutcome("completed", (TaskEnd("worker-0", 0, ""),)), 62_000)
    status = status_json(job, 100_000)
    assert (status["duration"], status["start_time"]) == (5000, 2000)
    assert status["node_count_metrics"] == [[1000, 0], [2000, 2], [5000, 0], [60_000, 2], [62_000, 0]]


def test_each_running_has_a_record_that_says_why_it_ended_and_what_was_done() -> None:
    job = again(running(2, "job-unconditional-retry"), NODE, 5000)
    job = job_after(job, CODE, 9000)

    first, second = status_json(job, 10_000)["running_records"]

    assert {name: first[name] for name in ("start_at", "end_at", "end_related_task", "end_recover")} == {
        "start_at": 2,
        "end_at": 5,
        "end_related_task": "worker-0",
        "end_recover": "job_reschedule_with_taint",
    }
    (recovery,) = first["recover_records"]
    assert (recovery["fault_scenario"], recovery["recover_result"], recovery["recover_end_at"]) == (
        "node_fault",
        "success",
        6,
    )
    assert (second["end_reason"], second["end_related_task"], second["end_recover"]) == (
        "exit with 7",
        "worker-1",
        "job_reschedule",
    )
    assert second["recover_records"][0]["recover_result"] == "recovering"


def test_the_last_record_of_a_job_that_failed_for_good_names_no_recovery() -> None:
    (record,) = status_json(job_after(running(), CODE, 9000), 9000)["running_records"]

    assert record == {
        "start_at": 2,
        "end_at": 9,
        "start_type": "init_or_rescheduled",
        "end_reason": "exit with 7",
        "end_related_task": "worker-1",
    }


def test_each_running_goes_through_the_stages_and_they_hold_what_happened_in_them() -> None:
    job = running(1).with_event(2500, "code_started", task="worker-0").with_event(3000, "task_started", task="worker-0")
    job = job_after(job.with_event(4900, "task_finished", task="worker-0", code="137"), NODE, 5000)

    records = stages_json(job)["running_records"]

    assert [_stages(record) for record in records] == [
        [("scheduling", 1000, 2000), ("preparing", 2000, 3000), ("running", 3000, 4900), ("end", 4900, 5000)],
        [("scheduling", 5000, 0)],
    ]
    preparing = records[0]["stages"][1]
    assert [sub["name"] for sub in preparing["sub_stages"]] == ["running", "code_started"]
    assert preparing["sub_stages"][1]["zh_message"] == "[worker-0] 训练代码下载中"


def _stages(record: dict[str, Any]) -> list[tuple[str, int, int]]:
    return [(stage["name"], int(stage["start_time"]), int(stage["end_time"] or 0)) for stage in record["stages"]]


def test_tensorflow_on_several_nodes_has_a_parameter_server_on_each() -> None:
    body = job_body(nodes=2)
    body["algorithm"]["engine"] = {"engine_name": "TensorFlow", "engine_version": "tensorflow_2.1.0"}

    job = Job("id", body, 0)

    assert job.tasks == ("ps-0", "ps-1", "worker-0", "worker-1")
    assert [job.node_of(task) for task in job.tasks] == [0, 1, 0, 1]


def test_jobs_that_were_kept_before_they_could_run_again_are_still_read(tmp_path: Path) -> None:
    jobs = JobStore(tmp_path, lambda: 9.0)
    kept = asdict(job_after(running(), CODE, 5000))
    for name in ("attempts", "queued_at", "ahead"):
        del kept[name]
    (tmp_path / "id.json").write_text(json.dumps(kept))

    job = JobStore(tmp_path, jobs.now).find("id")

    assert job is not None
    assert (job.phase, job.running_ms(9000)) == (JobPhase.FAILED, 3000)


def test_what_a_job_went_through_is_kept_as_it_is(tmp_path: Path) -> None:
    added = JobStore(tmp_path, lambda: 9.0).add(running(2).body, None)
    assert added is not None
    JobStore(tmp_path, lambda: 9.0).change(added.job_id, lambda job: again(job.to_running(1, ("a", "b")), NODE, 5000))

    (job,) = JobStore(tmp_path, lambda: 9.0).all()

    assert [attempt.trouble for attempt in job.attempts] == [FaultScenario.NODE, None]
    assert job == again(replace(added, phase=JobPhase.CREATING).to_running(1, ("a", "b")), NODE, 5000)

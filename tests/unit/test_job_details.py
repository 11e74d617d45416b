"""What is concluded from what the platform says about a job."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from aisbench_core.base.errors import CloudRejected
from aisbench_core.base.messages import in_chinese, make_bilingual, make_verbatim
from aisbench_core.base.messages.stored import from_json, to_json
from aisbench_core.cloud.modelarts_v2 import detail_replies, replies
from aisbench_core.cloud.ports import TrainingService
from aisbench_core.domain.results.job_events import alert_message, cloud_events, describe_interruption, sort_events
from aisbench_core.model import (
    AlertKind,
    DiagnosedFault,
    Event,
    EventKind,
    EventLanguage,
    JobDetails,
    JobDiagnosis,
    JobEvent,
    JobFault,
    JobStage,
    JobStatus,
    JobTask,
    Level,
    Phase,
    QueuePosition,
    RunAttempt,
    StageStep,
)
from aisbench_core.running.job_watch import JobWatch, read_details
from aisbench_core.store.run_folders.run_paths import RunFolder

AT = datetime(2026, 11, 24, 12, tzinfo=UTC)
HANG = "The job is suspected to be suspended. Go to the job details page to check and handle it."


def after(seconds: float) -> datetime:
    return AT + timedelta(seconds=seconds)


def event(seconds: float, message: str, kind: EventKind = EventKind.OTHER, chinese: str = "") -> JobEvent:
    return JobEvent(after(seconds), "Warning", message, "Job", kind, chinese)


RUNNING = RunAttempt(1, AT)
BROKEN = RunAttempt(
    1,
    AT,
    after(60),
    JobFault.NODE,
    "the node is faulty",
    "worker-1",
    "job_reschedule",
    (JobTask("worker-1", "", "h7"),),
)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (HANG, EventKind.HANG),
        ("系统检测到您的作业疑似卡死，请及时前往作业详情界面查看并处理", EventKind.HANG),
        ("Training job is preempted.", EventKind.PREEMPTED),
        ("Training job is running.", EventKind.OTHER),
        ("[worker-0] hangman.py downloaded", EventKind.OTHER),
    ],
)
def test_an_event_of_a_job_is_recognised_in_both_languages(message: str, kind: EventKind) -> None:
    reply = {"time": "2026-11-24T20:00:00+08:00", "level": "Warning", "source": "Job", "message": message}

    assert detail_replies.job_event(reply).kind is kind
    assert detail_replies.job_event({**reply, "source": "Task"}).kind is EventKind.OTHER


def test_the_attempts_are_read_from_the_documents_example() -> None:
    records = [
        {"start_at": 1764000060, "end_at": 1764000200, "start_type": "init_or_rescheduled",
         "end_reason": "exit with 137", "end_related_task": "worker-1", "end_recover": "job_reschedule",
         "end_recover_before_downgrade": "npu_proc_restart"},
        {"start_at": 1764000260, "end_at": 1764000370, "start_type": "init_or_rescheduled",
         "end_reason": "exit with 137", "end_related_task": "worker-1"},
    ]  # fmt: skip
    job = {"metadata": {"id": "j", "name": "n"}, "status": {"phase": "Failed", "running_records": records}}

    first, last = replies.job_status(job).attempts

    assert (first.number, first.reason, first.task, first.recovery) == (
        1,
        "exit with 137",
        "worker-1",
        "job_reschedule",
    )
    assert (last.started_at - first.started_at, last.recovery) == (timedelta(seconds=200), "")


@pytest.mark.parametrize("records", [[{"start_at": "2026-11-24T12:00:00Z"}], [{"start_at": 1764000060000000}], [{}]])
def test_records_of_another_form_do_not_hide_the_state_of_a_job(records: object) -> None:
    job = {"metadata": {"id": "j", "name": "n"}, "status": {"phase": "Running", "running_records": records}}

    status = replies.job_status(job)

    assert (status.phase, status.attempts) == ("Running", ())


@pytest.mark.parametrize(("result", "recovery"), [("recovering", "job_reschedule"), ("quotaExceeded", "")])
def test_a_recovery_that_was_given_up_is_none(result: str, recovery: str) -> None:
    recover = {
        "fault_scenario": "chip_fault",
        "reason": "HBM error",
        "recover": "job_reschedule",
        "recover_result": result,
    }
    record = {"start_at": 1, "end_at": 2, "end_recover": "job_reschedule", "recover_records": [recover]}
    job = {"metadata": {"id": "j", "name": "n"}, "status": {"running_records": [record]}}

    (attempt,) = replies.job_status(job).attempts

    assert (attempt.fault, attempt.reason, attempt.recovery) == (JobFault.CARD, "HBM error", recovery)


def test_nothing_is_alarming_about_a_job_that_runs() -> None:
    details = JobDetails((event(1, "Training job is running."),), attempts=(RUNNING,))

    assert details.alert(ended=False, failed=False) is None
    assert JobDetails().alert(ended=False, failed=False) is None


def test_a_suspected_hang_alarms_until_the_job_goes_on_or_ends() -> None:
    hangs = JobDetails((event(30, HANG, EventKind.HANG),), attempts=(RUNNING,))
    goes_on = JobDetails((*hangs.events, event(40, "[worker-0] Uploading training output.")), attempts=(RUNNING,))

    alert = hangs.alert(ended=False, failed=False)

    assert alert is not None
    assert (alert.kind, alert.at) == (AlertKind.HANG, after(30))
    assert goes_on.alert(ended=False, failed=False) is None
    assert hangs.alert(ended=True, failed=True) is None


def test_a_fault_alarms_while_the_job_waits_for_its_restart_and_afterwards() -> None:
    again = RunAttempt(2, after(90))
    waits, runs = JobDetails(attempts=(BROKEN,)), JobDetails(attempts=(BROKEN, again))

    waiting, running = (details.alert(ended=False, failed=False) for details in (waits, runs))

    assert waiting is not None
    assert running is not None
    assert alert_message(waiting) == (
        "Attempt 1 ended: a node failed: the node is faulty (worker-1 on h7). The platform restarts the job."
    )
    assert running.kind is AlertKind.RESTARTED
    assert in_chinese(alert_message(running)).startswith("作业已重启，当前为第 2 次执行。")
    assert (waits.restarts, runs.restarts) == (0, 1)


def test_the_last_attempt_of_a_failed_run_tells_why_it_ended() -> None:
    attempt = RunAttempt(1, AT, after(9), reason="exit with 1", task="worker-0")

    alert = JobDetails(attempts=(attempt,)).alert(ended=True, failed=True)

    assert alert is not None
    assert (alert.kind, describe_interruption(attempt)) == (AlertKind.ENDED, "exit with 1 (worker-0)")
    assert JobDetails(attempts=(attempt,)).alert(ended=True, failed=False) is None
    assert describe_interruption(RunAttempt(1, AT, after(9))) == "no reason given"


def test_the_timeline_has_each_thing_once_in_both_languages() -> None:
    queued = event(0, "Training job is queued.", chinese="训练作业已排队")
    steps = (StageStep(AT, "Training job is queued."), StageStep(after(1), "Insufficient resources.", "资源不足"))
    stage = JobStage(1, "scheduling", "Scheduling", "调度", AT, None, steps)

    events = cloud_events("r1", JobDetails((queued,), (stage,), queue=(QueuePosition(after(2), 2, 3),)))

    assert [(row.message, row.level, row.source) for row in events] == [
        ("Training job is queued.", Level.WARNING, "cloud"),
        ("Insufficient resources.", Level.INFO, "cloud"),
        ("place 2 of 3 in the queue of the pool", Level.INFO, "cloud"),
    ]
    assert [in_chinese(row.message) for row in events] == [
        "训练作业已排队",
        "资源不足",
        "在资源池队列中排第 2 位，共 3 个作业",
    ]


def test_in_its_second_an_event_of_the_platform_comes_after_ours() -> None:
    created = Event("r1", AT, "cloud", Level.INFO, "created")
    submitting = Event("r1", AT + timedelta(milliseconds=300), "follower", Level.INFO, "submitting")
    later = Event("r1", AT + timedelta(seconds=1), "follower", Level.INFO, "queued")

    assert [row.message for row in sort_events([created, later, submitting])] == ["submitting", "created", "queued"]


def test_a_text_in_two_languages_is_stored_with_both() -> None:
    message = make_bilingual("[worker-0] {a}", "[worker-0] 一")

    stored = to_json(message)

    assert in_chinese(from_json(str(message), stored)) == "[worker-0] 一"
    assert from_json("edited", stored) == "edited"
    assert in_chinese(from_json("x", to_json(make_bilingual("x", "很" * 100)))) == "x"
    assert in_chinese(make_bilingual("only English", "")) == "only English"


class Cloud:
    """The calls of a TrainingService that a watch makes; its region takes no time to list events from."""

    def __init__(self, *events: JobEvent, refuses_times: bool) -> None:
        self.listed = list(events)
        self.refuses_times = refuses_times
        self.diagnosed: JobDiagnosis | None = None

    def diagnosis(self, job_id: str) -> JobDiagnosis | None:
        return self.diagnosed if job_id else None

    def events(
        self, job_id: str, since: datetime | None = None, language: EventLanguage = EventLanguage.ENGLISH
    ) -> list[JobEvent]:
        if since and self.refuses_times:
            raise CloudRejected(make_verbatim("no such parameter"), operation=f"read the events of job {job_id}")
        if language is EventLanguage.ENGLISH:
            return self.listed
        return [replace(one, message="系统检测到您的作业疑似卡死", kind=EventKind.HANG) for one in self.listed]

    def tasks(self, job_id: str, attempt: int = 0) -> list[JobTask]:
        return [JobTask(f"worker-{node}", "", f"{job_id}-{attempt}-{node}") for node in range(2)]

    def stages(self, job_id: str) -> list[JobStage]:
        raise CloudRejected(make_verbatim("no such call"), operation=f"read the stages of job {job_id}")


@pytest.mark.parametrize("refuses_times", [True, False])
def test_a_region_that_lists_all_events_each_time_gives_each_of_them_once(tmp_path: Path, refuses_times: bool) -> None:
    first, second = event(0, "Training job is created."), event(300, "Job event 17.")
    cloud = Cloud(first, refuses_times=refuses_times)
    folder = RunFolder(tmp_path)
    watch = JobWatch(cast("TrainingService", cloud), folder, "", (), lambda: None, AT)
    status = JobStatus("j", "n", "Running")

    watch.poll(status)
    cloud.listed.append(second)
    watch.poll(status)
    again = watch.poll(status)

    assert [one.message for one in again.events] == [first.message, second.message]
    assert again.events[-1].kind is EventKind.HANG, "recognised by its Chinese sentence"
    assert read_details(folder) == again


BEGIN = "[ModelArts Service Log][init] download code_url: s3://b/code/"
FIRST = [BEGIN, "step 1", "[ModelArts Service Log][end] exit code 137"]


def polled(folder: RunFolder, lines: list[str], *attempts: RunAttempt) -> list[tuple[str, ...]]:
    """The last words of each attempt after a poll in which node 1 has this log."""
    folder.log(1).parent.mkdir(exist_ok=True)
    folder.log(1).write_text("\n".join(lines), "utf-8")
    cloud = cast("TrainingService", Cloud(refuses_times=False))
    details = JobWatch(cloud, folder, "", (), lambda: None, AT).poll(JobStatus("j", "n", "Running", attempts=attempts))
    return [attempt.last_words for attempt in details.attempts]


def test_the_last_words_are_those_of_the_attempt_and_come_late_if_the_log_does(tmp_path: Path) -> None:
    folder, broken, again = RunFolder(tmp_path), replace(BROKEN, tasks=()), RunAttempt(2, after(90))

    assert polled(folder, FIRST, broken) == [("step 1",)]
    assert polled(folder, [*FIRST[:2], "HCCL timeout", FIRST[2]], broken) == [("step 1", "HCCL timeout")]
    assert polled(folder, [*FIRST, BEGIN, "step 8"], broken, again) == [("step 1", "HCCL timeout"), ()]
    longer = [*FIRST[:2], "HCCL timeout", "exit", FIRST[2], BEGIN, "step 8"]
    assert polled(folder, longer, broken, again) == [("step 1", "HCCL timeout", "exit"), ()]
    assert [task.host for task in read_details(folder).attempts[1].tasks] == ["j-2-0", "j-2-1"]


def test_a_log_that_does_not_show_where_an_attempt_ends_gives_no_words(tmp_path: Path) -> None:
    broken, again = replace(BROKEN, tasks=()), RunAttempt(2, after(90))

    assert polled(RunFolder(tmp_path), ["step 8 of the next attempt"], broken, again) == [(), ()]


DIAGNOSIS = {
    "status": "Completed",
    "level": "Fatal",
    "conclusions": [
        {
            "conclusion": {"code": "F1", "class": "hardware", "empty": "", "steps": ["one", "二"]},
            "sources": [{"worker": "worker-3", "line": 7}, {}],
        },
        {"conclusion": None, "sources": None},
    ],
}


def test_a_diagnosis_keeps_what_the_platform_says_by_its_own_names() -> None:
    found = detail_replies.job_diagnosis(DIAGNOSIS)

    facts = (("class", "hardware"), ("steps", '["one", "二"]'))
    assert found == JobDiagnosis(
        True, "Fatal", (DiagnosedFault("F1", facts, ("worker: worker-3, line: 7",)), DiagnosedFault(""))
    )
    assert detail_replies.job_diagnosis({"status": "Running"}) == JobDiagnosis(False)


@pytest.mark.parametrize(
    ("phase", "kept"), [("Failed", True), ("Abnormal", True), ("Completed", False), ("Terminated", False)]
)
def test_the_diagnosis_of_a_failed_job_is_kept_without_secrets(tmp_path: Path, phase: str, kept: bool) -> None:
    folder, cloud = RunFolder(tmp_path), Cloud(refuses_times=False)
    cloud.diagnosed = JobDiagnosis(True, "Error", (DiagnosedFault("F1", (("hint", "key s3cr3t!"),), ("at s3cr3t!",)),))
    watch = JobWatch(cast("TrainingService", cloud), folder, "", ("s3cr3t!",), lambda: None, AT)

    found = watch.complete(JobStatus("j", "n", Phase(phase))).diagnosis
    cloud.diagnosed = None
    again = watch.complete(JobStatus("j", "n", Phase(phase))).diagnosis

    assert (found is not None) is kept
    assert "s3cr3t!" not in repr(read_details(folder))
    assert again == found, "what the platform has forgotten stays"

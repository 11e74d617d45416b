"""What the sandbox tells about a job: lines of its log, its events as they are asked for, its tasks."""

import json
import urllib.request
from typing import Any

import pytest
from huaweicloudsdkcore.exceptions.exceptions import ClientRequestException
from huaweicloudsdkmodelarts.v1 import (
    JobSearches,
    ListTrainingJobEventsRequest,
    ListTrainingJobsRequest,
    ListTrainingJobTasksRequest,
    ShowTrainingJobLogsFromAomRequest,
)

from tests.sandbox_process import SandboxProcess
from tests.signed_requests import SignedRequests
from tests.training_client import TrainingClient, job_body


@pytest.fixture
def client(sandbox: SandboxProcess) -> TrainingClient:
    client = TrainingClient(sandbox)
    client.put("code/train.py", "print('hello')")
    return client


@pytest.fixture
def running(client: TrainingClient, sandbox: SandboxProcess) -> str:
    """A job that runs on two nodes and has printed 100 lines after the platform's own."""
    sandbox.script(by="hold", log="".join(f"line {number}\n" for number in range(2, 102)))
    job_id = client.create(job_body(nodes=2)).metadata.id
    client.show(job_id)
    return str(job_id)


def lines(client: TrainingClient, job_id: str, **asked: Any) -> Any:
    request = ShowTrainingJobLogsFromAomRequest(training_job_id=job_id, task_id="worker-0", **asked)
    return client.sdk.show_training_job_logs_from_aom(request)


def test_a_log_is_read_line_by_line_from_its_end(client: TrainingClient, running: str) -> None:
    newest = lines(client, running, lines=3)
    before = lines(client, running, lines=2, base_line=newest.end_line)

    assert newest.content.splitlines() == ["line 101", "line 100", "line 99"]
    assert (newest.start_line, newest.end_line, newest.lines) == ("101", "99", 3)
    assert before.content.splitlines() == ["line 98", "line 97"]
    assert lines(client, running).lines == 50


def test_a_log_is_followed_from_the_line_that_was_read_last(client: TrainingClient, running: str) -> None:
    first = lines(client, running, lines=2, order="asc")
    rest = lines(client, running, lines=500, order="asc", base_line=first.end_line)

    assert "AISBench sandbox" in first.content
    assert (rest.lines, rest.content.splitlines()[0], rest.content.splitlines()[-1]) == (99, "line 3", "line 101")
    assert lines(client, running, order="asc", base_line=rest.end_line).lines == 0


@pytest.mark.parametrize("asked", [{"lines": 0}, {"lines": 501}, {"order": "up"}, {"base_line": "end"}])
def test_lines_that_cannot_be_are_refused(client: TrainingClient, running: str, asked: dict[str, Any]) -> None:
    with pytest.raises(ClientRequestException) as refused:
        lines(client, running, **asked)

    assert (refused.value.status_code, refused.value.error_code) == (400, "ModelArts.2764")


def messages(client: TrainingClient, job_id: str, **asked: Any) -> list[str]:
    request = ListTrainingJobEventsRequest(training_job_id=job_id, x_language="en-us", order="asc", **asked)
    return [event.message for event in client.sdk.list_training_job_events(request).events]


def test_events_are_chosen_by_level_text_and_time(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.script(exit_code=3)
    job_id = client.create(job_body()).metadata.id
    job = client.wait(job_id)
    began = job.status.start_time

    every = messages(client, job_id)
    assert messages(client, job_id, level="Error") == ["Training job failed."]
    assert messages(client, job_id, pattern="is running") == ["Training job is running."]
    assert messages(client, job_id, start_time=str(began), end_time=str(began + 10**9))[-1] == every[-1]
    assert messages(client, job_id, start_time="0", end_time=str(began - 10**6)) == []


@pytest.mark.parametrize(
    "asked", [{"level": "Loud"}, {"start_time": "1"}, {"end_time": "1"}, {"pattern": "p" * 257}, {"limit": 101}]
)
def test_events_that_cannot_be_are_refused(client: TrainingClient, running: str, asked: dict[str, Any]) -> None:
    with pytest.raises(ClientRequestException) as refused:
        messages(client, running, **asked)

    assert (refused.value.status_code, refused.value.error_code) == (400, "ModelArts.2764")


def test_events_name_their_source_and_can_be_chosen_by_it(sandbox: SandboxProcess, running: str) -> None:
    asked = SignedRequests(sandbox)

    jobs = asked.json("GET", f"training-jobs/{running}/events?source=Job")
    tasks = asked.json("GET", f"training-jobs/{running}/events?source=Task")

    assert jobs["total"] > 0
    assert {event["source"] for event in jobs["events"]} == {"Job"}
    assert tasks["total"] == 0


def test_offsets_count_entries_or_pages_as_the_documents_are_read(
    client: TrainingClient, sandbox: SandboxProcess
) -> None:
    sandbox.script(by="at_once")
    ids = [str(client.create(job_body(f"job-{number}")).metadata.id) for number in range(5)]
    client.show(ids[0])
    every = messages(client, ids[0])

    def names(**asked: int) -> list[str]:
        reply = client.sdk.list_training_jobs(ListTrainingJobsRequest(body=JobSearches(order="asc", **asked)))
        return [job.metadata.name for job in reply.items]

    assert names(offset=1, limit=2) == ["job-1", "job-2"]
    assert messages(client, ids[0], offset=1, limit=2) == every[1:3]
    sandbox.admin("PUT", "readings", {"offset": "pages"})
    assert names(offset=1, limit=2) == ["job-2", "job-3"]
    assert messages(client, ids[0], offset=1, limit=2) == every[2:4]


def test_tasks_tell_their_addresses_once_they_are_placed(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.script(by="time", seconds_per_phase=3600)
    waiting = client.create(job_body("waiting")).metadata.id
    sandbox.script(by="hold")
    started = client.create(job_body("started", nodes=2)).metadata.id
    client.show(started)

    def tasks(job_id: str, **asked: int) -> list[tuple[str, bool, int]]:
        reply = client.sdk.list_training_job_tasks(ListTrainingJobTasksRequest(training_job_id=job_id, **asked))
        return [(task.task, bool(task.ip and task.host_ip), task.schedule_count) for task in reply.body or ()]

    assert tasks(waiting)[0][:2] == ("worker-0", False)
    assert tasks(started) == [("worker-0", True, 1), ("worker-1", True, 1)]
    assert tasks(started, schedule_count=2) == []


def test_a_log_link_is_shown_or_saved_as_its_header_says(sandbox: SandboxProcess, running: str) -> None:
    asked = SignedRequests(sandbox)
    address = f"training-jobs/{running}/tasks/worker-0/logs/url"
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    shown = json.loads(asked.send("GET", address, headers={"Content-Type": "text/plain"}).content)["obs_url"]
    saved = json.loads(asked.send("GET", address, headers={"Content-Type": "application/octet-stream"}).content)

    with direct.open(shown, timeout=30) as reply:
        assert reply.headers.get("Content-Disposition") is None
        content = reply.read()
    with direct.open(saved["obs_url"], timeout=30) as reply:
        assert reply.headers["Content-Disposition"].startswith("attachment")
        assert reply.read() == content

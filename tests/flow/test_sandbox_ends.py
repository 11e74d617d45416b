"""How really running jobs end, wait and survive; and that no process is left behind."""

from collections.abc import Iterator

import pytest

from tests.sandbox_process import SandboxProcess, processes_of, ranks_of
from tests.training_client import TrainingClient, await_true, job_body

FOREVER = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("started", flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def small_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    """It runs two cards at once, and is impatient."""
    process = SandboxProcess.start(tmp_path_factory.mktemp("small"), "subprocess", ("--cards", "2", "--grace", "1"))
    yield process
    process.stop()


@pytest.fixture
def client(small_sandbox: SandboxProcess) -> Iterator[TrainingClient]:
    small_sandbox.reset()
    yield TrainingClient(small_sandbox)
    small_sandbox.reset()


def test_a_failing_rank_fails_the_job_with_its_code_and_ends_the_others(client: TrainingClient) -> None:
    client.put("code/train.py", "import os, sys, time\nif os.environ['RANK_ID'] == '1':\n    sys.exit(7)\n" + FOREVER)

    job = client.wait(client.create(job_body(nodes=2)).metadata.id)

    (end,) = job.status.task_statuses
    assert (job.status.phase, end.task, end.exit_code) == ("Failed", "worker-1", 7)
    assert end.message == "rank 1 exited with code 7"
    assert processes_of(job.metadata.id) == []


def test_a_process_that_is_killed_counts_as_128_plus_the_signal(client: TrainingClient) -> None:
    client.put("code/train.py", "import os\nos.kill(os.getpid(), 9)\n")

    job = client.wait(client.create(job_body()).metadata.id)

    assert (job.status.phase, job.status.task_statuses[0].exit_code) == ("Failed", 137)


def test_stop_ends_all_processes_even_those_that_were_started_by_them(client: TrainingClient) -> None:
    client.put("code/train.py", FOREVER)
    job_id = client.create(job_body(flavor="sandbox.cpu.2cards")).metadata.id
    await_true(lambda: client.log(job_id).count("started") == 2, "both ranks at work")
    assert len(processes_of(job_id)) >= 4  # in containers there are helpers beside them

    client.stop(job_id)

    assert client.wait(job_id).status.phase == "Terminated"
    assert processes_of(job_id) == []


def test_a_process_that_ignores_the_request_to_end_is_killed(client: TrainingClient) -> None:
    client.put("code/train.py", "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + FOREVER)
    job_id = client.create(job_body()).metadata.id
    await_true(lambda: "started" in client.log(job_id), "the rank at work")

    client.stop(job_id)

    assert client.wait(job_id).status.phase == "Terminated"
    assert processes_of(job_id) == []


def test_jobs_beyond_the_capacity_wait_in_their_order(client: TrainingClient) -> None:
    client.put("code/train.py", "import time\ntime.sleep(600)\n")
    first = client.create(job_body("first", flavor="sandbox.cpu.2cards")).metadata.id
    second = client.create(job_body("second", flavor="sandbox.cpu.2cards")).metadata.id
    third = client.create(job_body("third")).metadata.id
    await_true(lambda: client.phase(first) == "Running", "the first job at work")
    assert [client.phase(second), client.phase(third)] == ["Pending", "Pending"]

    client.stop(first)

    await_true(lambda: client.phase(second) == "Running", "the second job at work")
    assert client.phase(third) == "Pending"
    client.delete(second)
    await_true(lambda: client.phase(third) == "Running", "the third job at work")
    assert processes_of(second) == []


def test_a_queued_job_can_be_stopped(client: TrainingClient) -> None:
    client.put("code/train.py", "import time\ntime.sleep(600)\n")
    client.create(job_body("first", flavor="sandbox.cpu.2cards"))
    second = client.create(job_body("second")).metadata.id

    client.stop(second)

    assert client.phase(second) == "Terminated"


def test_a_job_that_never_fits_is_refused_at_once(client: TrainingClient) -> None:
    client.put("code/train.py", "")

    with pytest.raises(Exception, match=r"ModelArts.2815.*needs 4 cards and this sandbox runs at most 2"):
        client.create(job_body(flavor="sandbox.cpu.4cards"))


def test_after_kill_9_no_process_lives_on_and_the_restart_tells_what_happened(
    client: TrainingClient, small_sandbox: SandboxProcess
) -> None:
    client.put("quick/train.py", "")
    client.put("code/train.py", FOREVER)
    done = client.wait(client.create(job_body("done", code="quick/")).metadata.id).metadata.id
    running = client.create(job_body("running", flavor="sandbox.cpu.2cards")).metadata.id
    queued = client.create(job_body("queued", code="quick/")).metadata.id
    await_true(lambda: client.log(running).count("started") == 2, "both ranks at work")
    assert len(ranks_of(running)) == 2

    small_sandbox.kill()

    await_true(lambda: ranks_of(running) == [], "the end of the ranks, without any help")
    small_sandbox.resume()
    assert processes_of(running) == []
    lost = client.show(running)
    assert lost.status.phase == "Failed"
    assert lost.status.task_statuses[0].message == "the sandbox stopped while the job was running"
    assert client.phase(done) == "Completed"
    assert client.wait(queued).status.phase == "Completed"


def test_ctrl_c_ends_jobs_and_returns_0(client: TrainingClient, small_sandbox: SandboxProcess) -> None:
    client.put("code/train.py", FOREVER)
    job_id = client.create(job_body()).metadata.id
    await_true(lambda: "started" in client.log(job_id), "the rank at work")

    code = small_sandbox.stop()

    assert code == 0
    assert processes_of(job_id) == []
    small_sandbox.resume()
    assert client.phase(job_id) == "Failed"

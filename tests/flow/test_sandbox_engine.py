"""Jobs really run: what their processes find, what they print and write, what is measured and told."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from huaweicloudsdkmodelarts.v1 import (
    ListTrainingJobEventsRequest,
    ShowTrainingJobMetricsRequest,
)

from tests.sandbox_process import SandboxProcess
from tests.training_client import ENGINE, TrainingClient, await_true, channel, job_body

REPORT = """
import json, os, sys
rank = os.environ["RANK_ID"]
arguments = dict(argument[2:].split("=", 1) for argument in sys.argv[1:])
facts = {
    "arguments": arguments,
    "environment": dict(os.environ),
    "cwd": os.getcwd(),
    "code": sorted(os.listdir(os.path.dirname(os.path.abspath(__file__)))),
    "input": open(os.path.join(arguments["data_url"], "train", "a.txt")).read(),
    "table": json.load(open(os.environ["RANK_TABLE_FILE"])),
}
print(f"rank {rank} says hello")
print(f"rank {rank} complains", file=sys.stderr)
with open(os.path.join(arguments["train_url"], f"facts_{rank}.json"), "w") as file:
    json.dump(facts, file)
with open(os.path.join(os.environ["extra"], f"extra_{rank}.txt"), "w") as file:
    file.write("extra")
"""


@pytest.fixture
def client(real_sandbox: SandboxProcess) -> Iterator[TrainingClient]:
    real_sandbox.reset()
    yield TrainingClient(real_sandbox)
    real_sandbox.reset()


def test_the_boot_file_runs_once_per_card_on_every_node_with_what_the_container_has(client: TrainingClient) -> None:
    client.put("code/train.py", REPORT)
    client.put("code/lib/helper.py", "")
    client.put("data/train/a.txt", "an input")
    outputs = [channel("train_url", "/sandbox-bench/out/"), channel("extra", "/sandbox-bench/more/", "env")]
    inputs = [channel("data_url", "/sandbox-bench/data/")]
    body = job_body(
        nodes=2, flavor="sandbox.cpu.2cards", inputs=inputs, outputs=outputs,
        parameters=[("epochs", "3"), ("title", "two words; $HOME")], environments={"MY_OWN": "yes", "PATH": "ignored"},
    )  # fmt: skip

    job = client.wait(client.create(body).metadata.id)

    assert job.status.phase == "Completed", client.log(job.metadata.id)
    assert client.keys("out/") == [f"out/facts_{rank}.json" for rank in range(4)]
    assert client.keys("more/") == [f"more/extra_{rank}.txt" for rank in range(4)]
    for rank in range(4):
        node, device = divmod(rank, 2)
        facts = json.loads(client.get(f"out/facts_{rank}.json") or "")
        environment = facts["environment"]
        assert facts["arguments"]["epochs"] == "3"
        assert facts["arguments"]["title"] == "two words; $HOME"
        assert facts["input"] == "an input"
        assert facts["code"] == ["lib", "train.py"]
        assert facts["cwd"].endswith(f"/ma-user/modelarts/workspace/device{device}")
        assert facts["arguments"]["train_url"].endswith("/ma-user/modelarts/outputs/train_url_0")
        assert environment["extra"].endswith("/ma-user/modelarts/outputs/extra_1")
        expected = {
            "RANK_ID": str(rank), "RANK_SIZE": "4", "DEVICE_ID": str(device), "ASCEND_DEVICE_ID": str(device),
            "VC_TASK_INDEX": str(node), "VC_WORKER_NUM": "2", "MA_NUM_HOSTS": "2", "MA_NUM_GPUS": "2",
            "JOB_ID": job.metadata.id, "MA_TASK_NAME": "worker", "MY_OWN": "yes", "PYTHONUNBUFFERED": "1",
            "WORKSPACE": f"{environment['MA_JOB_DIR']}/code", "HOME": environment["MA_HOME"],
        }  # fmt: skip
        assert {name: environment.get(name) for name in expected} == expected
        assert len(environment["VC_WORKER_HOSTS"].split(",")) == 2
        servers = facts["table"]["server_list"]
        ranks = [device["rank_id"] for server in servers for device in server["device"]]
        assert (facts["table"]["status"], facts["table"]["server_count"]) == ("completed", "2")
        assert ranks == ["0", "1", "2", "3"]


def test_a_job_sees_nothing_of_the_sandboxs_own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AISBENCH_SK", "HUAWEICLOUD_SDK_SK", "PYTHONPATH", "SOMETHING_ELSE"):
        monkeypatch.setenv(name, str(tmp_path))
    sandbox = SandboxProcess.start(tmp_path / "sandbox", "subprocess")
    client = TrainingClient(sandbox)
    client.put("code/train.py", "import os\nfor name, value in os.environ.items():\n    print('has', name, value)\n")

    job = client.wait(client.create(job_body()).metadata.id)

    log = client.log(job.metadata.id)
    sandbox.stop()
    assert "has MA_JOB_DIR" in log
    for name in ("AISBENCH_SK", "HUAWEICLOUD_SDK_SK", "SOMETHING_ELSE"):
        assert f"has {name}" not in log
    assert f"has PYTHONPATH {tmp_path}\n" not in log, "the job's own begins with its directory"


def test_each_nodes_log_holds_both_streams_of_its_processes_and_the_platforms_lines(client: TrainingClient) -> None:
    client.put("code/train.py", REPORT)
    client.put("data/train/a.txt", "an input")
    outputs = [channel("train_url", "/sandbox-bench/out/"), channel("extra", "/sandbox-bench/more/", "env")]
    inputs = [channel("data_url", "/sandbox-bench/data/")]
    body = job_body(nodes=2, flavor="sandbox.cpu.2cards", inputs=inputs, outputs=outputs)

    job = client.wait(client.create(body).metadata.id)

    job_id = job.metadata.id
    second = client.log(job_id, 1)
    for rank in (2, 3):
        assert f"rank {rank} says hello" in second
        assert f"rank {rank} complains" in second
    assert "rank 0" not in second
    assert second.startswith("[ModelArts Service Log][init]")
    assert second.rstrip().endswith("[end] exit code 0")
    assert "rank 3 says hello" in (client.get(f"log/modelarts-job-{job_id}-proc-rank-3-device-1.txt") or "")


def test_the_log_grows_in_obs_while_the_job_runs_and_bytes_that_are_no_text_do_not_break_it(
    client: TrainingClient,
) -> None:
    client.put("code/train.py", "import os, time\nos.write(1, b'caf\\xe9 \\xe4\\xb8\\xad\\n')\ntime.sleep(600)\n")
    job_id = client.create(job_body()).metadata.id

    await_true(lambda: "caf\N{REPLACEMENT CHARACTER} 中" in client.log(job_id), "the log in OBS")

    assert client.phase(job_id) == "Running"


def test_outputs_are_in_obs_while_the_job_still_runs(client: TrainingClient) -> None:
    boot = "import os, sys, time\nopen(sys.argv[1].split('=')[1] + '/half.txt', 'w').write('half')\ntime.sleep(600)\n"
    client.put("code/train.py", boot)
    job_id = client.create(job_body()).metadata.id

    await_true(lambda: client.get("out/half.txt") == "half", "the output in OBS")

    assert client.phase(job_id) == "Running"


ODD_OUTPUTS = """
import os, sys
out = sys.argv[1].partition("=")[2]
os.mkfifo(out + "/fifo")
os.symlink("/etc/passwd", out + "/leak")
os.symlink(out + "/zzz.ckpt", out + "/latest.ckpt")
open(os.path.join(os.fsencode(out), b"half \\xff"), "w").write("1")
open(out + "/zzz.ckpt", "w").write("weights")
"""


PASSING = """
import time, moxing
while not moxing.file.exists("obs://sandbox-bench/out/go"):
    time.sleep(0.2)
os.unlink(os.path.join(os.fsencode(out), b"half \\xff"))
"""


def test_an_output_that_obs_cannot_store_fails_the_job_after_all_others_were_stored(client: TrainingClient) -> None:
    client.put("code/train.py", ODD_OUTPUTS)

    job = client.wait(client.create(job_body()).metadata.id)

    (end,) = job.status.task_statuses
    assert (job.status.phase, end.message) == (
        "Failed",
        r"cannot upload: 'half \udcff': A key is text that UTF-8 can say.",
    )
    assert client.keys("out/") == ["out/latest.ckpt", "out/zzz.ckpt"]
    assert client.get("out/latest.ckpt") == "weights"
    lines = client.log(job.metadata.id).splitlines()
    assert lines[-2:] == [
        r"[ModelArts Service Log][end] cannot upload train_url: 'half \udcff': A key is text that UTF-8 can say.",
        "[ModelArts Service Log][end] exit code 0",
    ]


def test_an_output_that_cannot_be_stored_for_a_while_fails_nothing(client: TrainingClient) -> None:
    client.put("code/train.py", ODD_OUTPUTS + PASSING)
    job_id = client.create(job_body()).metadata.id
    await_true(lambda: "[output] train_url: not uploaded yet: " in client.log(job_id), "the trouble in the log")

    client.put("out/go", "")

    assert client.wait(job_id).status.phase == "Completed"
    assert client.log(job_id).count("not uploaded yet") == 1


def test_a_missing_input_fails_the_job_and_says_which(client: TrainingClient) -> None:
    client.put("code/train.py", "print('never')")
    body = job_body(inputs=[channel("data_url", "/sandbox-bench/nowhere/")])

    job = client.wait(client.create(body).metadata.id)

    assert job.status.phase == "Failed"
    assert job.status.task_statuses[0].message == (
        "cannot download /sandbox-bench/nowhere/: nothing is stored under /sandbox-bench/nowhere/"
    )


def test_what_ma_pre_start_exports_reaches_the_boot_file(client: TrainingClient) -> None:
    client.put("code/ma-pre-start.sh", "echo preparing\nexport SINGLESERVER_MODE=True\n")
    client.put("code/train.py", "import os\nprint('mode', os.environ['SINGLESERVER_MODE'])\n")

    job = client.wait(client.create(job_body()).metadata.id)

    log = client.log(job.metadata.id)
    assert job.status.phase == "Completed", log
    assert "preparing" in log
    assert "mode True" in log


def test_a_failing_ma_pre_start_fails_the_job_before_the_boot_file_runs(client: TrainingClient) -> None:
    client.put("code/ma-pre-start.sh", "exit 4\n")
    client.put("code/train.py", "print('never')")

    job = client.wait(client.create(job_body()).metadata.id)

    assert (job.status.phase, job.status.task_statuses[0].exit_code) == ("Failed", 4)
    assert "never" not in client.log(job.metadata.id)


def test_a_short_job_has_a_real_measurement_and_says_what_was_not_measured(client: TrainingClient) -> None:
    client.put("code/train.py", "import time\nend = time.time() + 1.0\nwhile time.time() < end: pass\n")

    job = client.wait(client.create(job_body()).metadata.id)

    request = ShowTrainingJobMetricsRequest(training_job_id=job.metadata.id, task_id="worker-0")
    metrics = {metric.metric: metric.value for metric in client.sdk.show_training_job_metrics(request).metrics}
    assert len(metrics["cpuUsage"]) == 1
    assert 0 < metrics["cpuUsage"][0] <= 100
    assert 0 < metrics["memUsage"][0] < 100
    assert metrics["npuUtil"] == [-1]


def test_the_events_tell_the_story_of_a_job_in_order(client: TrainingClient) -> None:
    client.put("code/train.py", "")

    job = client.wait(client.create(job_body()).metadata.id)

    request = ListTrainingJobEventsRequest(training_job_id=job.metadata.id, order="asc", x_language="en-us")
    messages = [event.message for event in client.sdk.list_training_job_events(request).events]
    assert [message for message in messages if "time used" not in message] == [
        "Training job is created.",
        "Training job is queued and waiting for resource allocation.",
        "Training job is running.",
        f"[Pod: modelarts-job-{job.metadata.id}-worker-0] Pulled: Container image {ENGINE} already present on machine",
        "[worker-0] Downloading training code.",
        "[worker-0] training started.",
        "[worker-0] Training finished. Exit code 0.",
        "[worker-0] Uploading training output.",
        "Training job is completed.",
    ]

"""A job of the older training API (v1) really runs: its arguments, directories, moxing and log names."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from aisbench_sandbox.engine.node.container import Containers, why_no_containers
from tests.legacy_client import LegacyClient
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, await_true

SCRIPT = """
import argparse, json, os
import moxing as mox

parser = argparse.ArgumentParser()
parser.add_argument("--data_url")
parser.add_argument("--train_url")
parser.add_argument("--epochs", type=int)
given = parser.parse_args()
print("given", json.dumps({**vars(given), "folder": os.path.basename(os.path.dirname(os.path.abspath(__file__)))}))
mox.file.copy_parallel(given.data_url, "data")
os.makedirs("result")
with open("data/numbers.txt") as numbers, open("result/sum.txt", "w") as result:
    result.write(str(sum(map(int, numbers))))
mox.file.copy_parallel("result", given.train_url)
"""

SHARE = """
import os, socket, sys
import moxing as mox
with open("/home/work/nas/jobs.txt", "a") as file:
    file.write(socket.gethostname()[-8:] + "\\n")
try:
    open("/mnt/data/no.txt", "w")
except OSError as error:
    print("read only", error.strerror)
"""


def has_ended(client: LegacyClient, made: Mapping[str, Any]) -> bool:
    return client.version(made)["status"] not in (1, 7, 8)


def test_shares_in_both_shapes_are_the_same_directory_for_all_nodes_and_jobs(
    real_sandbox: SandboxProcess, tmp_path: Path
) -> None:
    objects, client = TrainingClient(real_sandbox), LegacyClient(real_sandbox)
    objects.put("shares/code/train.py", SHARE)
    objects.put("shares/data/x", "x")
    share = "10.0.0.1:/share"
    first = [
        {"nfs": {"id": "an-id", "src_path": share, "dest_path": "/home/work/nas"}},
        {"nfs": {"src_path": "10.0.0.1:/data", "dest_path": "/mnt/data", "read_only": True}},
    ]
    nas = {"nas_type": "nfs", "nas_share_addr": share, "nas_mount_path": "/home/work/nas"}
    config = {
        "app_url": "/sandbox-bench/shares/code/",
        "boot_file_url": "/sandbox-bench/shares/code/train.py",
        "data_url": "/sandbox-bench/shares/data/",
    }

    ended = []
    shapes: list[dict[str, Any]] = [{"volumes": first, "worker_server_num": 2}, nas | {"volumes": first[1:]}]
    for number, volumes in enumerate(shapes):
        out = f"/sandbox-bench/shares/V{number}/"
        made = client.create(f"share-{number}", **config, **volumes, train_url=out, log_url=out)
        await_true(partial(has_ended, client, made), "the end of the job")
        name = f"shares/V{number}/{made['resource_id']}-job-share-{number}-0.log"
        ended.append((client.version(made)["status"], objects.get(name) or ""))

    if why_no_containers(Containers.AUTO, tmp_path):
        assert all("needs containers" in log for _, log in ended)
        return
    assert [status for status, _ in ended] == [10, 10], ended
    assert all("read only Read-only file system" in log for _, log in ended)
    (folder,) = (Path(real_sandbox.data_dir) / "shares").glob("*share")
    hosts = (folder / "jobs.txt").read_text().split()
    assert sorted(hosts) == ["worker-0", "worker-0", "worker-1"]


def test_a_job_of_the_older_api_copies_data_and_results_itself_and_logs_under_the_older_names(
    real_sandbox: SandboxProcess,
) -> None:
    objects, client = TrainingClient(real_sandbox), LegacyClient(real_sandbox)
    objects.put("legacy/code/train.py", SCRIPT)
    objects.put("legacy/data/numbers.txt", "1\n2\n39\n")
    made = client.create(
        "legacy-flow",
        app_url="/sandbox-bench/legacy/code/",
        boot_file_url="/sandbox-bench/legacy/code/train.py",
        data_url="/sandbox-bench/legacy/data/",
        train_url="/sandbox-bench/legacy/V1/",
        log_url="/sandbox-bench/legacy/V1/",
    )

    await_true(lambda: client.version(made)["status"] not in (1, 7, 8), "the end of the job")

    log = objects.get(f"legacy/V1/{made['resource_id']}-job-legacy-flow-0.log") or ""
    assert client.version(made)["status"] == 10, log
    assert objects.get("legacy/V1/sum.txt") == "42", log
    (line,) = [line for line in log.splitlines() if "given {" in line]
    assert json.loads(line[line.index("{") :]) == {
        "data_url": "s3://sandbox-bench/legacy/data/",
        "train_url": "s3://sandbox-bench/legacy/V1/",
        "epochs": 3,
        "folder": "code",
    }

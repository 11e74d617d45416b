"""A job of the older training API (v1) really runs: its arguments, directories, moxing and log names."""

import json

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

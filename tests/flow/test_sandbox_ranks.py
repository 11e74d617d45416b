"""What the ranks of a node share, and what each of them finds: one /cache, modules of the job's own, no input."""

from collections.abc import Iterator

import pytest

from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, channel, job_body

COPY = """
import hashlib, os, moxing
from moxing.framework import file
import moxing.framework.file
assert moxing.framework.file is file is moxing.file
source = "obs://sandbox-bench/data"
wanted = hashlib.md5(file.read(f"{source}/large.bin", binary=True)).hexdigest()
folder = os.environ.get("CACHE", "/cache")
for turn in range(6):
    file.copy(f"{source}/large.bin", f"{folder}/one.bin")
    file.copy_parallel(source, f"{folder}/all")
    file.copy(f"{folder}/one.bin", f"{folder}/two.bin")
    for name in ("one.bin", "two.bin", "all/large.bin"):
        with open(f"{folder}/{name}", "rb") as copied:
            assert hashlib.md5(copied.read()).hexdigest() == wanted, (turn, name)
print("copied by rank", os.environ["RANK_ID"])
"""

IMPORT = """
import os, sys
from net.lib import part
print("found", part.ANSWER, os.environ["PYTHONPATH"] == os.environ["MA_JOB_DIR"] + ":/own/modules")
print("input", repr(sys.stdin.read()))
"""


@pytest.fixture
def client(real_sandbox: SandboxProcess) -> Iterator[TrainingClient]:
    real_sandbox.reset()
    yield TrainingClient(real_sandbox)
    real_sandbox.reset()


def test_eight_ranks_copy_to_one_path_and_none_of_them_meets_half_a_file(client: TrainingClient) -> None:
    client.put("data/large.bin", "0123456789abcdef" * (1 << 17))
    client.put("data/small.txt", "small")
    client.put("code/train.py", COPY)

    job = client.wait(client.create(job_body(flavor="modelarts.kat1.8xlarge", outputs=[])).metadata.id, seconds=120)

    log = client.log(job.metadata.id)
    assert job.status.phase == "Completed", log
    assert all(f"copied by rank {rank}" in log for rank in range(8))


def test_modules_are_imported_from_the_jobs_directory_and_the_input_is_at_its_end(client: TrainingClient) -> None:
    client.put("net/lib/part.py", "ANSWER = 42\n")
    client.put("net/train.py", IMPORT)
    outputs = [channel("train_url", "/sandbox-bench/out/")]
    body = job_body(code="net/", outputs=outputs, environments={"PYTHONPATH": "/own/modules"})

    job = client.wait(client.create(body).metadata.id)

    log = client.log(job.metadata.id)
    assert job.status.phase == "Completed", log
    assert "found 42 True" in log
    assert "input ''" in log

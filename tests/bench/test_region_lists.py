"""Lists of a large region: the first page of 10,000 jobs, 200 pools and 1,000,000 keys, beside reading all of them."""

import json
import shutil
import time
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.config.settings import Settings
from aisbench_core.wiring import open_core
from tests import records as a
from tests.bench.figures import put
from tests.browser import grown_warehouses
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, job_body

JOBS, POOLS, FOLDERS, KEYS = 10_000, 200, 1000, 1000
PAGE_OF_POOLS = 20
LATENCY_MS = 20
"""Of each request, about what a region in the same country takes."""
LEAST = 5
"""How many times as long as its first page a whole list takes, at least."""
MOST_MB = 16
PREFIX = "many"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    """A region whose jobs, pools and objects are copies of one."""
    sandbox = SandboxProcess.start(tmp_path_factory.mktemp("large"))
    sandbox.script(by="hold")  # else running jobs would end while they are listed
    client = TrainingClient(sandbox)
    client.put("code/train.py", "")
    job_id = client.create(job_body("first")).metadata.id
    pools = [{"name": f"pool-{number:03}", "flavor": "modelarts.kat1.8xlarge", "nodes": 2} for number in range(POOLS)]
    sandbox.admin("PUT", "capacity", {"pools": pools})
    sandbox.stop()
    _copy_jobs(sandbox.data_dir / "jobs", job_id)
    _fill(sandbox.data_dir / "obs" / sandbox.bucket)
    sandbox.resume()
    sandbox.latency(obs_ms=LATENCY_MS, modelarts_ms=LATENCY_MS)
    yield sandbox
    sandbox.stop()
    shutil.rmtree(sandbox.data_dir, ignore_errors=True)  # a million files need not wait for pytest


def test_first_pages_of_a_large_region_come_soon(large: SandboxProcess, tmp_path: Path) -> None:
    grown_warehouses.add_region(tmp_path, large)
    core = open_core(Settings(data_dir=tmp_path))
    cloud = core.region_files.interactive("sandbox")
    directory = f"/{large.bucket}/{PREFIX}/"
    ids = [pool.pool_id for pool in core.region_resources.pools("sandbox") or ()]
    assert len(ids) == POOLS

    def first_jobs() -> None:
        assert len(core.jobs.active("sandbox")) >= 1

    def all_jobs() -> None:
        found = cloud.training.status([f"{number:036}" for number in range(JOBS)], a.T0 - timedelta(days=9999))
        assert len(found) >= JOBS - 1

    def first_pools() -> None:
        core.region_resources.pools("sandbox")
        assert len(core.region_resources.queues("sandbox", *ids[:PAGE_OF_POOLS])) == PAGE_OF_POOLS

    def all_pools() -> None:
        for pool in core.region_resources.pools("sandbox") or ():
            cloud.training.list_waiting(pool.pool_id)

    def first_keys() -> None:
        assert len(core.region_files.page("sandbox", directory).entries) == 100

    def all_keys() -> None:
        # A tenth of them: the rest takes as long for each.
        seen = 0
        for page in cloud.objects.pages(directory):
            seen += len(page)
            if seen >= FOLDERS * KEYS / 10:
                return
        raise AssertionError(f"only {seen} keys")

    _compare(f"Region, {JOBS:,} jobs: first page", first_jobs, all_jobs)
    _compare(f"Region, {POOLS} pools with their queues: first page", first_pools, all_pools)
    _compare(f"Region, {FOLDERS * KEYS:,} keys under a prefix: first page", first_keys, all_keys, "a tenth of them")


def _compare(figure: str, first: Callable[[], None], whole: Callable[[], None], what: str = "all of them") -> None:
    first()  # opens the connection
    page_s, peak_mb = _measured(first)
    whole_s, _ = _measured(whole)
    beside = f"{what}, one request after the other: {whole_s:.1f} s"
    put(figure, f"{page_s:.2f} s (memory {peak_mb:.1f} MB)", "1 s", beside, whole_s / page_s)
    assert whole_s > LEAST * page_s
    assert peak_mb < MOST_MB


def _measured(work: Callable[[], None]) -> tuple[float, float]:
    """Seconds, and the most memory in MB that Python objects took; each in a run of its own."""
    start = time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return seconds, peak / 1e6


def _copy_jobs(folder: Path, job_id: str) -> None:
    job: dict[str, Any] = json.loads((folder / f"{job_id}.json").read_bytes())
    for number in range(JOBS - 1):
        own = f"{number:036}"
        body = {**job["body"], "metadata": {**job["body"]["metadata"], "name": f"job-{number}"}}
        phase = "Completed" if number % 100 else "Running"
        copy = {**job, "job_id": own, "body": body, "created_at": job["created_at"] - JOBS + number, "phase": phase}
        (folder / f"{own}.json").write_text(json.dumps(copy), "utf-8")


def _fill(bucket: Path) -> None:
    for number in range(FOLDERS):
        folder = bucket / PREFIX / f"{number:04}"
        folder.mkdir(parents=True)
        for key in range(KEYS):
            (folder / f"{key:04}.rec").touch()

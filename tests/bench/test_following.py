"""Following, uploading again and collecting against the naive way, at 20 ms per request, both in the same run."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from aisbench_core.cloud.clouds import Clouds
from aisbench_core.cloud.ports import ObjectStore, TrainingService
from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.workloads import Workload, Workloads
from aisbench_core.domain.results.result_files import collect_result
from aisbench_core.model import Run, RunSpec, RunState, TrainResultInfo
from aisbench_core.running.code import SETTLED_S, read_code, upload_code
from aisbench_core.store.run_folders import run_paths
from tests.bench.test_transfers import RANKS, ROUNDS, naive_client, seconds, store_at
from tests.bench.test_transfers import files as files
from tests.bench.test_transfers import quick as quick
from tests.bench.test_transfers import tell as tell
from tests.flow.following import Bench, bench_on
from tests.sandbox_process import SandboxProcess

LATENCY_MS = 20
JOBS = 200
Tell = Callable[[str, float, float], float]


@pytest.fixture
def following(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Bench]:
    """200 runs whose jobs run, and 20 ms per request."""
    sandbox.script(by="hold", log="step 1\n")
    bench = bench_on(sandbox, tmp_path / "data")
    for _ in range(JOBS):
        bench.launch()
    for _ in range(6):
        bench.tick()
    assert bench.core.ledger.count([RunState.RUNNING]) == JOBS
    sandbox.latency(LATENCY_MS, LATENCY_MS)
    yield bench
    sandbox.latency()


def one_by_one(training: TrainingService, runs: Sequence[Run]) -> None:
    """The naive look: each job by itself."""
    for run in runs:
        training.detail(run.job_id)


def test_looking_at_200_jobs_is_10_times_faster_than_one_by_one(following: Bench, tell: Tell) -> None:
    cloud = Clouds(following.core.settings, following.core.settings.request_seconds)("sandbox")
    runs = following.core.ledger.active()
    ids, since = [run.job_id for run in runs], min(run.created_at for run in runs)
    cloud.training.status(ids, since)  # learns how the region counts its pages

    naive = seconds(lambda: one_by_one(cloud.training, runs))
    ours = min(seconds(lambda: cloud.training.status(ids, since)) for _ in range(ROUNDS))

    assert len(cloud.training.status(ids, since)) == JOBS
    assert tell(f"look at {JOBS} running jobs, vs one by one", naive, ours) >= 10


def test_a_tick_for_200_jobs_with_their_logs_is_5_times_faster_than_one_by_one(following: Bench, tell: Tell) -> None:
    cloud = Clouds(following.core.settings, following.core.settings.request_seconds)("sandbox")
    runs = following.core.ledger.active()

    def naive_tick() -> None:
        one_by_one(cloud.training, runs)
        for run in runs:
            cloud.objects.list(run_paths.log_path(run, cloud.profile))

    naive = seconds(naive_tick)
    ours = min(seconds(following.tick) for _ in range(ROUNDS))

    assert not any(run.is_retrying for run in following.core.ledger.active())
    assert tell(f"a tick for {JOBS} running jobs and their logs", naive, ours) >= 5


def test_a_second_upload_of_unchanged_code_is_10_times_faster(
    sandbox: SandboxProcess, tmp_path: Path, files: list[Path], tell: Tell
) -> None:
    bench = bench_on(sandbox, tmp_path / "data")
    sandbox.latency(LATENCY_MS, LATENCY_MS)
    workload = Workloads(HOME / "workloads").get("pytorch_resnet_cifar")
    spec = RunSpec(workload=workload.name, code_dir=str(files[0].parent))
    objects = bench.objects()

    time.sleep(SETTLED_S)  # code that nobody edits just now
    first = seconds(lambda: sent(objects, spec, workload))
    second = min(seconds(lambda: sent(objects, spec, workload)) for _ in range(ROUNDS))

    assert sent(objects, spec, workload) == 0
    assert tell(f"upload {len(files)} files again, unchanged, vs the first time", first, second) >= 10


def sent(objects: ObjectStore, spec: RunSpec, workload: Workload) -> int:
    """The step of a run: hash the code, and send what is not there yet; how many files were sent."""
    return upload_code(
        objects, read_code(spec, workload), "/sandbox-bench/code/", "/sandbox-bench/files/", lambda _done, _total: None
    )


def test_collecting_512_rank_files_is_20_times_faster_than_one_by_one(quick: str, tmp_path: Path, tell: Tell) -> None:
    store = store_at(quick)
    spec = RunSpec(workload="any", node_count=RANKS // 8, cards_per_node=8)
    names = [f"throughput_{rank}.json" for rank in range(RANKS)]
    numbers = tmp_path / "number"
    numbers.write_text("100.5")
    store.put_many([(f"/bench/collected/{name}", numbers) for name in names], lambda _done, _total: None)
    store.put("/bench/collected/ranksize.json", str(RANKS).encode())
    store.put("/bench/collected/accuracy.json", b"0.76")
    client = naive_client(quick)
    keys = [f"collected/{name}" for name in [*names, "ranksize.json", "accuracy.json"]]

    naive = seconds(lambda: [float(read_alone(client, key)) for key in keys])
    ours = min(
        seconds(lambda: collect_result(store, "/bench/collected/", spec, TrainResultInfo())) for _ in range(ROUNDS)
    )

    found, _ = collect_result(store, "/bench/collected/", spec, TrainResultInfo())
    assert (len(found.rank_results), found.problems) == (RANKS, ())
    assert tell(f"collect {RANKS} rank files, vs one by one", naive, ours) >= 20


def read_alone(client: object, key: str) -> bytes:
    """One object by the SDK, as its manual shows."""
    answer = client.getObject("bench", key, loadStreamInMemory=True)  # type: ignore[attr-defined]  # the SDK has no types
    return bytes(answer.body.buffer)

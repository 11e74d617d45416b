"""What following costs in requests, which clouds bill: counted by the sandbox over an hour of jobs that run."""

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.model import Run, RunState
from aisbench_core.store.run_folders import run_paths
from tests.bench import figures
from tests.flow.following import Bench, bench_on
from tests.sandbox_process import SandboxProcess

POLL_S = 5
MINUTES = 20


def requests_per_hour(sandbox: SandboxProcess, folder: Path, jobs: int, *, prints: bool) -> Counter[str]:
    """By service and kind, of one job. Jobs run, and their logs grow every minute, or never."""
    sandbox.reset()
    sandbox.script(by="hold", log="step 1\n")
    bench = bench_on(sandbox, folder, poll_seconds=POLL_S)
    for _ in range(jobs):
        bench.launch()
    for _ in range(6):
        bench.tick()
    runs = bench.core.ledger.active()
    assert all(run.state is RunState.RUNNING for run in runs)
    counts: Counter[str] = Counter()
    for minute in range(MINUTES):
        if prints:
            grow(bench, runs, minute)
        sandbox.forget_requests()
        for _ in range(60 // POLL_S):
            bench.tick(POLL_S)
        for service, kinds in sandbox.requests().items():
            counts.update({f"{service} {kind}": count for kind, count in kinds.items()})
    return Counter({kind: round(count * 60 / MINUTES / jobs) for kind, count in counts.items()})


def grow(bench: Bench, runs: list[Run], minute: int) -> None:
    """One line more in every log."""
    cloud = bench.objects()
    profile = bench.core.regions.profile("sandbox")
    for run in runs:
        for stat in list(cloud.list(run_paths.log_path(run, profile))):
            cloud.put(stat.path, b"step 1\n" * (minute + 2))


@pytest.mark.parametrize(
    ("jobs", "prints", "most"),
    [(1, False, 75), (1, True, 300), (100, False, 75), (100, True, 210)],
)
def test_following_a_job_for_an_hour_takes_so_many_requests(
    sandbox: SandboxProcess, tmp_path: Path, jobs: int, prints: bool, most: int
) -> None:
    per_hour = requests_per_hour(sandbox, tmp_path / "data", jobs, prints=prints)

    of_obs = sum(count for kind, count in per_hour.items() if kind.startswith("obs"))
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(per_hour.items()) if count)
    every_look = timedelta(hours=1) // timedelta(seconds=POLL_S)
    print(f"\n{kinds}", end="")
    figures.put(
        f"OBS requests per job and hour, {jobs} running, "
        + ("logs that grow every minute" if prints else "logs that do not grow"),
        f"{of_obs} requests",
        f"{most} requests",
        f"a LIST at every poll: {every_look} requests",
        every_look / of_obs,
    )
    assert of_obs <= most

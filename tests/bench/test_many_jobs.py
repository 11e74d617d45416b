"""What following 1,000 running jobs takes of the processor: `aisbench follow` at its own pace, beside a region."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aisbench_core.model import RunState
from aisbench_core.store.run_folders import run_paths
from aisbench_core.store.run_folders.run_paths import RunFolder
from tests.bench import figures
from tests.flow.following import Bench, bench_on
from tests.sandbox_process import SandboxProcess

JOBS = 1000
# The logs of so many jobs have their turn every 250 s, so a single minute could miss the busiest one.
MINUTES = 6
ADDITION = b"step 1\n" * 20


@contextmanager
def follower_of(data_dir: Path) -> Iterator[int]:
    """`aisbench follow` with its own settings in a process of its own; the process' number."""
    command = [sys.executable, "-m", "aisbench_core.interfaces.cli", "follow", "--quiet"]
    process = subprocess.Popen(command, env=os.environ | {"AISBENCH_DATA_DIR": str(data_dir)})
    try:
        yield process.pid
        assert process.poll() is None
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def growing_logs(bench: Bench) -> Iterator[None]:
    """Jobs of which each prints 20 lines every minute."""
    cloud, profile, ended = bench.objects(), bench.core.regions.profile("sandbox"), threading.Event()
    directories = [run_paths.log_path(run, profile) for run in bench.core.ledger.active()]
    logs = [stat.path for directory in directories for stat in cloud.list(directory)]

    def write() -> None:
        minute = 0
        while not ended.is_set():
            minute += 1
            for log in logs:
                cloud.put(log, ADDITION * minute)
                if ended.wait(60.0 / len(logs)):
                    return

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    yield
    ended.set()
    thread.join(10.0)


def processor_seconds(pid: int) -> float:
    """What a process has taken of all cores so far, in itself and in the system's calls."""
    times = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[11:13]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def cores_by_minute(pid: int) -> Iterator[float]:
    """The processor seconds per second, of one minute after the other."""
    at, used = time.monotonic(), processor_seconds(pid)
    for _ in range(MINUTES):
        time.sleep(60.0)
        before, used_before, at, used = at, used, time.monotonic(), processor_seconds(pid)
        yield (used - used_before) / (at - before)


def test_1000_running_jobs_are_followed_on_less_than_one_core(sandbox: SandboxProcess, tmp_path: Path) -> None:
    sandbox.script(by="hold", log="step 1\n")
    bench = bench_on(sandbox, tmp_path / "data")
    for _ in range(JOBS):
        bench.launch()
    for _ in range(6):
        bench.tick()
    assert bench.core.ledger.count([RunState.RUNNING]) == JOBS

    with growing_logs(bench), follower_of(tmp_path / "data") as pid:
        sandbox.forget_requests()
        cores = list(cores_by_minute(pid))
        requests = sandbox.requests()["modelarts"]

    runs = bench.core.ledger.active()
    mean = sum(cores) / MINUTES
    figures.put(
        f"Follow {JOBS:,} running jobs, each printing 20 lines a minute: the busiest of {MINUTES} minutes",
        f"{100 * max(cores):.0f} % of a core ({100 * mean:.0f} % on average)",
        "100 %",
    )
    # A follower that lags behind would look cheap: all jobs are polled every 5 s, and measured once a minute.
    assert requests["POST training-job-searches"] >= 0.9 * MINUTES * 60 / bench.core.settings.poll_seconds
    assert requests["GET training-jobs/{id}/metrics/{task}"] >= (MINUTES - 1) * JOBS
    assert len(runs) == JOBS
    assert not any(run.is_retrying for run in runs)
    fetched = [RunFolder(bench.core.settings.runs_dir / run.run_id).log(0).stat().st_size for run in runs]
    assert min(fetched) > len(ADDITION)
    assert max(cores) <= 1.0

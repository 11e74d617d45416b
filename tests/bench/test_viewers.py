"""How old the page of a running job gets on many screens at once, on one console that also follows the job."""

import asyncio
import statistics
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from aisbench_core.model import Run, RunState
from aisbench_core.store.run_folders import run_paths
from tests.bench import figures
from tests.bench.viewers import Viewer, look_together
from tests.browser.console_process import ConsoleProcess
from tests.flow.following import GOOD, Bench, bench_on
from tests.postgres_server import PASSWORD, PostgresServer
from tests.sandbox_process import SandboxProcess
from tests.team_ledger import PASSWORD_VARIABLE, url_of

SECONDS = 30.0
MOST_AGE_S = 5.0
VIEWERS, CONSOLES = 200, 4


@contextmanager
def growing_log(bench: Bench, run: Run) -> Iterator[None]:
    """A job that prints a step every second."""
    cloud, ended = bench.objects(), threading.Event()
    logs = [stat.path for stat in cloud.list(run_paths.log_path(run, bench.core.regions.profile("sandbox")))]

    def write() -> None:
        text = ""
        for step in range(100_000):
            text += f'aisbench: progress {{"step": {step}, "of": 100000, "loss": 1.5, "throughput": 100}}\n'
            for log in logs:
                cloud.put(log, text.encode())
            if ended.wait(1.0):
                return

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    yield
    ended.set()
    thread.join(10.0)


@pytest.mark.parametrize("viewers", [20, 60, 200])
def test_a_page_of_a_running_job_is_fresh_on_many_screens(
    sandbox: SandboxProcess, tmp_path: Path, viewers: int
) -> None:
    sandbox.script(by="hold", log="step 1\n", outputs=GOOD)
    bench = bench_on(sandbox, tmp_path / "data")
    run = bench.follow(bench.launch(), RunState.RUNNING)
    console = ConsoleProcess.start(tmp_path / "data")
    try:
        with growing_log(bench, run):
            looking = look_together(console.url, "live", {"run": run.run_id}, viewers, SECONDS)
            seen, all_open = asyncio.run(looking)
    finally:
        console.stop()
    put_ages(f"Run page of a running job, {viewers} viewers", seen, all_open)


@pytest.mark.postgres
def test_a_page_of_a_running_job_is_fresh_on_many_screens_of_four_consoles(
    sandbox: SandboxProcess, tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over one ledger in PostgreSQL; one of them follows. HAProxy is left out: it waits for the consoles only."""
    monkeypatch.setenv(PASSWORD_VARIABLE, PASSWORD)
    postgres.create("viewed")
    url = url_of(postgres, "viewed")
    sandbox.script(by="hold", log="step 1\n", outputs=GOOD)
    bench = bench_on(sandbox, tmp_path / "data", ledger=url)
    run = bench.follow(bench.launch(), RunState.RUNNING)
    consoles = [ConsoleProcess.start(tmp_path / "data", ledger=url) for _ in range(CONSOLES)]
    try:
        with growing_log(bench, run):
            seen, all_open = asyncio.run(watch_consoles(consoles, run))
    finally:
        for console in consoles:
            console.stop()
    put_ages(
        f"Run page of a running job, {VIEWERS} viewers on {CONSOLES} consoles, ledger in PostgreSQL", seen, all_open
    )


async def watch_consoles(consoles: Sequence[ConsoleProcess], run: Run) -> tuple[list[Viewer], float]:
    """As many viewers at each console, at the same time; and when all had opened the page."""
    query = {"run": run.run_id}
    count, others = VIEWERS // len(consoles), asyncio.Barrier(len(consoles))
    looking = (look_together(one.url, "live", query, count, SECONDS, others) for one in consoles)
    found = await asyncio.gather(*looking)
    return [viewer for viewers, _ in found for viewer in viewers], max(at for _, at in found)


def put_ages(what: str, seen: Sequence[Viewer], all_open: float) -> None:
    """Store how old the page was."""
    ages = sorted(age for viewer in seen for age in viewer.ages(all_open))
    reruns = sum(len([at for at in times if at >= all_open]) for viewer in seen for times in viewer.drawn.values())
    oldest = ages[int(len(ages) * 0.99)]
    errors = [error for viewer in seen for error in viewer.errors]
    figures.put(
        f"{what}: age of answers and log, 99 % of them",
        f"{oldest:.1f} s (median {statistics.median(ages):.1f} s, {reruns / SECONDS:.0f} redraws/s)",
        f"{MOST_AGE_S:g} s",
    )
    assert errors == []
    assert statistics.median(ages) <= MOST_AGE_S

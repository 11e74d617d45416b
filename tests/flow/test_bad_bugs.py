"""Bugs of ours: they delay or fail one run, they are logged with their traceback, and the others go on."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from aisbench_core.base.clock import utc_now
from aisbench_core.cloud.clouds import Clouds
from aisbench_core.cloud.modelarts_v2.service import ModelArtsV2
from aisbench_core.cloud.ports import Cloud
from aisbench_core.config.credentials import find_credentials
from aisbench_core.model import JobRequest, JobStatus, Run, RunState
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.wiring import Core
from tests.actors import TESTER
from tests.flow.following import GOOD, SPEC, Bench, bench_on
from tests.flow.trouble import IMPATIENT, assert_completed_once, assert_retrying, with_cloud
from tests.sandbox_process import SandboxProcess
from tests.training_client import await_true

UNLUCKY = "unlucky"


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD)
    return bench_on(sandbox, tmp_path / "data", **IMPATIENT)


# --- bugs -----------------------------------------------------------------------------------------------


class Stumbling(ModelArtsV2):
    """A training service with a bug that jobs of a certain name meet in some calls."""

    calls: Sequence[str] = ()

    def find(self, name: str) -> JobStatus | None:
        self._stumble("find", name)
        return super().find(name)

    def create(self, job: JobRequest) -> JobStatus:
        created = super().create(job)
        self._stumble("create", job.name)
        return created

    def detail(self, job_id: str) -> JobStatus:
        found = super().detail(job_id)
        self._stumble("detail", found.name)
        return found

    def _stumble(self, call: str, name: str) -> None:
        if call in self.calls and name.startswith(UNLUCKY):
            raise ZeroDivisionError("a bug")


def stumbling(bench: Bench, *calls: str) -> Bench:
    """The bench with a training service that has a bug in these calls."""
    settings = bench.core.settings

    def spoil(cloud: Cloud) -> Cloud:
        training = Stumbling(cloud.profile, find_credentials(settings, cloud.profile), settings.request_seconds)
        training.calls = calls
        return replace(cloud, training=training)

    return with_cloud(bench, spoil)


def launch_unlucky(bench: Bench) -> Run:
    return bench.launch(SPEC.model_copy(update={"name": UNLUCKY}))


@pytest.mark.parametrize(
    ("call", "state"),
    [("find", RunState.SUBMITTING), ("create", RunState.SUBMITTING), ("detail", RunState.RUNNING)],
)
def test_a_bug_delays_a_run_whose_job_may_exist_while_the_others_go_on(
    bench: Bench, sandbox: SandboxProcess, caplog: pytest.LogCaptureFixture, call: str, state: RunState
) -> None:
    buggy = stumbling(bench, call)
    unlucky, lucky = launch_unlucky(buggy), buggy.launch()
    buggy.follow(lucky)
    for _ in range(2):
        buggy.tick()

    assert_completed_once(buggy, sandbox, lucky)
    if call != "create":  # its job is found at the next attempt
        assert_retrying(buggy, unlucky, state)
        assert "internal error" in buggy.run(unlucky).detail
    assert "ZeroDivisionError" in caplog.text
    bench.clock.move(60)
    bench.follow(unlucky)
    assert_completed_once(bench, sandbox, unlucky)


def test_a_bug_while_collecting_fails_only_that_run_which_can_be_rescued(bench: Bench, sandbox: SandboxProcess) -> None:
    unlucky, lucky = launch_unlucky(bench), bench.launch()
    bench.follow(unlucky, RunState.COLLECTING)
    buggy = stumbling(bench, "detail")

    failed = buggy.follow(unlucky)
    buggy.follow(lucky)

    assert failed.state is RunState.FAILED
    assert "internal error" in failed.detail
    assert_completed_once(buggy, sandbox, lucky)
    bench.core.runs.collect_again(unlucky.run_id, TESTER)
    bench.follow(unlucky)
    assert_completed_once(bench, sandbox, unlucky)


def test_a_bug_in_the_list_of_jobs_is_seen_at_every_run_and_followed_by_recovery(
    bench: Bench, sandbox: SandboxProcess
) -> None:
    class Deaf(ModelArtsV2):
        def status(self, job_ids: object, since: datetime) -> dict[str, JobStatus]:
            raise ZeroDivisionError(f"a bug: {job_ids} {since}")

    settings = bench.core.settings
    run = bench.follow(bench.launch(), RunState.RUNNING)
    deaf = with_cloud(
        bench,
        lambda cloud: replace(cloud, training=Deaf(cloud.profile, find_credentials(settings, cloud.profile), 20.0)),
    )
    deaf.tick()
    assert_retrying(deaf, run, RunState.RUNNING)

    bench.follow(run)

    assert_completed_once(bench, sandbox, run)


def test_a_follower_outlives_a_bug_in_its_own_loop(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    broken = threading.Event()
    broken.set()

    def clock() -> datetime:
        if broken.is_set():
            raise ZeroDivisionError("a bug")
        return utc_now()

    settings = bench.core.settings.model_copy(update={"tick_seconds": 0.02, "poll_seconds": 0.02})
    core = Core(
        settings,
        Ledger(settings.ledger_path),
        Warehouse(settings.warehouse_path),
        Clouds(settings, settings.request_seconds),
        Clouds(settings, settings.look_seconds),
        clock,
    )
    run = bench.launch()
    stop = threading.Event()
    follower = threading.Thread(target=core.following.follower(stop).run_forever, args=(stop,))
    follower.start()
    try:
        await_true(lambda: "ZeroDivisionError" in caplog.text, "the bug to show")
        broken.clear()
        await_true(lambda: bench.run(run).state.is_terminal, "the run to end")
    finally:
        stop.set()
        follower.join()

    assert bench.run(run).state is RunState.COMPLETED
    assert caplog.text.count("cannot follow") == 1, "repetitions are not logged"

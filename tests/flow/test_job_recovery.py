"""Runs whose really running job loses its node or hangs: seen at the next poll, and kept with both attempts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.messages import Message
from aisbench_core.domain.results.job_events import alert_message, cloud_events
from aisbench_core.model import AlertKind, JobDetails, JobFault, Run, RunSpec, RunState
from aisbench_core.people.notifications.channels import channel_of
from tests.actors import named
from tests.flow.command_line import CommandLine
from tests.flow.following import PERSON, Bench, bench_on
from tests.sandbox_process import SandboxProcess
from tests.training_client import await_true

POOL, NODE = "pool-recovery", "modelarts.pool.visual.xlarge"
TRAIN = """
import argparse, pathlib, time
import aisbench_report
parser = argparse.ArgumentParser()
parser.add_argument("--train_url")
checkpoint = pathlib.Path(parser.parse_known_args()[0].train_url) / "checkpoint"
if not checkpoint.exists():
    checkpoint.write_text("step 7")
    print("step 7 of the first attempt", flush=True)
    time.sleep(600)
print("went on from", checkpoint.read_text(), flush=True)
aisbench_report.throughput(100.0)
aisbench_report.accuracy(0.9)
aisbench_report.done()
"""


@pytest.fixture
def region(real_sandbox: SandboxProcess) -> Iterator[SandboxProcess]:
    real_sandbox.reset()
    yield real_sandbox
    real_sandbox.reset()


@pytest.fixture
def bench(region: SandboxProcess, tmp_path: Path) -> Bench:
    return bench_on(region, tmp_path / "data")


@pytest.fixture
def spec(tmp_path: Path) -> RunSpec:
    """A job that goes on from the checkpoint of its first attempt, which never ends by itself."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(TRAIN)
    prefetched = [{"name": "train_url", "prefetch": True}]
    told = {"retries": 1, "outputs": prefetched, "pool_id": POOL, "flavor": NODE, "cards_per_node": 1}
    return RunSpec.model_validate(
        {"workload": "quickstart_digits", "code_dir": str(code), "boot_file": "train.py", **told}
    )


def plan(region: SandboxProcess, *bad: int, **more: Any) -> None:
    pool = {"name": POOL, "flavor": NODE, "nodes": 2, "bad": list(bad)}
    region.admin("PUT", "capacity", {"pools": [pool], **more})


def details_of(bench: Bench, run: Run) -> JobDetails:
    return bench.core.files.job(run.run_id)


def uploaded(bench: Bench, run: Run) -> bool:
    """Whether the platform has synchronised the checkpoint, which it does every 30 seconds."""
    return "step 7" in bench.core.files.log_tail(run.run_id, 0)


def test_a_node_that_dies_is_told_with_the_last_words_of_its_job_and_the_attempt_that_followed(
    bench: Bench, spec: RunSpec, region: SandboxProcess
) -> None:
    plan(region)
    run = bench.launch(spec)
    bench.await_tick(lambda: uploaded(bench, run), "the job at work")

    plan(region, 0)
    bench.await_end(run)
    record = bench.core.files.record(run.run_id)

    assert bench.run(run).state is RunState.COMPLETED, bench.run(run).detail
    assert record is not None
    broken, good = record.attempts
    assert (broken.fault, broken.task) == (JobFault.NODE, "worker-0")
    assert broken.last_words[-1] == "step 7 of the first attempt"
    assert broken.host
    assert broken.host != good.tasks[0].host
    assert [attempt.tasks[0].exit_code for attempt in (broken, good)] == [137, 0]
    assert "went on from step 7" in bench.core.files.log_tail(run.run_id, 0)
    shown = CommandLine(bench.core.settings.data_dir, region).type("show", run.run_id).stdout
    assert f"a node failed: the node is faulty (worker-0 on {broken.host})" in shown
    assert "step 7 of the first attempt" in shown


def test_a_job_that_is_restarted_after_a_hang_tells_so_and_goes_on(
    bench: Bench, spec: RunSpec, region: SandboxProcess
) -> None:
    plan(region, hang_s=1.0)
    run = bench.launch(spec.model_copy(update={"retry_on_hang": True}))
    bench.await_end(run)
    record = bench.core.files.record(run.run_id)

    assert bench.run(run).state is RunState.COMPLETED, bench.run(run).detail
    assert record is not None
    hung, good = record.attempts
    assert (hung.fault, hung.last_words[-1]) == (JobFault.HANG, "step 7 of the first attempt")
    assert (good.ended_at is None, good.recovery) == (False, "")


def test_a_hang_turns_the_banner_within_one_poll(bench: Bench, spec: RunSpec, region: SandboxProcess) -> None:
    plan(region, hang_s=1.0)
    run = bench.launch(spec)
    bench.await_tick(lambda: uploaded(bench, run), "the job at work")
    training = bench.core.jobs.interactive("sandbox", None).training
    job_id = bench.run(run).job_id
    await_true(lambda: any("suspected" in event.message for event in training.events(job_id)), "the suspicion")

    bench.tick()

    alert = details_of(bench, run).alert(ended=False, failed=False)
    assert alert is not None
    assert alert.kind is AlertKind.HANG
    assert alert_message(alert) == "The platform suspects that the job hangs."
    (row,) = [event for event in cloud_events(run.run_id, details_of(bench, run)) if "suspected" in event.message]
    assert row.level == "warning"


def test_a_hang_is_told_once_to_who_wants_to_know(bench: Bench, spec: RunSpec, region: SandboxProcess) -> None:
    told = {"name": "lab", "url": "feishu://nobody-there", "events": ["stalled"]}
    bench.core.notifications.channels.save(channel_of(told, Message("channel")), named(PERSON))
    plan(region, hang_s=1.0)
    run = bench.launch(spec)
    bench.await_tick(lambda: bench.core.notifications.outbox.page(5)[1] > 0, "the alert")

    another = bench_on(region, bench.core.settings.data_dir)  # knows nothing of what was announced
    for _ in range(3):
        another.tick()

    [delivery], _ = another.core.notifications.outbox.page(5)
    assert (delivery.notification.kind, delivery.notification.subject) == ("stalled", run.run_id)
    assert str(delivery.notification.text).endswith("The platform suspects that the job hangs.")

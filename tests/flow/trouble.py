"""What the tests of bad days share: a bench whose keys and cloud can be spoilt, and what must hold after each."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from huaweicloudsdkmodelarts.v1 import JobSearches, ListTrainingJobsRequest

from aisbench_core.cloud.clouds import Clouds
from aisbench_core.cloud.ports import Cloud
from aisbench_core.model import Event, Run, RunState
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.wiring import Core
from tests.flow.following import Bench
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient

JOBS_PER_PAGE = 50

IMPATIENT = {"retry_first_seconds": 1.0, "retry_most_seconds": 5.0, "request_seconds": 20.0}
"""Settings under which a tick of ten seconds always finds a delayed run due again."""


def jobs_named(sandbox: SandboxProcess, name: str) -> list[Any]:
    """Every job of the sandbox with this name, as the official SDK lists them."""
    sdk = TrainingClient(sandbox).sdk
    jobs: list[Any] = []
    total = 1
    while len(jobs) < total:
        page = JobSearches(limit=JOBS_PER_PAGE, offset=len(jobs))
        listed = sdk.list_training_jobs(ListTrainingJobsRequest(body=page))
        jobs, total = [*jobs, *listed.items], listed.total
    return [job for job in jobs if job.metadata.name == name]


def assert_completed_once(bench: Bench, sandbox: SandboxProcess, run: Run) -> None:
    """The run ended well, made exactly one job, and is in the warehouse."""
    ended = bench.run(run)
    recorded = bench.core.warehouse.runs.find_row(run.run_id)
    assert ended.state is RunState.COMPLETED, ended.detail
    assert len(jobs_named(sandbox, run.job_name)) == 1
    assert recorded is not None
    assert recorded.state == RunState.COMPLETED


def assert_retrying(bench: Bench, run: Run, state: RunState) -> None:
    """The run stays where it was, and says in one sentence that it is tried again."""
    now = bench.run(run)
    assert now.state is state, now.detail
    assert now.is_retrying
    assert now.explanation == f"retrying: {now.detail}"
    assert_one_sentence(now.detail)
    assert [event.message for event in retries(bench, run)].count(now.explanation) <= 1


def assert_one_sentence(text: str) -> None:
    """Something for a person, and no traceback."""
    assert text
    assert "\n" not in text
    assert "Traceback" not in text


def retries(bench: Bench, run: Run) -> list[Event]:
    """The events that say that something is tried again."""
    return [event for event in bench.core.ledger.events(run.run_id) if event.message.startswith("retrying: ")]


def use_keys(file: Path, access_key: str, secret_key: str) -> None:
    """Write a credentials file that only its owner can read."""
    file.touch(mode=0o600)
    file.write_text(yaml.safe_dump({"access_key": access_key, "secret_key": secret_key}), "utf-8")


def point_to_keys(data_dir: Path, file: Path) -> None:
    """Let the profile `sandbox` take its keys from this file."""
    profile = data_dir / "profiles" / "sandbox.yaml"
    answers = yaml.safe_load(profile.read_text("utf-8"))
    profile.write_text(yaml.safe_dump({**answers, "credentials_file": str(file)}), "utf-8")


def with_cloud(bench: Bench, spoil: Callable[[Cloud], Cloud]) -> Bench:
    """The same bench, whose cloud is not quite what it should be."""
    settings = bench.core.settings
    clouds = Clouds(settings, settings.request_seconds)
    core = Core(
        settings,
        Ledger(settings.ledger_path),
        Warehouse(settings.warehouse_path),
        lambda profile, api=None: spoil(clouds(profile, api)),
        clouds,
        bench.clock,
    )
    return replace(bench, core=core, follower=core.following.follower())

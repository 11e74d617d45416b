"""A secret variable of a spec: the job gets its value, and nothing that the console keeps or says holds it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from aisbench_core.base.errors import CloudRejected, CloudUnavailable, SpecError
from aisbench_core.base.messages import make_verbatim
from aisbench_core.cloud.modelarts_v2.service import ModelArtsV2
from aisbench_core.cloud.ports import Cloud
from aisbench_core.config.credentials import find_credentials
from aisbench_core.config.settings import Settings
from aisbench_core.model import EventLanguage, JobEvent, JobRequest, JobStatus, RunState
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, SPEC, Bench, bench_on
from tests.flow.trouble import IMPATIENT, assert_one_sentence, jobs_named, with_cloud
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient

VALUE = "canary-7Hq2-Zw9x-4Kd8"
NAME = "HF_TOKEN"
SECRET = SPEC.model_copy(update={"secrets": (NAME,)})


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD)
    return bench_on(sandbox, tmp_path / "data", **IMPATIENT)


def store(settings: Settings, value: str = VALUE) -> None:
    settings.credentials_path.touch(0o600)
    settings.credentials_path.write_text(yaml.safe_dump({"sandbox": {"secrets": {NAME: value}}}), "utf-8")


def holding(settings: Settings) -> set[str]:
    """The files of the data folder in which the value stands."""
    files = [path for path in settings.data_dir.rglob("*") if path.is_file()]
    return {path.name for path in files if VALUE.encode() in path.read_bytes()}


def environment_of(sandbox: SandboxProcess, job_name: str) -> dict[str, str]:
    (job,) = jobs_named(sandbox, job_name)
    detail = TrainingClient(sandbox).show(job.metadata.id)
    (told,) = detail.algorithm.environments
    return dict(told)


def test_the_job_gets_the_value_and_nothing_that_is_kept_holds_it(bench: Bench, sandbox: SandboxProcess) -> None:
    store(bench.core.settings)

    run = bench.follow(bench.launch(SECRET))

    assert run.state is RunState.COMPLETED, run.detail
    assert environment_of(sandbox, run.job_name)[NAME] == VALUE
    assert holding(bench.core.settings) == {"credentials.yaml"}
    assert NAME in (bench.core.settings.runs_dir / run.run_id / "spec.yaml").read_text("utf-8")
    assert bench.core.clones.spec(bench.core.clones.original(run.run_id)).secrets == (NAME,)


def test_a_metric_that_names_the_value_is_refused_and_nothing_that_is_kept_holds_it(
    bench: Bench, sandbox: SandboxProcess
) -> None:
    names = {VALUE: VALUE, "of_unit": VALUE, "good": "W"}
    rest = {"at": 1, "value": 1.0, "rank": 0, "better": "", "combined": "mean"}
    lines = "".join(json.dumps({"name": name, "unit": unit, **rest}) + "\n" for name, unit in names.items())
    escaped = lines.replace("canary", "\\u0063anary")
    sandbox.script(by="look", outputs={**GOOD, "metrics_0_0.jsonl": lines, "metrics_0_1.jsonl": escaped})
    store(bench.core.settings)

    run = bench.follow(bench.launch(SECRET))

    record = bench.core.files.record(run.run_id)
    assert record is not None
    assert [metric.name for metric in record.metrics if metric.source == "job"] == ["good"]
    assert any("secret" in str(event.message) for event in bench.core.ledger.events(run.run_id))
    assert holding(bench.core.settings) == {"credentials.yaml"}


def test_no_launch_without_a_value(bench: Bench) -> None:
    with pytest.raises(SpecError, match=f"AISBENCH_SECRET_{NAME}.*credentials.yaml"):
        bench.launch(SECRET)


def test_a_value_that_is_gone_when_the_job_is_due_fails_the_run_before_there_is_a_job(
    bench: Bench, sandbox: SandboxProcess
) -> None:
    store(bench.core.settings)
    run = bench.follow(bench.launch(SECRET), until=RunState.UPLOADING)
    bench.core.settings.credentials_path.unlink()

    run = bench.follow(run)

    assert run.state is RunState.FAILED
    assert f"the secret {NAME} has no value" in run.detail
    assert_one_sentence(run.detail)
    assert jobs_named(sandbox, run.job_name) == []


class Echoing(ModelArtsV2):
    """A training service that refuses jobs, and repeats what it was asked for."""

    def create(self, job: JobRequest) -> JobStatus:
        raise CloudRejected(make_verbatim(f"refused: {dict(job.environments)}"), operation="create", status=400)


class Stumbling(ModelArtsV2):
    """A training service with a bug whose text repeats what it was asked for."""

    def create(self, job: JobRequest) -> JobStatus:
        raise ValueError(f"a bug: {dict(job.environments)}")


def with_training(bench: Bench, kind: type[ModelArtsV2]) -> Bench:
    """The bench with a training service of this kind."""
    settings = bench.core.settings

    def exchange(cloud: Cloud) -> Cloud:
        keys = find_credentials(settings, cloud.profile)
        return replace(cloud, training=kind(cloud.profile, keys, settings.request_seconds))

    return with_cloud(bench, exchange)


@pytest.mark.parametrize("kind", [Echoing, Stumbling])
def test_a_cloud_that_repeats_the_request_does_not_bring_the_value_into_events_and_logs(
    bench: Bench, kind: type[ModelArtsV2]
) -> None:
    settings = bench.core.settings
    store(settings)
    spoilt = with_training(bench, kind)
    run = spoilt.launch(SECRET)
    for _ in range(12):
        spoilt.tick()

    run = spoilt.run(run)
    assert run.state is RunState.FAILED or run.is_retrying, run.detail
    assert VALUE not in run.detail
    assert all(VALUE not in event.message for event in spoilt.core.ledger.events(run.run_id))
    assert holding(settings) == {"credentials.yaml"}


class Talkative(ModelArtsV2):
    """A training service whose statuses and events repeat the environment of their job."""

    def detail(self, job_id: str) -> JobStatus:
        return replace(super().detail(job_id), message=f"environment: {NAME}={VALUE}")

    def status(self, job_ids: Iterable[str], since: datetime) -> Mapping[str, JobStatus]:
        seen = super().status(job_ids, since)
        return {each: replace(status, message=f"{NAME}={VALUE}") for each, status in seen.items()}

    def events(
        self,
        job_id: str,
        since: datetime | None = None,  # noqa: ARG002  # the protocol's
        language: EventLanguage = EventLanguage.ENGLISH,  # noqa: ARG002
    ) -> Sequence[JobEvent]:
        return [JobEvent(datetime(2026, 3, 1, tzinfo=UTC), "Normal", f"pulled for {job_id} with {VALUE!r}", "kubelet")]


class Unreachable(ModelArtsV2):
    """A training service that takes a job, and then fails with what it was asked for in its words."""

    def detail(self, job_id: str) -> JobStatus:
        raise CloudUnavailable(make_verbatim(f"lost the job {job_id} of {NAME}={VALUE}"), operation="show job")

    def status(self, job_ids: Iterable[str], since: datetime) -> Mapping[str, JobStatus]:
        raise CloudUnavailable(make_verbatim(f"lost {job_ids} of {NAME}={VALUE} since {since}"), operation="list jobs")


@pytest.mark.parametrize("kind", [Talkative, Unreachable])
def test_what_a_cloud_says_later_of_the_job_does_not_bring_the_value_into_what_is_kept(
    bench: Bench, kind: type[ModelArtsV2]
) -> None:
    settings = bench.core.settings
    store(settings)
    spoilt = with_training(bench, kind)
    run = spoilt.launch(SECRET)
    said = []
    for _ in range(40):
        spoilt.tick()
        said.append(spoilt.run(run).detail)
    ended = spoilt.run(run)

    assert ended.state.is_terminal is (kind is Talkative)
    assert any("***" in detail for detail in said)
    assert not any(VALUE in detail for detail in said)
    assert holding(settings) == {"credentials.yaml"}


@pytest.mark.parametrize("value", [VALUE, VALUE * 4])
def test_a_job_that_writes_the_value_into_its_result_does_not_bring_it_into_what_is_kept(
    bench: Bench, sandbox: SandboxProcess, value: str
) -> None:
    store(bench.core.settings, value)
    sandbox.script(by="look", outputs={**GOOD, "accuracy.json": value})

    run = bench.follow(bench.launch(SECRET))

    assert run.detail == "the job completed, but accuracy.json holds '***', and not a number".replace(
        "***", "***" if value == VALUE else "***…"
    )
    assert holding(bench.core.settings) == {"credentials.yaml"}


def test_a_real_job_sees_the_variable_and_no_command_shows_it(
    real_sandbox: SandboxProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(
        f"import os\nprint('letters', len(os.environ['{NAME}']), os.environ['{NAME}'][:6])\n"
        f"print('whole', os.environ['{NAME}'], flush=True)\n",
        "utf-8",
    )
    monkeypatch.setenv(f"AISBENCH_SECRET_{NAME}", VALUE)
    shell = CommandLine(tmp_path / "data", real_sandbox)
    options = ("--set", f"code_dir={code}", "--set", "boot_file=train.py", "--set", f"secrets={NAME}")

    ended = shell.start("run", "quickstart_digits", *options, "--wait")
    out, talk = ended.communicate(timeout=120)

    logs = [path.read_text("utf-8") for path in shell.data_dir.rglob("worker-*.log")]
    assert any(f"letters {len(VALUE)} {VALUE[:6]}" in text for text in logs), talk
    assert any(f"whole {'*' * len(VALUE)}\n" in text for text in logs)
    run_id = next(path.name for path in (shell.data_dir / "runs").iterdir())
    shown = shell.type("show", run_id)
    assert f"{NAME} (secret)" in shown.stdout
    assert VALUE not in out + talk + shown.stdout + shown.stderr
    assert holding(Settings(data_dir=shell.data_dir)) == set()
    shell.end()

"""Wrong keys and lost profiles: a run that costs nothing yet fails in one sentence; one that may cost is kept."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from aisbench_core.model import Run, RunState
from tests.actors import named
from tests.flow.following import GOOD, PERSON, Bench, bench_on
from tests.flow.trouble import (
    IMPATIENT,
    assert_completed_once,
    assert_one_sentence,
    assert_retrying,
    jobs_named,
    point_to_keys,
    use_keys,
)
from tests.sandbox_process import SandboxProcess

WRONG_SECRET = "a-secret-that-nobody-knows-0123456789"
BEFORE_A_JOB = [RunState.PREPARING, RunState.UPLOADING, RunState.SUBMITTING]
WITH_A_JOB = [RunState.QUEUED, RunState.RUNNING, RunState.COLLECTING]


@dataclass
class Keys:
    """The file that the profile's keys come from."""

    file: Path
    right: tuple[str, str]

    def spoil(self) -> None:
        """Keys as they are after somebody has changed them in the account."""
        use_keys(self.file, self.right[0], WRONG_SECRET)

    def mend(self) -> None:
        """The right keys again."""
        use_keys(self.file, *self.right)


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD)
    return bench_on(sandbox, tmp_path / "data", **IMPATIENT)


@pytest.fixture
def keys(bench: Bench, sandbox: SandboxProcess, tmp_path: Path) -> Keys:
    file = tmp_path / "keys.yaml"
    point_to_keys(bench.core.settings.data_dir, file)
    keys = Keys(file, sandbox.keys)
    keys.mend()
    return keys


def profile_file(bench: Bench) -> Path:
    return bench.core.settings.profiles_dir / "sandbox.yaml"


def told(bench: Bench, run: Run) -> str:
    """Everything that a person reads of a run."""
    return "\n".join([bench.run(run).detail, *(event.message for event in bench.core.ledger.events(run.run_id))])


def assert_nowhere(bench: Bench, secret: str) -> None:
    """No file of the console holds the secret: not the ledger, not the warehouse, not the run's folder."""
    files = [file for file in bench.core.settings.data_dir.rglob("*") if file.is_file()]
    assert {"ledger.sqlite3", "warehouse.duckdb", "record.json", "spec.yaml"} <= {file.name for file in files}
    assert [file.name for file in files if secret.encode() in file.read_bytes()] == []


@pytest.mark.parametrize("state", BEFORE_A_JOB)
def test_wrong_keys_fail_a_run_without_a_job_in_one_sentence_that_shows_no_key(
    bench: Bench, keys: Keys, sandbox: SandboxProcess, caplog: pytest.LogCaptureFixture, state: RunState
) -> None:
    run = bench.follow(bench.launch(), state)
    keys.spoil()

    ended = bench.follow(run)

    assert ended.state is RunState.FAILED
    assert "check AISBENCH_AK" in ended.detail
    assert_one_sentence(ended.detail)
    assert jobs_named(sandbox, run.job_name) == []
    for secret in (keys.right[1], WRONG_SECRET):
        assert secret not in told(bench, run) + caplog.text
        assert_nowhere(bench, secret)


@pytest.mark.parametrize("state", WITH_A_JOB)
def test_a_run_whose_job_was_made_waits_for_the_right_keys(
    bench: Bench, keys: Keys, sandbox: SandboxProcess, caplog: pytest.LogCaptureFixture, state: RunState
) -> None:
    run = bench.follow(bench.launch(), state)
    keys.spoil()
    for _ in range(5):
        bench.tick()
    assert_retrying(bench, run, state)

    keys.mend()
    bench.follow(run)

    assert_completed_once(bench, sandbox, run)
    for secret in (keys.right[1], WRONG_SECRET):
        assert secret not in told(bench, run) + caplog.text
        assert_nowhere(bench, secret)


def test_a_run_that_is_being_stopped_waits_for_the_right_keys(
    bench: Bench, keys: Keys, sandbox: SandboxProcess
) -> None:
    sandbox.script(by="hold")
    run = bench.follow(bench.launch(), RunState.RUNNING)
    bench.core.runs.stop(run.run_id, named(PERSON))
    keys.spoil()
    for _ in range(3):
        bench.tick()
    assert_retrying(bench, run, RunState.STOPPING)

    keys.mend()
    ended = bench.follow(run)

    assert ended.state is RunState.STOPPED
    assert [job.status.phase for job in jobs_named(sandbox, run.job_name)] == ["Terminated"]


def test_a_submit_without_an_answer_is_not_given_up_for_wrong_keys(
    bench: Bench, keys: Keys, sandbox: SandboxProcess
) -> None:
    run = bench.follow(bench.launch(), RunState.SUBMITTING)
    sandbox.faults({"service": "modelarts", "method": "POST", "path": "/training-jobs$", "drop": "after"})
    bench.tick()
    keys.spoil()
    for _ in range(3):
        bench.tick()
    assert_retrying(bench, run, RunState.SUBMITTING)

    keys.mend()
    bench.follow(run)

    assert_completed_once(bench, sandbox, run)


def test_wrong_keys_after_a_crash_keep_a_run_whose_job_may_exist(
    bench: Bench, keys: Keys, sandbox: SandboxProcess, tmp_path: Path
) -> None:
    run = bench.follow(bench.launch(), RunState.SUBMITTING)
    restarted = bench_on(sandbox, tmp_path / "data", **IMPATIENT)  # whoever submitted it may have been cut off
    point_to_keys(bench.core.settings.data_dir, keys.file)
    keys.spoil()
    for _ in range(3):
        restarted.tick()
    assert_retrying(restarted, run, RunState.SUBMITTING)

    keys.mend()
    restarted.follow(run)

    assert_completed_once(restarted, sandbox, run)


def test_collecting_can_be_given_up_while_keys_are_wrong_and_done_later(
    bench: Bench, keys: Keys, sandbox: SandboxProcess
) -> None:
    run = bench.follow(bench.launch(), RunState.COLLECTING)
    assert bench.core.runs.stop(run.run_id, named(PERSON)).state is RunState.COLLECTING  # it goes on by itself
    keys.spoil()
    bench.tick()

    given_up = bench.core.runs.stop(run.run_id, named(PERSON))

    assert given_up.state is RunState.FAILED
    assert given_up.detail.startswith(f"collecting was given up by {PERSON}: ")
    assert_one_sentence(given_up.detail)
    keys.mend()
    bench.core.runs.collect_again(run.run_id, named(PERSON))
    bench.follow(run)
    assert_completed_once(bench, sandbox, run)


@pytest.mark.parametrize("state", [RunState.PREPARING, RunState.UPLOADING])
def test_a_profile_that_is_removed_before_a_job_exists_fails_the_run(bench: Bench, state: RunState) -> None:
    run = bench.follow(bench.launch(), state)
    profile_file(bench).unlink()

    ended = bench.follow(run)

    assert ended.state is RunState.FAILED
    assert "there is no profile named 'sandbox'" in ended.detail
    assert_one_sentence(ended.detail)
    assert bench.core.warehouse.runs.find_row(run.run_id) is not None


@pytest.mark.parametrize("state", [RunState.SUBMITTING, *WITH_A_JOB])
def test_a_profile_that_is_removed_while_a_job_may_run_is_waited_for(
    bench: Bench, sandbox: SandboxProcess, state: RunState
) -> None:
    run = bench.follow(bench.launch(), state)
    profile = profile_file(bench).read_text("utf-8")
    profile_file(bench).unlink()
    for _ in range(3):
        bench.tick()
    assert_retrying(bench, run, state)

    profile_file(bench).write_text(profile, "utf-8")
    bench.follow(run)

    assert_completed_once(bench, sandbox, run)


def test_keys_that_others_can_read_are_refused_and_the_job_is_kept(
    bench: Bench, keys: Keys, sandbox: SandboxProcess
) -> None:
    run = bench.follow(bench.launch(), RunState.RUNNING)
    keys.file.chmod(0o644)
    bench.tick()
    assert_retrying(bench, run, RunState.RUNNING)
    assert "can be read by others (mode 0644)" in bench.run(run).detail

    keys.file.chmod(0o600)
    bench.follow(run)

    assert_completed_once(bench, sandbox, run)

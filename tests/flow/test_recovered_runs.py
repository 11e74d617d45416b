"""Runs that are told where they lie in their container, and how they recover: each really run by the sandbox."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from aisbench_core.cloud.ports import ObjectStat
from aisbench_core.model import Finding, Run, RunSpec, RunState
from aisbench_core.store.run_folders import run_paths
from tests.flow.command_line import CommandLine
from tests.flow.following import Bench, bench_on
from tests.sandbox_process import SandboxProcess

TRAIN = """
import argparse, os, pathlib, time
import aisbench_report
parser = argparse.ArgumentParser()
parser.add_argument("--train_url")
output = pathlib.Path(parser.parse_known_args()[0].train_url)
print("in", os.getcwd(), "code", pathlib.Path(__file__).parent, flush=True)
print("told", [os.environ.get(name) for name in ("MA_RUN_MODE_ENV", "MA_SKIP_IMAGE_DETECT")], flush=True)
checkpoint = output / "checkpoint"
if not checkpoint.exists():
    checkpoint.write_text("step 7")
    raise SystemExit("first attempt ends")
print("went on from", checkpoint.read_text(), flush=True)
aisbench_report.throughput(100.0)
aisbench_report.accuracy(0.9)
aisbench_report.done()
"""


@pytest.fixture
def spec(tmp_path: Path) -> RunSpec:
    """A job that fails unless it finds the checkpoint that an earlier attempt wrote."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(TRAIN)
    return RunSpec(workload="quickstart_digits", code_dir=str(code), boot_file="train.py", flavor="sandbox.cpu.1card")


@pytest.fixture
def bench(real_sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    real_sandbox.reset()
    return bench_on(real_sandbox, tmp_path / "data")


def files_of(bench: Bench, run: Run) -> Sequence[ObjectStat]:
    return bench.objects().list(run_paths.output_path(run, bench.core.regions.profile("sandbox")))


def resumed(bench: Bench, spec: RunSpec) -> list[Finding]:
    return [found for found in bench.core.preflight.offline(spec, "sandbox") if found.rule == "resume.run"]


def ended(bench: Bench, spec: RunSpec, **changes: object) -> tuple[Run, str]:
    run = bench.await_end(bench.launch(RunSpec.model_validate(spec.model_dump() | changes)))
    return run, bench.core.files.log_tail(run.run_id, 0)


def test_a_job_that_is_restarted_goes_on_from_the_checkpoint_in_its_output(bench: Bench, spec: RunSpec) -> None:
    prefetched = [{"name": "train_url", "prefetch": True}]

    run, log = ended(bench, spec, retries=1, retry_always=True, outputs=prefetched)

    assert run.state is RunState.COMPLETED, (run.detail, log)
    assert "went on from step 7" in log


def test_a_job_that_fails_by_itself_is_not_restarted_unless_the_spec_says_so(bench: Bench, spec: RunSpec) -> None:
    run, log = ended(bench, spec, retries=1)

    assert run.state is RunState.FAILED
    assert "went on" not in log


def test_a_run_goes_on_from_the_checkpoints_of_an_earlier_one_and_has_a_result_of_its_own(
    bench: Bench, spec: RunSpec
) -> None:
    earlier, log = ended(bench, spec)
    assert (earlier.state, "went on" in log) == (RunState.FAILED, False)

    run, log = ended(bench, spec, resume_from=earlier.run_id)
    again, _ = ended(bench, spec, resume_from=run.run_id)

    assert run.state is RunState.COMPLETED, (run.detail, log)
    assert "went on from step 7" in log
    messages = [event.message for event in bench.core.ledger.events(run.run_id)]
    assert any(f"files copied from run {earlier.run_id} into its outputs: 1 (6 B)" in said for said in messages)
    names = {stat.path.rpartition("/")[2] for stat in files_of(bench, again)}
    assert "checkpoint" in names
    copied = [event.message for event in bench.core.ledger.events(again.run_id) if "files copied" in event.message]
    assert copied[0].endswith("outputs: 1 (6 B)"), "the checkpoint, and nothing of the result"


def test_a_run_that_left_nothing_cannot_be_resumed_and_costs_nothing(bench: Bench, spec: RunSpec) -> None:
    earlier, _ = ended(bench, spec)
    for stat in files_of(bench, earlier):
        bench.objects().delete(stat.path)

    run, _ = ended(bench, spec, resume_from=earlier.run_id)

    assert (run.state, run.job_id) == (RunState.FAILED, "")
    assert run.detail == f"run {earlier.run_id} left no files in its outputs"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"resume_from": "r-nobody"}, "there is no run r-nobody here"),
        ({"workload": "mindspore_resnet"}, "is of the workload quickstart_digits"),
        ({"resume_from": ""}, ""),
    ],
)
def test_what_cannot_be_resumed_is_said_before_launch(
    bench: Bench, spec: RunSpec, change: dict[str, str], says: str
) -> None:
    earlier, _ = ended(bench, spec)
    changed = spec.model_copy(update={"resume_from": earlier.run_id} | change)

    findings = resumed(bench, changed)

    assert [found.field for found in findings] == (["resume_from"] if says else [])
    assert all(says in found.message for found in findings)


def test_a_run_that_still_runs_or_whose_id_is_cut_short_is_no_run_to_resume(bench: Bench, spec: RunSpec) -> None:
    running = bench.launch(spec)
    cut = spec.model_copy(update={"resume_from": running.run_id[:-1]})

    (waits,) = resumed(bench, spec.model_copy(update={"resume_from": running.run_id}))
    (short,) = resumed(bench, cut)

    assert "has not ended" in waits.message
    assert short.fix == (("resume_from", running.run_id),)


def test_a_job_starts_where_the_spec_says_and_is_told_what_it_sets(bench: Bench, spec: RunSpec) -> None:
    places = {"local_code_dir": "/home/bench/code", "working_dir": "/home/bench"}
    told = {"retries": 1, "environment_check": False}

    _, log = ended(bench, spec, **places, **told)

    assert "in /home/bench code /home/bench/code" in log
    assert "told [None, '0']" in log


def test_the_command_line_sets_them(shell: CommandLine) -> None:
    shown = shell.type(
        *("spec", "quickstart_digits", "--set", "retries=2", "--set", "retry_always=true"),
        *("--set", "environment_check=false", "--set", "outputs.train_url.prefetch=true"),
    )

    assert (shown.exit_code, shown.stderr) == (0, "")
    for line in ("retry_always: true", "environment_check: false", "prefetch: true"):
        assert line in shown.stdout

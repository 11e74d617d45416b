"""The LLM workload really trains in a sandbox: with both ways to distribute it, and over a rank that is killed."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.model import Run, RunSpec, RunState, Scalar
from aisbench_core.store.run_folders import run_paths
from tests.flow.following import Bench, bench_on
from tests.flow.jobs import LONGEST_SECONDS, Region
from tests.sandbox_process import SandboxProcess

PRETRAIN = Workloads(HOME / "workloads").get("pytorch_llm_pretrain")
STEPS, TOKENS = 50, 16 * 128  # of nano; tokens of a step, over all ranks

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def uninterrupted(real_sandbox: SandboxProcess) -> Mapping[str, str]:
    """What two ranks write that train nano with DistributedDataParallel."""
    return train(real_sandbox, "pretrain-ddp", {})


def train(sandbox: SandboxProcess, name: str, parameters: Mapping[str, Scalar]) -> Mapping[str, str]:
    """The files of a job of two ranks on one node."""
    region = Region(sandbox)
    spec = RunSpec(workload=PRETRAIN.name, name=name, parameters=dict(parameters), flavor="sandbox.cpu.2cards")
    status, out = region.run(PRETRAIN, spec)
    assert status.succeeded, status.message + region.log(name)
    return region.written(out)


def get_metrics(files: Mapping[str, str], card: int = 0) -> dict[str, float]:
    """The last value of each metric that a rank reported."""
    lines = map(json.loads, files[f"metrics_0_{card}.jsonl"].splitlines())
    return {line["name"]: line["value"] for line in lines}


def get_phases(files: Mapping[str, str], card: int = 0) -> list[list[str]]:
    """The phases of each attempt of a rank, in order, without those that only go on."""
    attempts: dict[float, list[str]] = {}
    for line in map(json.loads, files[f"phases_0_{card}.jsonl"].splitlines()):
        attempts.setdefault(line["process"], []).append(line["phase"])
    return [list(dict.fromkeys(phase for phase in phases if phase)) for phases in attempts.values()]


def get_steps(files: Mapping[str, str], card: int = 0) -> list[dict[str, Any]]:
    """Number, seconds and tokens of each step of a rank."""
    rows = [row for row in csv.reader(files[f"step_times_0_{card}.csv"].splitlines()) if row[0].isdigit()]
    return [{"n": int(n), "seconds": float(seconds), "tokens": float(tokens)} for n, _, seconds, _, tokens in rows]


def test_two_ranks_train_and_report_tokens_of_every_step_and_what_a_checkpoint_costs(
    uninterrupted: Mapping[str, str],
) -> None:
    steps = get_steps(uninterrupted)
    window = steps[10:]
    rate = sum(step["tokens"] for step in window) / sum(step["seconds"] for step in window)
    metrics = get_metrics(uninterrupted)

    print(f"nano: {sum(step['seconds'] for step in steps):.1f} s in {STEPS} steps, {rate:.0f} tokens/s of each rank")
    assert [step["n"] for step in steps] == list(range(1, STEPS + 1))
    assert {step["tokens"] for step in steps} == {TOKENS / 2}
    assert float(uninterrupted["throughput_0.json"]) == pytest.approx(rate, rel=1e-5)
    assert float(uninterrupted["accuracy.json"]) > 0.7  # the most frequent token alone gives 0.03
    assert 2.1 <= metrics["loss"] <= 2.6
    assert metrics.keys() == {"loss", "memory_allocated_mb"}
    assert 100 < metrics["memory_allocated_mb"] < 4000
    assert get_phases(uninterrupted) == [["init", "data", "train", "checkpoint_save", "checkpoint_load", "eval"]]
    assert not [name for name in uninterrupted if "checkpoint_0" in name]


def test_the_data_set_of_a_run_is_the_one_that_its_seed_is_known_to_make(uninterrupted: Mapping[str, str]) -> None:
    assert json.loads(uninterrupted["dataset.json"]) == {
        "name": "packed synthetic tokens",
        "synthetic": True,
        "sha256": "7d2d3aef8ee90e5ee8a7177cf12c3612211ab1b3b8725b894193f92bfcd06f6c",
    }


def test_fsdp2_with_recomputation_learns_what_ddp_learns(
    real_sandbox: SandboxProcess, uninterrupted: Mapping[str, str]
) -> None:
    given: dict[str, Scalar] = {"parallel": "fsdp2", "micro_batch": 4, "recomputation": "full"}
    files = train(real_sandbox, "pretrain-fsdp2", given)

    assert get_metrics(files)["loss"] == pytest.approx(get_metrics(uninterrupted)["loss"], rel=0.01)


def test_a_rank_that_is_killed_is_recovered_from_and_the_loss_is_that_of_a_training_without_it(
    real_sandbox: SandboxProcess, uninterrupted: Mapping[str, str], tmp_path: Path
) -> None:
    bench = bench_on(real_sandbox, tmp_path / "data")
    run = bench.launch(
        RunSpec.model_validate(
            {
                "workload": PRETRAIN.name,
                "parameters": {"resume": True},
                "flavor": "sandbox.cpu.2cards",
                "cards_per_node": 2,
                "retries": 1,
                "retry_always": True,
                "outputs": [{"name": "train_url", "prefetch": True}],
            }
        )
    )
    bench.submit(run)
    bench.await_end(run, 2 * LONGEST_SECONDS)
    log, files = bench.core.files.log_tail(run.run_id, 0), written(bench, run)
    record = bench.core.files.record(run.run_id)

    assert bench.run(run).state is RunState.COMPLETED, log
    assert record is not None
    assert [attempt.tasks[0].exit_code for attempt in record.attempts] == [137, 0]
    assert "kills itself after step" in log
    assert "rank 0 resumes after step 20" in log
    assert get_phases(files) == [
        ["init", "data", "train", "checkpoint_save"],
        ["init", "checkpoint_load", "data", "train", "eval"],
    ]
    metrics = get_metrics(files)
    assert 0 <= metrics["resumed_loss_difference"] < 1e-5
    assert metrics["loss"] == pytest.approx(get_metrics(uninterrupted)["loss"], rel=1e-5)
    assert [step["n"] for step in get_steps(files)][-30:] == list(range(21, STEPS + 1))
    of_run = {metric.name: metric.value for metric in record.metrics}
    assert of_run.keys() >= {"tokens_per_s", "step_p50_s", "step_p99_s", "checkpoint_save_s", "checkpoint_load_s"}
    assert of_run.keys() >= {f"recovery_s/{part}" for part in ("t0_rollback", "t1_scheduling", "t2_init", "t3_load")}
    assert of_run["tokens_per_s"] == of_run["nominal_tokens_per_s"], "every token is a real one"


def written(bench: Bench, run: Run) -> Mapping[str, str]:
    """What the run's job reported, by name."""
    start, objects = run_paths.output_path(run, bench.core.regions.profile("sandbox")), bench.objects()
    names = [stat.path for stat in objects.list(start) if stat.path.endswith((".jsonl", ".csv", ".json"))]
    return {path.removeprefix(start): content.decode() for path, content in objects.read_many(names).items()}

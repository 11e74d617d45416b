"""The tokens of pytorch_llm_pretrain: made from the seed alone, alike on every machine and for any number of ranks."""

import json
import subprocess
import sys

import pytest

from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.llm.llm_settings import LlmRun, list_unknown, read_llm
from aisbench_core.model import RunSpec

CODE = HOME / "workloads" / "pytorch_llm_pretrain" / "code"
SHA256 = {
    "nano": "7d2d3aef8ee90e5ee8a7177cf12c3612211ab1b3b8725b894193f92bfcd06f6c",
    "0.6B": "48236030c12bd41ffa49e11697167c3892b1dfe2c60e3615a2276a1870610a93",
}


def ask(script: str) -> str:
    """What a script prints that finds the workload's modules, in a process of its own, as in a job."""
    command = [sys.executable, "-W", "error", "-c", f"from packed_tokens import *\nfrom sizes import *\n{script}"]
    done = subprocess.run(command, cwd=CODE, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("size", ["nano", pytest.param("0.6B", marks=pytest.mark.slow)])
def test_the_tokens_of_a_seed_are_the_same_everywhere(size: str) -> None:
    assert ask(f"print(hash_tokens(SIZES[{size!r}], seed=1, steps=STEPS))") == SHA256[size]


def test_another_seed_makes_other_tokens() -> None:
    assert ask("print(hash_tokens(SIZES['nano'], seed=2, steps=STEPS))") != SHA256["nano"]


def test_ranks_share_the_batch_of_a_step_without_gaps_or_overlaps() -> None:
    script = """
whole = make_batch(SIZES["nano"], 1, step=3)
parts = [make_batch(SIZES["nano"], 1, 3, rank, ranks=4) for rank in range(4)]
print(whole.shape, parts[0].shape, all((part == whole[rank::4]).all() for rank, part in enumerate(parts)))
"""
    assert ask(script) == "(16, 129) (4, 129) True"


def test_the_held_out_batch_is_none_of_those_that_are_trained_on() -> None:
    script = """
held_out = {row.tobytes() for row in make_batch(SIZES["nano"], 1, HELD_OUT)}
trained = {row.tobytes() for step in range(1, STEPS + 1) for row in make_batch(SIZES["nano"], 1, step)}
print(len(held_out), len(trained), len(held_out & trained))
"""
    assert ask(script) == "16 800 0"


def test_sequences_are_packed_with_documents_of_tokens_that_mostly_follow_from_the_one_before() -> None:
    script = """
size = SIZES["0.6B"]
batch = make_batch(size, 1, step=1, ranks=8)
print(batch.min(), batch.max() < size.vocab, round(float((batch == END_OF_DOCUMENT).mean()) * 512))
print(round(float((batch[:, 1:] - batch[:, :-1] == 7).mean()), 1))
"""
    assert ask(script).splitlines() == ["0 True 1", "0.7"]


@pytest.mark.parametrize("size", ["nano", "0.6B", "1.7B", "8B"])
def test_the_manifest_states_what_the_code_trains(size: str) -> None:
    code = json.loads(ask(f"import json\nprint(json.dumps(SIZES[{size!r}]._asdict()))"))
    run = read_manifest(size)

    assert run.shape
    shape = run.shape.model_dump()
    assert shape.pop("qk_norm") is True
    assert shape == {name: code[name] for name in shape}
    assert (run.sequence, run.settings["global_batch_size"]) == (code["sequence"], code["global_batch"])
    assert f"{run.window.first} {run.window.last}" == ask("print(FIRST_MEASURED, STEPS)")


def read_manifest(size: str) -> LlmRun:
    workload = Workloads(HOME / "workloads").get("pytorch_llm_pretrain")
    spec = workload.fill_spec(RunSpec(workload=workload.name, parameters={"size": size}))
    run = read_llm(workload.facts(spec).speed_parameters)
    assert run
    return run


def test_every_setting_that_mlperf_demands_is_known_of_a_run() -> None:
    workload = Workloads(HOME / "workloads").get("pytorch_llm_pretrain")

    for parallel in ("ddp", "fsdp2"):
        spec = workload.fill_spec(RunSpec(workload=workload.name, parameters={"parallel": parallel}))
        speed = workload.facts(spec).speed_parameters
        assert list_unknown(speed) == []

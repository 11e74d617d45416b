"""Recorded runs that trained Qwen3-8B, with the metrics that the console computes of their steps."""

from dataclasses import replace
from typing import Any

from aisbench_core.domain.llm.chips import read_chips
from aisbench_core.domain.llm.derived import derive_training
from aisbench_core.domain.llm.llm_settings import LlmSection, read_llm
from aisbench_core.model import RunRecord, StepTime
from tests import records as a
from tests.unit.test_llm_flops import CONFIGS

SETTINGS: dict[str, Any] = {
    "shape": CONFIGS["Qwen3-8B"], "sequence_length": 4096, "global_batch_size": 32, "first_step": 11, "last_step": 50,
    "lowest_numerical_precision_in_linear": "bf16", "recomputation": "full", "tensor_parallelism": 1,
}  # fmt: skip


def trained(
    run_id: str, tokens: float, flavor: str, seconds: float = 8.0, accuracy: float = 0.76, **changes: Any
) -> RunRecord:
    """A run of 50 steps on eight ranks."""
    speed = LlmSection.model_validate(SETTINGS | changes).resolve({})
    record = a.record(run_id, throughputs=[100.0] * 8, speed_parameters=speed, flavor=flavor, accuracy=accuracy)
    steps = [
        StepTime(0, rank, rank, a.T0, number, a.T0, seconds, 0, tokens / 8)
        for rank in range(8)
        for number in range(1, 51)
    ]
    llm = read_llm(speed)
    assert llm
    return replace(record, metrics=tuple(derive_training(llm, steps, None, 8, flavor, read_chips())))

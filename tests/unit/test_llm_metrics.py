"""What the console computes of an LLM run: from ranks' reports or a log, and the same in every framework's style."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from aisbench_core.domain.llm.chips import read_chips
from aisbench_core.domain.llm.derived import derive_checkpoints, derive_loss, derive_target, derive_training
from aisbench_core.domain.llm.llm_settings import LlmRun, LlmSection, read_llm
from aisbench_core.domain.llm.training import describe_training, join_ranks
from aisbench_core.domain.progress.logged import LogMeasures
from aisbench_core.domain.results.progress import ProgressPoint, target_message
from aisbench_core.model import Better, MetricSource, PhaseName, PhaseSpan, RunMetric, StepTime
from tests.unit import test_logged_trainings as logged
from tests.unit.test_llm_flops import CONFIGS, sum_products

NOW = datetime(2026, 11, 1, tzinfo=UTC)
CHIP = "Ascend910B3"
PEAK = 294.912e12


def make_run(**changes: Any) -> LlmRun:
    settings = {
        "shape": CONFIGS["Qwen3-8B"], "sequence_length": 4096, "global_batch_size": 4, "first_step": 11,
        "last_step": 50, "lowest_numerical_precision_in_linear": "bf16", "recomputation": "none",
    }  # fmt: skip
    run = read_llm(LlmSection.model_validate(settings | changes).resolve({}))
    assert run
    return run


def step(number: int, seconds: float, tokens: float | None, rank: int = 0, attempt: int = 0) -> StepTime:
    began = NOW + timedelta(hours=attempt)
    return StepTime(0, rank, rank, began, number, began + timedelta(seconds=number), seconds, 0, tokens)


def by_name(metrics: Iterable[RunMetric]) -> dict[str, RunMetric]:
    return {metric.name: metric for metric in metrics}


def derive(times: list[StepTime], ranks: int = 2, chip: str = CHIP, **changes: Any) -> dict[str, RunMetric]:
    return by_name(derive_training(make_run(**changes), times, None, ranks, chip, read_chips()))


STEPS = [
    step(number, 2.0 + 0.1 * rank + (number == 20), 8_192, rank) for rank in (0, 1) for number in range(1, 61)
]  # fmt: skip


def test_a_step_takes_as_long_as_its_slowest_rank_and_has_the_tokens_of_all() -> None:
    metrics = derive(STEPS)
    seconds = 40 * 2.1 + 1

    assert metrics["tokens_per_s"].value == pytest.approx(40 * 16_384 / seconds)
    assert metrics["tokens_per_s"].definition == "tokens/counted/steps/11-50"
    assert metrics["tokens_per_s_per_die"].value == pytest.approx(20 * 16_384 / seconds)
    assert metrics["nominal_tokens_per_s"].value == pytest.approx(40 * 4 * 4096 / seconds)
    assert metrics["step_p50_s"] == RunMetric(
        "step_p50_s", 2.1, "s", Better.LOWER, definition="steps/11-50", source=MetricSource.CONSOLE
    )
    assert metrics["step_p99_s"].value == pytest.approx(2.1 + 0.61)


@pytest.mark.parametrize("formula", ["palm", "causal", "mindspeed_fsdp2"])
def test_mfu_names_its_formula_and_its_peak(formula: str) -> None:
    metrics = derive(STEPS)
    rate = metrics["tokens_per_s_per_die"].value

    mfu = metrics[f"mfu.{formula}"]
    assert mfu.value == pytest.approx(100 * rate * sum_products(formula, CONFIGS["Qwen3-8B"]) / PEAK, rel=1e-9)
    assert mfu.unit == "% of 294.912 bf16 TFLOPS"
    assert mfu.definition == f"{formula}/bf16/294.912/vendor/tokens/counted/steps/11-50"
    assert metrics[f"hfu.{formula}"].value == mfu.value, "nothing is computed again"


def test_no_two_chips_share_a_ranking_of_mfu() -> None:
    units = {derive(STEPS, chip=chip)["mfu.palm"].unit for chip in ("910B1", "910B2", "910B3", "910B4", "H100")}

    assert len(units) == 5


def test_a_card_of_two_dies_counts_once() -> None:
    metrics = derive(STEPS, chip="Snt9b23")

    assert metrics["tokens_per_s_per_card"].value == pytest.approx(2 * metrics["tokens_per_s_per_die"].value)


def test_without_a_known_chip_there_is_a_rate_and_no_mfu() -> None:
    metrics = derive(STEPS, chip="")

    assert "tokens_per_s_per_die" in metrics
    assert [name for name in metrics if name.startswith(("mfu", "hfu")) or name.endswith("card")] == []


def test_without_known_recomputation_there_is_no_hfu() -> None:
    metrics = derive(STEPS, recomputation=None)

    assert "mfu.palm" in metrics
    assert "hfu.palm" not in metrics


def test_tokens_are_nominal_where_nobody_counts_them() -> None:
    for tokens in (None, 0):
        metrics = derive([step(each.number, each.seconds, tokens, each.rank) for each in STEPS])

        assert metrics["tokens_per_s"].definition == "tokens/nominal/steps/11-50"
        assert metrics["tokens_per_s"].value == metrics["nominal_tokens_per_s"].value


def test_without_tokens_and_a_global_batch_there_is_no_rate_and_no_mfu() -> None:
    metrics = derive([step(each.number, each.seconds, 0, each.rank) for each in STEPS], global_batch_size=None)

    assert [name for name in metrics if name.startswith(("tokens", "mfu", "nominal"))] == []


def test_a_rank_that_did_not_count_its_tokens_leaves_no_rate_and_a_reason() -> None:
    metrics = derive([each for each in STEPS if each.rank == 0])
    training = describe_training(make_run(), metrics.values(), CHIP, read_chips())

    assert [name for name in metrics if name.startswith(("tokens", "mfu"))] == []
    assert "nominal_tokens_per_s" in metrics
    assert str(training.why_no_mfu) == "some ranks counted their tokens and others did not, so that there is no rate"


def test_a_step_that_one_rank_did_not_report_is_left_out_of_the_rate() -> None:
    short = [step(each.number, 2.0, 1000, each.rank) for each in STEPS]
    metrics = derive([each for each in short if (each.rank, each.number) != (1, 30)])

    assert metrics["tokens_per_s"].value == 1000
    assert metrics["tokens_per_s"].definition == "tokens/counted/steps/11-50"


def test_the_definition_names_the_steps_that_were_counted() -> None:
    metrics = derive([each for each in STEPS if (each.rank, each.number) != (1, 50)])

    assert metrics["tokens_per_s"].definition == "tokens/counted/steps/11-49"


@pytest.mark.parametrize("tokens", [8_192, None])
def test_servers_that_train_alone_add_up(tokens: float | None) -> None:
    times = [
        StepTime(server, rank, rank, NOW, number, NOW, 1.0 + server, 0, tokens)
        for server in (0, 1) for rank in (0, 1) for number in range(1, 61)
    ]  # fmt: skip

    metrics = by_name(derive_training(make_run(), times, None, 4, CHIP, read_chips(), servers=2))

    assert metrics["nominal_tokens_per_s"].value == pytest.approx(16_384 * 1.5)
    assert metrics["tokens_per_s"].value == pytest.approx(16_384 * 1.5)
    assert metrics["tokens_per_s_per_die"].value == pytest.approx(16_384 * 1.5 / 4)
    assert metrics["step_p50_s"].value == 1.5


def test_servers_have_no_common_rate_if_one_reports_nothing() -> None:
    metrics = by_name(derive_training(make_run(), STEPS, None, 4, CHIP, read_chips(), servers=2))

    assert [name for name in metrics if "tokens" in name or name.startswith("mfu")] == []


def test_a_share_above_the_peak_is_shown_and_not_stored() -> None:
    metrics = derive([step(each.number, 0.001, 8_192, each.rank) for each in STEPS])
    training = describe_training(make_run(), metrics.values(), CHIP, read_chips())

    assert [name for name in metrics if name.startswith(("mfu", "hfu"))] == []
    assert all(reading.mfu > 1 for reading in training.readings)


@pytest.mark.parametrize(("unit", "source"), [("ktokens/s", MetricSource.CONSOLE), ("tokens/s", MetricSource.JOB)])
def test_what_a_job_reports_as_its_rate_is_no_mfu(unit: str, source: MetricSource) -> None:
    reported = RunMetric("tokens_per_s_per_die", 3.0, unit, source=source)

    training = describe_training(make_run(), [reported], CHIP, read_chips())

    assert (training.readings, str(training.why_no_mfu)) == ((), "no tokens were counted within the measured steps")


def test_nothing_is_derived_of_steps_outside_the_window() -> None:
    assert derive(STEPS[:10]) == {}


def test_steps_that_a_later_attempt_repeats_count_as_it_made_them() -> None:
    again = [step(number, 4.0, 8_192, rank, attempt=1) for rank in (0, 1) for number in (12, 13)]

    joined = {one.number: one.seconds for one in join_ranks([*STEPS, *again], 2)}

    assert (joined[11], joined[12], joined[13], joined[14]) == (2.1, 4.0, 4.0, 2.1)


STYLES: dict[str, Callable[[int], str]] = {
    "Megatron-LM": logged.megatron,
    "MindSpeed-LLM": logged.mindspeed,
    "torchtitan": logged.torchtitan,
    "verl": logged.verl,
}


def test_one_training_printed_in_four_frameworks_styles_has_one_mfu() -> None:
    measured = {}
    for name, write in STYLES.items():
        lines = "".join(write(number) for number in range(1, logged.STEPS + 1))
        log = logged.measure(lines, 11, 50)
        metrics = by_name(
            derive_training(
                make_run(shape=CONFIGS["Qwen3-1.7B"], global_batch_size=32), [], log, logged.CARDS, CHIP, read_chips()
            )
        )
        measured[name] = metrics["mfu.palm"].value

    rate = logged.TOKENS / logged.average(11, 50) / logged.CARDS
    expected = 100 * rate * sum_products("palm", CONFIGS["Qwen3-1.7B"]) / PEAK
    assert measured == {name: pytest.approx(expected, rel=1e-3) for name in STYLES}


def derive_logged(log: LogMeasures, **changes: Any) -> dict[str, RunMetric]:
    run = make_run(shape=CONFIGS["Qwen3-1.7B"], global_batch_size=logged.BATCH, **changes)
    return by_name(derive_training(run, [], log, logged.CARDS, CHIP, read_chips()))


def test_a_log_that_prints_every_step_has_percentiles_and_jitter() -> None:
    log = logged.measure("".join(map(logged.megatron, range(1, logged.STEPS + 1))), 11, 50)
    seconds = [logged.seconds_of(number) for number in range(11, 51)]

    metrics = derive_logged(log)

    p50, p95, p99 = np.percentile(seconds, [50, 95, 99])
    assert [metrics[f"step_{name}_s"].value for name in ("p50", "p95", "p99")] == pytest.approx([p50, p95, p99])
    assert metrics["step_jitter"].value == pytest.approx(np.std(seconds, ddof=1) / np.mean(seconds))
    assert metrics["step_p99_s"].definition == "log/steps/11-50", "no ranking with those of the slowest rank"


@pytest.mark.parametrize(("tokens", "definition"), [(8_192, "counted/819200"), (None, "nominal/819200")])
def test_the_loss_says_after_how_many_tokens(tokens: float | None, definition: str) -> None:
    steps = [step(number, 2.0, tokens, rank) for rank in (0, 1) for number in range(1, 61)]
    log = LogMeasures(11, 50, loss=2.31, loss_step=50)

    [loss] = derive_loss(make_run(), log, join_ranks(steps, 2))

    assert (loss.name, loss.value, loss.definition) == ("loss_at_tokens", 2.31, f"loss/tokens/{definition}")
    assert list(derive_loss(make_run(global_batch_size=None), log, [])) == []
    assert list(derive_loss(make_run(), replace(log, loss=None), [])) == []


def phase(name: PhaseName, start: float, end: float | None, rank: int = 0) -> PhaseSpan:
    at = [None if seconds is None else NOW + timedelta(seconds=seconds) for seconds in (start, end)]
    assert at[0]
    return PhaseSpan(0, rank, rank, NOW, name, at[0], at[1])


def test_checkpoints_are_the_median_save_and_what_the_slowest_rank_was_blocked() -> None:
    save, load = PhaseName.CHECKPOINT_SAVE, PhaseName.CHECKPOINT_LOAD
    phases = [
        phase(load, 0, 7), phase(save, 10, 12), phase(save, 20, 24), phase(save, 30, None),
        phase(save, 10, 13, rank=1), phase(save, 20, 26, rank=1), phase(PhaseName.TRAIN, 0, 99),
        phase(save, 90, 30), phase(load, 90, 30),
    ]  # fmt: skip

    metrics = by_name(derive_checkpoints(phases))

    assert {name: metric.value for name, metric in metrics.items()} == {
        "checkpoint_save_s": 3.5,
        "checkpoint_blocked_s": 9,
        "checkpoint_load_s": 7,
    }


def test_a_target_that_was_reached_has_its_time_and_tokens_and_a_missed_one_nothing() -> None:
    steps = join_ranks(STEPS, 2)
    reached = target_message([ProgressPoint(30, 65.5, accuracy=0.8, epoch=3)], 0.75)

    assert reached
    metrics = by_name(derive_target(reached.values, steps))

    assert metrics["time_to_target_s"].value == 65.5
    assert metrics["tokens_to_target"].value == 30 * 16_384
    assert metrics["epochs_to_target"].value == 3
    assert list(derive_target({}, steps)) == []
    assert "tokens_to_target" not in by_name(derive_target(reached.values, steps[5:])), "the first steps are not known"


def test_a_description_says_how_tokens_were_counted_and_why_there_is_no_mfu() -> None:
    short = [step(each.number, each.seconds, 1000, each.rank) for each in STEPS]
    metrics = derive(short, chip="Snt9b").values()

    training = describe_training(make_run(), metrics, "Snt9b", read_chips())

    assert training.readings == ()
    assert str(training.why_no_mfu) == "Ascend 910B may be 910B1, 910B2, 910B3, 910B4: state which"
    assert training.rate.excess == pytest.approx(16_384 / 2000 - 1)


@pytest.mark.parametrize(
    ("changes", "times", "problem"),
    [
        ({}, STEPS[:10], "no tokens were counted within the measured steps"),
        ({"shape": {}}, STEPS, "the manifest does not state the model's shape and the sequence length"),
        ({"lowest_numerical_precision_in_linear": None}, STEPS, "no peak is known for precision 'unknown'"),
    ],
)
def test_a_missing_mfu_has_a_reason(changes: dict[str, Any], times: list[StepTime], problem: str) -> None:
    metrics = derive(times, **changes).values()

    training = describe_training(make_run(**changes), metrics, CHIP, read_chips())

    assert (training.readings, str(training.why_no_mfu)) == ((), problem)


@pytest.mark.parametrize(
    ("stated", "flavor", "name"),
    [
        ("", "modelarts.bm.npu.arm.8snt9b3.d", "modelarts.bm.npu.arm.8snt9b3.d"),
        ("NVIDIA H100", "modelarts.bm.npu.arm.8snt9b3.d", "NVIDIA H100"),
        ("Ascend 910B", "modelarts.bm.npu.arm.8snt9b3.d", "modelarts.bm.npu.arm.8snt9b3.d"),
        ("Own NPU", "sandbox.cpu", "Own NPU"),
        ("", "sandbox.cpu", ""),
        ("Ascend", "modelarts.bm.npu.arm.8snt9b3.d", "modelarts.bm.npu.arm.8snt9b3.d"),
        ("CPU", "sandbox.cpu", ""),
    ],
)
def test_the_description_names_the_chip_unless_the_flavor_says_more(stated: str, flavor: str, name: str) -> None:
    assert read_chips().choose_name(stated, flavor) == name

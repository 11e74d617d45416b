"""A log comes to the same rates in whatever style the same training is printed; a value that it lacks is empty."""

import io
from collections.abc import Callable

import pytest

from aisbench_core.domain.progress.logged import LoggedTraining, LogMeasures
from aisbench_core.domain.progress.patterns import ProgressPatterns
from aisbench_core.domain.progress.tracking import Tracker
from aisbench_core.domain.results.log_results import LogWindow, find_other_steps, with_log_result
from aisbench_core.exchange.readers.logs import read_log
from aisbench_core.exchange.readers.results import UPSTREAM_ZONE, ParsedResult, Unread
from tests import records as a
from tests.records import spec

CARDS, BATCH, SEQUENCE, STEPS = 8, 32, 4096, 50
TOKENS = BATCH * SEQUENCE  # of a step
MFU, TFLOPS, MEMORY = 0.4, 160.0, 40.5


def seconds_of(step: int) -> float:
    """The first step compiles, and one in ten is slow."""
    return 60.0 if step == 1 else 2.5 if step % 10 == 0 else 2.0


def average(first: int, last: int) -> float:
    return sum(map(seconds_of, range(first, last + 1))) / (last - first + 1)


def loss_of(step: int) -> float:
    return 10 - step / 10


def measure(
    lines: str, first: int = 1, last: int | None = None, unit: str = "tokens/s", batch: float | None = None
) -> LogMeasures:
    training = LoggedTraining(Tracker(spec(node_count=1, cards_per_node=CARDS, parameters={}), batch, unit=unit))
    training.add(ProgressPatterns().readings(lines.encode()))
    measures = training.measure(first, last)
    assert measures
    return measures


def megatron(step: int) -> str:
    return (
        f" [2026-01-03 10:11:12] iteration {step:8d}/{STEPS:8d} | consumed samples: {step * BATCH:12d} | elapsed time"
        f" per iteration (ms): {seconds_of(step) * 1000:.1f} | throughput per GPU (TFLOP/s/GPU): {TFLOPS:.1f} |"
        f" learning rate: 1.0E-04 | global batch size: {BATCH:5d} | lm loss: {loss_of(step):.6E} | grad norm: 1.000 |\n"
    )


def mindspeed(step: int) -> str:
    return (
        f" iteration {step:8d}/{STEPS:8d} | consumed samples: {step * BATCH:10d} | consumed tokens: {step * TOKENS:10d}"
        f" | elapsed time per iteration (ms): {seconds_of(step) * 1000:.2f} | tokens/s: {TOKENS / seconds_of(step):.2f}"
        f" | mfu: {MFU * 100:.2f} | global batch size: {BATCH:5d} | lm loss: {loss_of(step):.6E}"
        f" | grad norm: 1.000 | max_memory_allocated(GB): {MEMORY:.2f} | max_memory_reserved(GB): 44.00 |\n"
    )


def torchtitan(step: int) -> str:
    return (
        f"[titan] 2026-01-03 10:11:12,345 - root - INFO - \x1b[31mstep: {step:2}  \x1b[32mloss: {loss_of(step):8.5f}  "
        f"\x1b[38;2;180;60;0mgrad_norm:  1.0000  \x1b[38;2;54;234;195mmemory: {MEMORY:5.2f}GiB(63.28%)  \x1b[34mtps: "
        f"{round(TOKENS / CARDS / seconds_of(step)):,}  \x1b[36mtflops: {TFLOPS:,.2f}  \x1b[35mmfu: {MFU * 100:.2f}%"
        "\x1b[39m\n"
    )


def verl(step: int) -> str:
    seconds = seconds_of(step)
    return (
        f"(TaskRunner pid=3165) step:{step} - actor/pg_loss:np.float64({loss_of(step)}) - actor/grad_norm:1.0 - "
        f"perf/mfu/actor:{MFU} - perf/max_memory_allocated_gb:{MEMORY} - timing_s/step:{seconds} - "
        f"perf/total_num_tokens:{TOKENS} - perf/time_per_step:{seconds} - perf/throughput:{TOKENS / seconds / CARDS}\n"
    )


def llama_factory(step: int) -> str:
    elapsed = sum(map(seconds_of, range(1, step + 1)))
    clock = f"{int(elapsed) // 3600}:{int(elapsed) % 3600 // 60:02d}:{int(elapsed) % 60:02d}"
    return (
        f'{{"current_steps": {step}, "total_steps": {STEPS}, "loss": {loss_of(step)}, "lr": 1e-04, "epoch": {step / 50}'
        f', "percentage": {step * 2.0}, "elapsed_time": "{clock}", "remaining_time": "0:01:00", "throughput": '
        f'{step * TOKENS / elapsed:.2f}, "total_tokens": {step * TOKENS}}}\n'
    )


Print = Callable[[int], str]


def log_of(style: Print, every: int = 1) -> str:
    return "".join(style(step) for step in range(every, STEPS + 1, every))


@pytest.mark.parametrize("style", [mindspeed, torchtitan, verl, llama_factory])
def test_one_training_is_as_fast_in_whatever_style_it_is_printed(style: Print) -> None:
    measures = measure(log_of(style), 11, 50)

    within = 0.02 if style is llama_factory else 0.001  # whose clock shows whole seconds
    assert measures.tokens_per_s == pytest.approx(TOKENS / average(11, 50), rel=within)
    assert measures.throughput == measures.tokens_per_s
    assert measures.loss == pytest.approx(5.0)
    assert (measures.first, measures.last) == (11, 50)


@pytest.mark.parametrize(
    ("steps", "measured"),
    [
        (range(1, 61), (11, 50)),
        (range(40, 61), (40, 50)),  # its head was cut off
        (range(20, 1001, 20), (21, 40)),
        (range(10, 101, 10), (11, 50)),
    ],
)
@pytest.mark.parametrize("style", [mindspeed, torchtitan])
def test_the_steps_that_were_measured_are_those_that_lines_are_of(
    style: Callable[[int], str], steps: range, measured: tuple[int, int]
) -> None:
    measures = measure("".join(map(style, steps)), 11, 50)

    assert (measures.first, measures.last) == measured
    assert measures.ended == steps[-1]


@pytest.mark.parametrize("style", [mindspeed, torchtitan, verl])
def test_what_a_framework_says_of_its_use_is_reported(style: Print) -> None:
    measures = measure(log_of(style), 11)

    assert measures.mfu == pytest.approx(MFU)
    assert measures.memory_gb == MEMORY


def test_samples_come_from_the_batch_and_the_time_of_a_step() -> None:
    measures = measure(log_of(megatron), 11, 50, "samples/s")

    assert measures.step_s == pytest.approx(average(11, 50))
    assert measures.throughput == measures.samples_per_s == pytest.approx(BATCH / average(11, 50))
    assert measures.tflops == TFLOPS
    assert (measures.tokens_per_s, measures.mfu, measures.memory_gb) == (None, None, None)


def test_a_batch_that_no_line_names_is_that_of_the_parameters() -> None:
    lines = "".join(f"step {step}/50 loss {loss_of(step)} {seconds_of(step)} s/step\n" for step in range(1, 51))

    assert measure(lines, 11, unit="samples/s", batch=4).throughput == pytest.approx(4 * CARDS / average(11, 50))
    assert measure(lines, 11, unit="samples/s").throughput is None


def test_a_line_of_ten_steps_counts_only_where_all_ten_do() -> None:
    """The mean of the first ten holds the compilation."""
    lines = "".join(
        f"iteration {step}/{STEPS} | elapsed time per iteration (ms): {average(step - 9, step) * 1000} | global batch "
        f"size: {BATCH} | lm loss: 1.0 |\n"
        for step in range(10, 51, 10)
    )

    assert measure(lines, 2).step_s == pytest.approx(average(11, 50))
    assert measure(lines, 1).step_s == pytest.approx(average(1, 50))
    assert measure(lines, 15, 30).step_s == pytest.approx(average(21, 30))


def test_bars_tell_the_time_by_their_clock_and_not_by_the_speed_that_they_smooth() -> None:
    lines = "".join(
        f" {step * 2}%|█ | {step}/50 [{60 + 2 * (step - 1):02d}:00<00:10, 99.00s/it]\n"
        f"{{'loss': {loss_of(step)}, 'grad_norm': 1.0, 'learning_rate': 1e-4, 'epoch': {step / 50}}}\n"
        for step in range(1, 21)
    )

    measures = measure(lines, 2)

    assert measures.step_s == pytest.approx(120.0)
    assert measures.loss == loss_of(20)


def test_tokens_of_llama_factorys_log_come_from_its_mean_and_the_bars_clock() -> None:
    """Its log names only the mean since the beginning, which holds the first step."""
    lines = "".join(
        f"{step * 2}%|█ | {step}/50 [{(60 + step * 2) // 60:02d}:{(60 + step * 2) % 60:02d}<00:10, 9.00s/it]\n"
        f"{{'loss': 1.0, 'epoch': 0.1, 'throughput': {step * TOKENS / (60 + step * 2):.2f}}}\n"
        for step in range(1, 31)
    )

    assert measure(lines, 2).tokens_per_s == pytest.approx(TOKENS / 2, rel=1e-5)


def test_megatron_bridges_utilisation_is_of_the_step_that_follows_it() -> None:
    lines = "".join(
        f"Step Time : {seconds_of(step):.2f}s GPU utilization: {step * 10.0}MODEL_TFLOP/s/GPU\n"
        f" iteration {step}/{STEPS} | elapsed time per iteration (ms): {seconds_of(step) * 1000:.1f} | lm loss: 1.0 |\n"
        for step in range(1, 21)
    )

    measures = measure(lines, 11, 11)

    assert (measures.tflops, measures.step_s) == (110.0, 2.0)


def test_bars_of_other_work_are_no_steps() -> None:
    lines = (
        "Running tokenizer on dataset: 100%|██████████| 52002/52002 [00:30<00:00, 1733.40 examples/s]\n"
        "Loading checkpoint shards: 100%|██████████| 4/4 [00:08<00:00,  2.00s/it]\n"
        + log_of(megatron)
        + "Evaluating:  50%|█████     | 20/40 [10:00<00:10,  1.00it/s]\n"
    )

    measures = measure(lines, 11, unit="samples/s")

    assert measures.last == STEPS
    assert measures.step_s == pytest.approx(average(11, 50))


def test_a_log_without_steps_or_with_negative_ones_measures_nothing() -> None:
    training = LoggedTraining(Tracker(spec()))
    training.add(ProgressPatterns().readings(b"iteration -5/ 100 | lm loss: 1.0 |\nstep -71 of 1000 loss 2\nhello\n"))

    assert training.measure() is None


def test_a_window_after_the_last_step_measures_nothing() -> None:
    training = LoggedTraining(Tracker(spec()))
    training.add(ProgressPatterns().readings(log_of(megatron).encode()))

    assert training.measure(51) is None


def read(lines: str, name: str = "train.log") -> list[ParsedResult | Unread]:
    return list(read_log(io.BytesIO(lines.encode()), name, UPSTREAM_ZONE))


@pytest.mark.parametrize("style", [mindspeed, torchtitan, verl, llama_factory])
def test_a_log_of_a_framework_is_imported_as_a_result(style: Print) -> None:
    (result,) = read("hello\n" + log_of(style) + "bye\n")

    assert isinstance(result, ParsedResult)
    cards = CARDS if result.is_per_card else 1
    within = 0.02 if style is llama_factory else 0.001
    assert result.info.throughput_ratio == pytest.approx(TOKENS / average(11, 50) / cards, rel=within)
    assert result.throughput_unit == "tokens/s"
    assert result.is_per_card is (style in (torchtitan, verl))
    assert {metric.name: metric.value for metric in result.metrics}["loss"] == pytest.approx(5.0)


def test_samples_count_where_no_tokens_are_printed() -> None:
    (result,) = read(log_of(megatron))

    assert isinstance(result, ParsedResult)
    assert (result.throughput_unit, result.is_per_card) == ("samples/s", False)
    assert result.info.throughput_ratio == pytest.approx(BATCH / average(11, 50))
    assert "what Megatron-LM printed of the steps 11 to 50" in [str(remark) for remark in result.remarks]


def test_a_short_log_is_measured_without_its_first_step() -> None:
    (result,) = read("".join(map(mindspeed, range(1, 6))))

    assert isinstance(result, ParsedResult)
    assert result.info.throughput_ratio == pytest.approx(TOKENS / average(2, 5), rel=0.001)


def test_a_log_that_tells_no_speed_is_no_result() -> None:
    (unread,) = read("step 1/50 loss 2.0\nstep 2/50 loss 1.5\n")

    assert isinstance(unread, Unread)


def test_each_step_that_a_log_prints_is_measured() -> None:
    every, tenth = measure(log_of(megatron), 11, 50), measure(log_of(megatron, 10), 11, 50)

    assert dict(every.step_times) == pytest.approx({step: seconds_of(step) for step in range(11, 51)})
    assert tenth.step_times == (), "means of ten steps are no steps"


@pytest.mark.parametrize(("first", "last"), [(11, 30), (15, 24)])
def test_lines_that_reach_over_the_windows_ends_are_named_as_the_reason(first: int, last: int) -> None:
    log = measure(log_of(megatron, 20), first, last)

    result = with_log_result(a.result(spec(), [1.0]), [log], LogWindow(first, last), spec(), "samples")
    (problem,) = result.problems

    assert (log.throughput, log.apart) == (None, 20)
    assert str(problem) == f"no line of the log is of steps {first} to {last} alone: they are 20 steps apart"


@pytest.mark.parametrize(
    ("every", "first", "last", "steps"),
    [(1, 11, 50, ""), (10, 11, 50, ""), (20, 11, 50, "21 to 40"), (1, 11, None, ""), (20, 11, None, "21 to 40")],
)
def test_fewer_steps_than_the_window_declares_are_named(every: int, first: int, last: int | None, steps: str) -> None:
    log = measure(log_of(megatron, every), first, last, unit="samples/s")

    messages = [str(message) for message in find_other_steps([log, None], LogWindow(first, last))]

    window = f"{first}-{last or ''}"
    expected = f"the log's lines are of several steps: the throughput is of steps {steps} of {window}"
    assert messages == ([expected] if steps else [])

"""Results of jobs whose scripts write no result files: what a framework prints in its log between two steps."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from aisbench_core.base.messages import Message
from aisbench_core.domain.progress.logged import LogMeasures
from aisbench_core.domain.results.train_result_info import render_block
from aisbench_core.model import Better, CollectedResult, MetricSource, Mode, RunMetric, RunSpec, Scalar, ServerResult

RESULT_FROM = "result_from"
"""The name under which the window is among the parameters that decide speed: other steps are another measurement."""

_FROM_LOG = "log "


@dataclass(frozen=True, slots=True)
class LogWindow:
    """The steps that count, both included; `last` None: to the end of the training."""

    first: int
    last: int | None = None

    def __str__(self) -> str:
        return f"{_FROM_LOG}{self.first}-{self.last or ''}"


def read_window(speed_parameters: Mapping[str, Scalar] | None) -> LogWindow | None:
    """The window of a run whose result is in its log, as its launch noted it."""
    text = str((speed_parameters or {}).get(RESULT_FROM, ""))
    first, _, last = text.removeprefix(_FROM_LOG).partition("-")
    if not text.startswith(_FROM_LOG) or not first.isdigit():
        return None
    return LogWindow(int(first), int(last) if last.isdigit() else None)


def with_log_result(
    result: CollectedResult, logs: Sequence[LogMeasures | None], window: LogWindow, spec: RunSpec, unit: str
) -> CollectedResult:
    """The result of what the logs come to: one of the job, or of each server that trained alone.

    Times, accuracy and data set stay those of files, if there are any."""
    throughputs = [log.throughput if log else None for log in logs]
    measured = [throughput for throughput in throughputs if throughput is not None]
    info = replace(result.info, throughput_ratio=fmean(measured) if len(measured) == len(logs) else None)
    is_cluster = spec.mode is Mode.CLUSTER
    return replace(
        result,
        ranks_expected=0,
        rank_results=(),
        info=info,
        raw=render_block(info),
        problems=tuple(dict.fromkeys(_find_problems(logs, window, unit))),
        server_results=() if is_cluster else tuple(_list_servers(result, throughputs)),
    )


def list_log_metrics(log: LogMeasures) -> Iterator[RunMetric]:
    """What else the log says, as the framework reports it."""
    within = f"log/steps/{log.first}-{log.last}"
    for name, value, unit, better in (
        ("tokens_per_s", log.tokens_per_s, "tokens/s", Better.HIGHER),
        ("samples_per_s", log.samples_per_s, "samples/s", Better.HIGHER),
        ("step_mean_s", log.step_s, "s", Better.LOWER),
        ("loss", log.loss, "", Better.LOWER),
        ("reported_mfu", None if log.mfu is None else 100 * log.mfu, "%", Better.HIGHER),
        ("reported_tflops_per_card", log.tflops, "TFLOPS", Better.HIGHER),
        ("reported_memory_gb", log.memory_gb, "GB", Better.LOWER),
    ):
        if value is not None:
            yield RunMetric(name, value, unit, better, definition=within, source=MetricSource.LOG)


def _find_problems(logs: Sequence[LogMeasures | None], window: LogWindow, unit: str) -> Iterator[Message]:
    for log in logs:
        if log is None:
            last = Message("the end") if window.last is None else window.last
            yield Message("the log names no step from {first} to {last}", first=window.first, last=last)
        elif log.throughput is None and log.apart:
            yield Message(
                "no line of the log is of steps {first} to {last} alone: they are {apart} steps apart",
                first=window.first,
                last=Message("the end") if window.last is None else window.last,
                apart=log.apart,
            )
        elif log.throughput is None:
            yield Message("the log does not say how many {unit} it trains", unit=unit)
        elif window.last is not None and log.ended < window.last:
            yield Message("the log ends at step {found}, before step {last}", found=log.ended, last=window.last)


def find_other_steps(logs: Sequence[LogMeasures | None], window: LogWindow) -> Iterator[Message]:
    """Where lines reach over an end of the window, so that fewer steps were measured than it declares."""
    for log in logs:
        if log and log.throughput is not None and (log.first, log.last) != (window.first, window.last or log.last):
            yield Message(
                "the log's lines are of several steps: the throughput is of steps {first} to {last} of {window}",
                first=log.first,
                last=log.last,
                window=f"{window.first}-{window.last or ''}",
            )


def _list_servers(result: CollectedResult, throughputs: Sequence[float | None]) -> Iterator[ServerResult]:
    accuracies = {server.server: server.accuracy for server in result.server_results}
    for server, throughput in enumerate(throughputs):
        yield ServerResult(server, throughput, accuracies.get(server))

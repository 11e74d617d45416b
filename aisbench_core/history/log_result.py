"""From a run's lines in a log, with or without its block, to its result."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isclose

from aisbench_core.history.found import FoundResult
from aisbench_core.history.identity import identities, of_ranks
from aisbench_core.history.log_block import Block
from aisbench_core.history.log_run import LogRun, stamp
from aisbench_core.history.packages import told_by
from aisbench_core.messages import Message
from aisbench_core.model import TrainResultInfo
from aisbench_core.results.train_result_info import ReadBlock, is_stamped


def from_block(block: Block, run: LogRun, source: str, number: int) -> FoundResult:
    """The result of a run whose block was read; what the block lacks comes from the report."""
    read = block.read(run.zone)
    problems = [*read.problems, *run.problems, *_differences(read.info, run)]
    if not block.is_complete:
        problems.insert(0, Message("the block train_result_info is cut off"))
    info = replace(
        read.info,
        throughput_ratio=read.info.throughput_ratio or run.throughput,
        accuracy=run.accuracy if read.info.accuracy is None else read.info.accuracy,
    )
    values: Mapping[str, object] = {"block": read.told, "report": {} if _tells_apart(read) else _report(run)}
    found = _result(run, source, number, info, values)
    ended_at = info.total_end_time or stamp(block.before, run.zone)
    return replace(
        found,
        rehearsal=is_stamped(block.raw),
        raw=block.raw,
        placeholders=read.placeholders,
        ended_at=ended_at,
        problems=tuple(dict.fromkeys(problems)),
    )


def from_report(run: LogRun, source: str, number: int) -> FoundResult:
    """The result of a run that ended without its block: train_modelarts.py alone prints none."""
    info = TrainResultInfo(throughput_ratio=run.throughput, accuracy=run.accuracy)
    values = of_ranks(run.rank_results(), run.accuracy) if run.ranks else {"report": _report(run)}
    return _result(run, source, number, info, values)


def _result(run: LogRun, source: str, number: int, info: TrainResultInfo, values: Mapping[str, object]) -> FoundResult:
    told = told_by(run.workpath, source)
    identity, values_identity = identities(values, run.job)
    node_count, cards_per_node = run.size()
    return FoundResult(
        source=source,
        number=number,
        identity=identity,
        values_identity=values_identity,
        raw="\n".join(run.lines),
        info=info,
        workload=told.workload,
        model=told.model,
        framework=told.framework,
        framework_version=told.framework_version,
        workpath=run.workpath,
        config_info=run.config_info,
        job_id=run.job_id,
        job_name=run.job_name,
        mode=run.mode,
        node_count=node_count,
        cards_per_node=cards_per_node,
        flavor=run.flavor,
        engine_version=run.engine_version,
        ranks_expected=len(run.ranks) or None,
        rank_results=run.rank_results(),
        server_throughputs=tuple(run.servers[server] for server in sorted(run.servers)),
        server_accuracies=run.accuracies,
        started_at=info.total_start_time or run.begun_at or run.created_at,
        problems=tuple(run.problems),
    )


def _differences(info: TrainResultInfo, run: LogRun) -> Iterator[str]:
    for name, block, report in (
        ("throughput_ratio", info.throughput_ratio, run.throughput),
        ("accuracy", info.accuracy, run.accuracy),
    ):
        if block is not None and report is not None and not isclose(block, report, rel_tol=1e-9):
            yield Message(
                "the block's {name} is {block!r}, and the report above it says {report!r}",
                name=name,
                block=block,
                report=report,
            )
        if block is None and report is not None:
            yield Message("{name} comes from the report above the block", name=name)


def _tells_apart(read: ReadBlock) -> bool:
    """Whether the block alone tells its run from all others: a throughput and when it was, to the second."""
    return None not in (read.info.throughput_ratio, read.info.total_start_time, read.info.total_end_time)


def _report(run: LogRun) -> dict[str, object]:
    return {
        "throughput": run.throughput,
        "accuracy": run.accuracy,
        "ranks": [[rank.server, rank.rank, rank.throughput] for rank in run.rank_results()],
        "servers": [run.servers[server] for server in sorted(run.servers)],
    }

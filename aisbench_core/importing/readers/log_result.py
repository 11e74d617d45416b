"""Builds the result of a run in a log, from its block or its report."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isclose

from aisbench_core.importing.readers.identity import identities, rank_values
from aisbench_core.importing.readers.log_block import Block
from aisbench_core.importing.readers.log_run import LogRun, stamp
from aisbench_core.importing.readers.packages import package_facts
from aisbench_core.importing.readers.results import ParsedResult
from aisbench_core.messages import Message
from aisbench_core.model import TrainResultInfo
from aisbench_core.results.train_result_info import is_stamped


def from_block(block: Block, run: LogRun, source: str, number: int) -> ParsedResult:
    """The result of a run with a block; values that the block lacks come from the report."""
    content = block.read(run.zone)
    problems = [*content.problems, *run.problems, *_differences(content.info, run)]
    if not block.is_complete:
        problems.insert(0, Message("the block train_result_info is truncated"))
    info = content.info
    # A throughput and times to the second identify a run; otherwise the report has to help.
    is_unique = None not in (info.throughput_ratio, info.total_start_time, info.total_end_time)
    values: Mapping[str, object] = {"block": content.texts, "report": {} if is_unique else _report(run)}
    info = replace(
        info,
        throughput_ratio=info.throughput_ratio or run.throughput,
        accuracy=run.accuracy if info.accuracy is None else info.accuracy,
    )
    return replace(
        _result(run, source, number, info, values),
        rehearsal=is_stamped(block.raw),
        raw=block.raw,
        placeholders=content.placeholders,
        ended_at=info.total_end_time or stamp(block.before, run.zone),
        problems=tuple(dict.fromkeys(problems)),
    )


def from_report(run: LogRun, source: str, number: int) -> ParsedResult:
    """The result of a run without a block, such as of train_modelarts.py, which prints none."""
    info = TrainResultInfo(throughput_ratio=run.throughput, accuracy=run.accuracy)
    values = rank_values(run.rank_results(), run.accuracy) if run.ranks else {"report": _report(run)}
    return _result(run, source, number, info, values)


def _result(run: LogRun, source: str, number: int, info: TrainResultInfo, values: Mapping[str, object]) -> ParsedResult:
    identity, values_identity = identities(values, run.job)
    node_count, cards_per_node = run.size()
    return ParsedResult(
        source=source,
        number=number,
        identity=identity,
        values_identity=values_identity,
        raw="\n".join(run.lines),
        info=info,
        **package_facts(run.workpath, source),
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
        started_at=info.total_start_time or run.started_at or run.created_at,
        problems=tuple(run.problems),
    )


def _differences(info: TrainResultInfo, run: LogRun) -> Iterator[Message]:
    for name, block, report in (
        ("throughput_ratio", info.throughput_ratio, run.throughput),
        ("accuracy", info.accuracy, run.accuracy),
    ):
        if block is not None and report is not None and not isclose(block, report, rel_tol=1e-9):
            yield Message(
                "the block's {name} is {block!r}, but the report above it says {report!r}",
                name=name,
                block=block,
                report=report,
            )
        if block is None and report is not None:
            yield Message("{name} comes from the report above the block", name=name)


def _report(run: LogRun) -> dict[str, object]:
    return {
        "throughput": run.throughput,
        "accuracy": run.accuracy,
        "ranks": [[rank.server, rank.rank, rank.throughput] for rank in run.rank_results()],
        "servers": [run.servers[server] for server in sorted(run.servers)],
    }

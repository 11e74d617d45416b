"""Collects the block train_result_info of a run in a log, and builds its result from the block or its report."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import tzinfo
from functools import lru_cache
from math import isclose

from aisbench_core.importing.readers.identity import identities, rank_values
from aisbench_core.importing.readers.lines import plain
from aisbench_core.importing.readers.log_run import LogRun, stamp
from aisbench_core.importing.readers.packages import package_facts
from aisbench_core.importing.readers.results import ParsedResult
from aisbench_core.messages import Message
from aisbench_core.model import TrainResultInfo
from aisbench_core.results.train_result_info import KEYS, ReadBlock, is_stamped, read

# Far more than a block has, even with lines of other programs in between.
MOST_LINES = 400
MOST_CHARACTERS = 64 * 1024


class Block:
    """A block that grows line by line.

    `before`: the text before it in its first line. A headless block starts before the log does, or is a whole file."""

    def __init__(self, before: str, *, is_headless: bool = False) -> None:
        self.before, self.is_headless = before, is_headless
        self._parts: list[str] = []
        self._depth = self._lines = self._size = 0
        self.is_complete = self.is_over = False

    def add(self, line: str) -> str:
        """Add a line, and return the rest of it behind the end of the block."""
        start = 0 if self._parts or self.is_headless else line.find("{")
        if start < 0:
            self._count(line)
            return ""
        if self.is_headless and not self._parts and not line.startswith("{"):
            self._depth = 1  # its first brace is before the log, or in a line that was not recognized
        for position in range(start, len(line)):
            if line[position] in "{}":
                self._depth += 1 if line[position] == "{" else -1
                if self._depth == 0:
                    self._parts.append(line[start : position + 1])
                    self.is_complete = self.is_over = True
                    return line[position + 1 :]
        self._parts.append(line[start:])
        self._count(line)
        return ""

    @property
    def raw(self) -> str:
        """The block's text as in the log."""
        return "".join(self._parts)

    def read(self, zone: tzinfo) -> ReadBlock:
        """The parsed block."""
        return _parsed(self.raw, zone)

    def is_result(self, zone: tzinfo) -> bool:
        """Whether it has values. Without a header, other JSON could have one or two of its keys by chance."""
        keys = self.read(zone).texts.keys() & KEYS
        return bool(keys) and (not self.is_headless or "throughput_ratio" in keys or len(keys) > 2)

    def _count(self, line: str) -> None:
        self._lines += 1
        self._size += len(line)
        self.is_over = self._lines >= MOST_LINES or self._size >= MOST_CHARACTERS


@lru_cache(maxsize=1)  # every block is parsed twice: to see whether it is one, and for its result
def _parsed(raw: str, zone: tzinfo) -> ReadBlock:
    return read(plain(raw), zone)


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

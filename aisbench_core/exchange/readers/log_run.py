"""Collects the lines of a log about one run and its block train_result_info, and builds the result of both."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from math import isclose

from aisbench_core.base.errors import ResultError
from aisbench_core.base.messages import Message
from aisbench_core.domain.results.train_result_info import (
    KEYS,
    ReadBlock,
    is_stamped,
    read_block,
    read_measure,
    read_time,
)
from aisbench_core.exchange.readers.lines import strip_control_codes
from aisbench_core.exchange.readers.names import package_facts
from aisbench_core.exchange.readers.results import ParsedResult, compute_identities, rank_values
from aisbench_core.model import Mode, RankResult, TrainResultInfo

MOST_RANKS = 65536
MOST_RAW = 64 * 1024


@dataclass(slots=True)
class LogRun:
    """One run, updated line by line. Throughputs are in samples/s."""

    zone: tzinfo
    workpath: str = ""
    config_info: str = ""
    job_id: str = ""
    job_version: str = ""
    job_name: str = ""
    flavor: str = ""
    engine_version: str = ""
    mode: Mode | None = None
    node_count: int | None = None
    ranks: dict[tuple[int, int], float] = field(default_factory=dict)
    servers: dict[int, float] = field(default_factory=dict)
    accuracies: tuple[float, ...] = ()
    throughput: float | None = None
    accuracy: float | None = None
    started_at: datetime | None = None
    created_at: datetime | None = None
    lines: list[str] = field(default_factory=list)
    raw_size: int = 0
    problems: list[Message] = field(default_factory=list)

    @property
    def job(self) -> str:
        """The job; in API v1, all runs of one name are versions of one job."""
        return f"{self.job_id} {self.job_version}".strip()

    @property
    def is_measured(self) -> bool:
        """Whether a report was printed."""
        return self.throughput is not None or self.accuracy is not None

    @property
    def has_begun(self) -> bool:
        """Whether any line was about this run."""
        return bool(self.job_id or self.workpath or self.ranks or self.servers)

    def ends_before(self, text: str) -> bool:
        """Whether this line is about the next run: it starts a job, or is another report."""
        if "create " in text and (match := _CREATED.search(text)):
            is_other = _get_job_ids(dict(_CREATED_PART.findall(match[1]))) != (self.job_id, self.job_version)
            return bool(self.job_id or self.is_measured) and is_other
        if "session config:" in text:
            return bool(self.job_id) or self.is_measured
        if self.throughput is None:
            return False
        reported = _TOTAL.search(text) or _LIST.search(text)
        return reported is not None and self.throughput != _parse_measure("throughput_ratio", reported["total"])

    def read(self, text: str) -> bool:
        """Read a line; False if it is not one of upstream's."""
        for word, pattern, parse in _GRAMMAR:
            # The word first: `in` is far faster than a pattern, and most lines have none of them.
            if word in text and (match := pattern.search(text)):
                parse(self, match)
                if parse in _REPORTING and self.raw_size < MOST_RAW:
                    self.lines.append(text.strip("\r\n"))
                    self.raw_size += len(self.lines[-1])
                return True
        return False

    def size(self) -> tuple[int | None, int | None]:
        """Nodes and cards per node, if known: 16 cards may be in one node or in two."""
        if self.mode is Mode.SINGLE_SERVER:
            counts = Counter(server for server, _ in self.ranks)
            is_uniform = len(counts) == len(self.servers) and len({*counts.values()}) == 1
            return self.node_count or len(self.servers) or None, counts[0] if is_uniform else None
        if self.node_count and self.ranks and len(self.ranks) % self.node_count == 0:
            return self.node_count, len(self.ranks) // self.node_count
        return self.node_count, None

    def rank_results(self) -> tuple[RankResult, ...]:
        """Every rank with its throughput, in order."""
        return tuple(RankResult(server, rank, self.ranks[server, rank]) for server, rank in sorted(self.ranks))


def _get_job_ids(fields: dict[str, str]) -> tuple[str, str]:
    return fields.get("job_id") or fields.get("id", ""), fields.get("version_name", "")


def _read_creation(run: LogRun, match: re.Match[str]) -> None:
    fields = dict(_CREATED_PART.findall(match[1]))
    run.job_id, run.job_version = _get_job_ids(fields)
    run.job_name = fields.get("job name") or fields.get("name") or run.job_name
    time = fields.get("create_time", "")
    if time.isascii() and time.isdigit():
        seconds = int(time) / 1000 if int(time) > 10**11 else int(time)  # milliseconds, or seconds in older versions
        run.created_at = datetime.fromtimestamp(seconds, UTC) if seconds < 7 * 10**9 else None


def _read_job_name(run: LogRun, match: re.Match[str]) -> None:
    run.job_name = run.job_name or match[1]


def _read_session(run: LogRun, match: re.Match[str]) -> None:
    fields = {key: quoted or bare for key, quoted, bare in _SESSION_PART.findall(match[1])}
    run.flavor = fields.get("train_instance_type", "")
    run.engine_version = fields.get("framework_version", "")
    count = fields.get("train_instance_count", "")
    is_count = count.isascii() and count.isdigit() and len(count) < 6
    run.node_count = (int(count) if is_count else 0) or run.node_count
    run.job_name = run.job_name or fields.get("job_name", "")


def _read_workpath(run: LogRun, match: re.Match[str]) -> None:
    run.workpath = match[1].strip()
    run.started_at = read_stamp(match.string, run.zone) or run.started_at


def _read_config_info(run: LogRun, match: re.Match[str]) -> None:
    run.config_info = match[1].strip()


def _read_rank(run: LogRun, match: re.Match[str]) -> None:
    value, rank = _parse_measure("throughput_ratio", match[3]), int(match[1])
    server_url = _SERVER_URL.search(match[2])
    server = int(server_url[1]) if server_url and run.mode is Mode.SINGLE_SERVER else 0
    if value is not None and len(run.ranks) < MOST_RANKS:
        run.ranks[server, rank] = value


def _read_server(run: LogRun, match: re.Match[str]) -> None:
    value = _parse_measure("throughput_ratio", match[2])
    run.mode = Mode.SINGLE_SERVER
    if value is not None and len(run.servers) < MOST_RANKS:
        run.servers[int(match[1])] = value


def _read_total(run: LogRun, match: re.Match[str]) -> None:
    run.mode = Mode.CLUSTER  # upstream prints a total only in this mode
    run.throughput = _read_reported_measure(run, "throughput_ratio", match["total"])


def _read_accuracy(run: LogRun, match: re.Match[str]) -> None:
    run.accuracy = _read_reported_measure(run, "accuracy", match[1])


def _read_throughputs(run: LogRun, match: re.Match[str]) -> None:
    run.mode = Mode.SINGLE_SERVER
    run.throughput = _read_reported_measure(run, "throughput_ratio", match["total"])
    values = [_parse_measure("throughput_ratio", part) for part in match[1].split(",")]
    if None not in values:  # otherwise the positions would be wrong
        run.servers = {server: value for server, value in enumerate(values) if value is not None}
        run.node_count = run.node_count or len(values)


def _read_accuracies(run: LogRun, match: re.Match[str]) -> None:
    run.accuracy = _read_reported_measure(run, "accuracy", match[2])
    values = [_parse_measure("accuracy", part) for part in match[1].split(",")]
    run.accuracies = tuple(value for value in values if value is not None) if None not in values else ()


def _read_reported_measure(run: LogRun, key: str, text: str) -> float | None:
    try:
        return read_measure(key, text)
    except ResultError as error:
        run.problems.append(Message("the report's {problem}", problem=error.message))
        return None


def _parse_measure(key: str, text: str) -> float | None:
    try:
        return read_measure(key, text)
    except ResultError:
        return None


def read_stamp(text: str, zone: tzinfo) -> datetime | None:
    """The time at the beginning of a line, if any."""
    match = _STAMP.search(text)
    try:
        return read_time(match[1], zone) if match else None
    except ResultError:
        return None


def is_upstream_line(text: str) -> bool:
    """Whether a line is one of upstream's, none of which occurs inside a block."""
    return any(word in text and pattern.search(text) for word, pattern, _ in _GRAMMAR)


_VALUE = r"([-+.\w]+)"
_DIGITS = r"(\d{1,5})"
# A URL, which may contain blanks, up to the next field: in linear time, because no match runs into the next one.
_URL = r"(?:(?! url:| read throughput:)[^\n])*"

_STAMP = re.compile(r"\[?(\d{4}-\d{1,2}-\d{1,2}[ T]\d{1,2}:\d{2}:\d{2})", re.ASCII)
_CREATED = re.compile(r"create (?:job )?suc+ess\.?[ ,]*(.*)")
_CREATED_PART = re.compile(r"\b(job_id|id|job name|name|version_name|create_time):\s*(\S+)")
_SESSION = re.compile(r"session config:(.*)")
_SESSION_PART = re.compile(
    r"""['"](train_instance_type|framework_version|train_instance_count|job_name)['"]:\s*(?:['"]([^'"]*)['"]|(\d+))"""
)
_SERVER_URL = re.compile(r"/(\d{1,5})/throughput_\d+\.json", re.ASCII)
_TOTAL = re.compile(r"report result total_throughput\s*:\s*(?P<total>[-+.\w]+)")
_LIST = re.compile(r"throughput_list:\s*+\[([^\[\]]*+)\]\s*+average:\s*(?P<total>[-+.\w]+)")
_SERVICE = re.compile(rf"serverid:\s*+{_DIGITS} (?:(?!serverid:).)*?service_throughput:\s*+{_VALUE}", re.ASCII)

# Upstream's lines: a word that they contain, their pattern, and its parser.
_GRAMMAR: tuple[tuple[str, re.Pattern[str], Callable[[LogRun, re.Match[str]], None]], ...] = (
    ("create ", _CREATED, _read_creation),
    ("session config:", _SESSION, _read_session),
    ("inputs:", re.compile(r"\bjob_name:([^\s:]++) ret instance:"), _read_job_name),
    ("workpath:", re.compile(r"workpath:\s*+(\S.*?)(?: go testcase|$)", re.M), _read_workpath),
    ("ConfigInfo", re.compile(r"(?:get )?ConfigInfo (.+)"), _read_config_info),
    (
        "read throughput:",
        re.compile(rf"rankid:\s*+{_DIGITS} url:({_URL}) read throughput:\s*+{_VALUE}", re.ASCII),
        _read_rank,
    ),
    ("service_throughput:", _SERVICE, _read_server),
    ("total_throughput", _TOTAL, _read_total),
    ("result accuracy", re.compile(rf"report result accuracy\s*:\s*{_VALUE}"), _read_accuracy),
    ("throughput_list:", _LIST, _read_throughputs),
    ("accuracy_list:", re.compile(rf"accuracy_list:\s*+\[([^\[\]]*+)\]\s*+average:\s*+{_VALUE}"), _read_accuracies),
)

_REPORTING = frozenset({_read_rank, _read_server, _read_total, _read_accuracy, _read_throughputs, _read_accuracies})


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
            self._count_line(line)
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
        self._count_line(line)
        return ""

    @property
    def raw(self) -> str:
        """The block's text as in the log."""
        return "".join(self._parts)

    def read(self, zone: tzinfo) -> ReadBlock:
        """The parsed block."""
        return _parse_block(self.raw, zone)

    def is_result(self, zone: tzinfo) -> bool:
        """Whether it has values. Without a header, other JSON could have one or two of its keys by chance."""
        keys = self.read(zone).texts.keys() & KEYS
        return bool(keys) and (not self.is_headless or "throughput_ratio" in keys or len(keys) > 2)

    def _count_line(self, line: str) -> None:
        self._lines += 1
        self._size += len(line)
        self.is_over = self._lines >= MOST_LINES or self._size >= MOST_CHARACTERS


@lru_cache(maxsize=1)  # every block is parsed twice: to see whether it is one, and for its result
def _parse_block(raw: str, zone: tzinfo) -> ReadBlock:
    return read_block(strip_control_codes(raw), zone)


def from_block(block: Block, run: LogRun, source: str, number: int) -> ParsedResult:
    """The result of a run with a block; values that the block lacks come from the report."""
    content = block.read(run.zone)
    problems = [*content.problems, *run.problems, *_find_differences(content.info, run)]
    if not block.is_complete:
        problems.insert(0, Message("the block train_result_info is truncated"))
    info = content.info
    # A throughput and times to the second identify a run; otherwise the report has to help.
    is_unique = None not in (info.throughput_ratio, info.total_start_time, info.total_end_time)
    values: Mapping[str, object] = {"block": content.texts, "report": {} if is_unique else _to_report_values(run)}
    info = replace(
        info,
        throughput_ratio=info.throughput_ratio or run.throughput,
        accuracy=run.accuracy if info.accuracy is None else info.accuracy,
    )
    return replace(
        _build_result(run, source, number, info, values),
        rehearsal=is_stamped(block.raw),
        raw=block.raw,
        placeholders=content.placeholders,
        ended_at=info.total_end_time or read_stamp(block.before, run.zone),
        problems=tuple(dict.fromkeys(problems)),
    )


def from_report(run: LogRun, source: str, number: int) -> ParsedResult:
    """The result of a run without a block, such as of train_modelarts.py, which prints none."""
    info = TrainResultInfo(throughput_ratio=run.throughput, accuracy=run.accuracy)
    values = rank_values(run.rank_results(), run.accuracy) if run.ranks else {"report": _to_report_values(run)}
    return _build_result(run, source, number, info, values)


def _build_result(
    run: LogRun, source: str, number: int, info: TrainResultInfo, values: Mapping[str, object]
) -> ParsedResult:
    identity, values_identity = compute_identities(values, run.job)
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


def _find_differences(info: TrainResultInfo, run: LogRun) -> Iterator[Message]:
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


def _to_report_values(run: LogRun) -> dict[str, object]:
    return {
        "throughput": run.throughput,
        "accuracy": run.accuracy,
        "ranks": [[rank.server, rank.rank, rank.throughput] for rank in run.rank_results()],
        "servers": [run.servers[server] for server in sorted(run.servers)],
    }

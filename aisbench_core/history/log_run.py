"""What the lines of a log tell about one run, until its result is complete."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo

from aisbench_core.errors import ResultError
from aisbench_core.messages import Message
from aisbench_core.model import Mode, RankResult
from aisbench_core.results.train_result_info import read_measure, read_time

MOST_RANKS = 65536
MOST_RAW = 64 * 1024


@dataclass(slots=True)
class LogRun:
    """One run while its lines are being read. Throughputs are samples/s."""

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
    begun_at: datetime | None = None
    created_at: datetime | None = None
    lines: list[str] = field(default_factory=list)
    raw_size: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def job(self) -> str:
        """The job as far as it is known; in the older interface all runs of a name are versions of one job."""
        return f"{self.job_id} {self.job_version}".strip()

    @property
    def is_measured(self) -> bool:
        """Whether a report was printed."""
        return self.throughput is not None or self.accuracy is not None

    @property
    def has_begun(self) -> bool:
        """Whether anything says that there was a run."""
        return bool(self.job_id or self.workpath or self.ranks or self.servers)

    def is_over_at(self, text: str) -> bool:
        """Whether this line belongs to the run after this one: it starts a job, or reports again."""
        if "create " in text and (found := _CREATED.search(text)):
            told = dict(_CREATED_PART.findall(found[1]))
            return bool(self.job_id or self.is_measured) and self._job_in(told) != (self.job_id, self.job_version)
        if "session config:" in text:
            return bool(self.job_id) or self.is_measured
        if self.throughput is None:
            return False
        reported = _TOTAL.search(text) or _LIST.search(text)
        return reported is not None and self.throughput != _number("throughput_ratio", reported["total"])

    def take(self, text: str) -> bool:
        """Take what a line says; False if it is none of those that upstream prints."""
        for word, pattern, taken in _GRAMMAR:
            if word in text and (found := pattern.search(text)):
                taken(self, found)
                if taken in _REPORTING and self.raw_size < MOST_RAW:
                    self.lines.append(text.strip("\r\n"))
                    self.raw_size += len(self.lines[-1])
                return True
        return False

    def size(self) -> tuple[int | None, int | None]:
        """Nodes and cards per node, as far as the log says them: 16 cards alone may stand in one node or in two."""
        if self.mode is Mode.SINGLE_SERVER:
            return self.node_count or len(self.servers) or None, self._cards_per_server()
        if self.node_count and self.ranks and len(self.ranks) % self.node_count == 0:
            return self.node_count, len(self.ranks) // self.node_count
        return self.node_count, None

    def _cards_per_server(self) -> int | None:
        """The cards that were read of each server, if they are as many of every one."""
        counts = Counter(server for server, _ in self.ranks)
        return counts[0] if counts and len(counts) == len(self.servers) and len({*counts.values()}) == 1 else None

    def rank_results(self) -> tuple[RankResult, ...]:
        """Every rank whose throughput was printed, in order."""
        return tuple(RankResult(server, rank, self.ranks[server, rank]) for server, rank in sorted(self.ranks))

    def _job_in(self, told: dict[str, str]) -> tuple[str, str]:
        return told.get("job_id") or told.get("id", ""), told.get("version_name", "")


def _created(run: LogRun, found: re.Match[str]) -> None:
    told = dict(_CREATED_PART.findall(found[1]))
    run.job_id, run.job_version = run._job_in(told)
    run.job_name = told.get("job name") or told.get("name") or run.job_name
    if told.get("create_time", "").isascii() and told.get("create_time", "").isdigit():
        run.created_at = _moment(int(told["create_time"]))


def _named(run: LogRun, found: re.Match[str]) -> None:
    run.job_name = run.job_name or found[1]


def _session(run: LogRun, found: re.Match[str]) -> None:
    told = {key: quoted or bare for key, quoted, bare in _SESSION_PART.findall(found[1])}
    run.flavor = told.get("train_instance_type", "")
    run.engine_version = told.get("framework_version", "")
    count = told.get("train_instance_count", "")
    run.node_count = _count(count) or run.node_count
    run.job_name = run.job_name or told.get("job_name", "")


def _work(run: LogRun, found: re.Match[str]) -> None:
    run.workpath = found[1].strip()
    run.begun_at = stamp(found.string, run.zone) or run.begun_at


def _config(run: LogRun, found: re.Match[str]) -> None:
    run.config_info = found[1].strip()


def _rank(run: LogRun, found: re.Match[str]) -> None:
    value, rank = _number("throughput_ratio", found[3]), int(found[1])
    place = _SERVER_URL.search(found[2])
    server = int(place[1]) if place and run.mode is Mode.SINGLE_SERVER else 0
    if value is not None and len(run.ranks) < MOST_RANKS:
        run.ranks[server, rank] = value


def _server(run: LogRun, found: re.Match[str]) -> None:
    value = _number("throughput_ratio", found[2])
    run.mode = Mode.SINGLE_SERVER
    if value is not None and len(run.servers) < MOST_RANKS:
        run.servers[int(found[1])] = value


def _total(run: LogRun, found: re.Match[str]) -> None:
    run.mode = Mode.CLUSTER
    run.throughput = _reported(run, "throughput_ratio", found["total"])


def _accuracy(run: LogRun, found: re.Match[str]) -> None:
    run.accuracy = _reported(run, "accuracy", found[1])


def _throughputs(run: LogRun, found: re.Match[str]) -> None:
    run.mode = Mode.SINGLE_SERVER
    run.throughput = _reported(run, "throughput_ratio", found["total"])
    values = [_number("throughput_ratio", part) for part in found[1].split(",")]
    if None not in values:
        run.servers = {server: value for server, value in enumerate(values) if value is not None}
        run.node_count = run.node_count or len(values)


def _accuracies(run: LogRun, found: re.Match[str]) -> None:
    run.accuracy = _reported(run, "accuracy", found[2])
    values = [_number("accuracy", part) for part in found[1].split(",")]
    run.accuracies = tuple(value for value in values if value is not None) if None not in values else ()


def _reported(run: LogRun, key: str, text: str) -> float | None:
    try:
        return read_measure(key, text)
    except ResultError as error:
        run.problems.append(Message("the report's {problem}", problem=error.message))
        return None


def _number(key: str, text: str) -> float | None:
    try:
        return read_measure(key, text)
    except ResultError:
        return None


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 and int(text) else None


def _moment(since_1970: int) -> datetime | None:
    """A time of the cloud: milliseconds, or seconds, since 1970."""
    seconds = since_1970 / 1000 if since_1970 > 10**11 else since_1970
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds) if seconds < 7 * 10**9 else None


def stamp(text: str, zone: tzinfo) -> datetime | None:
    """The time that a line of upstream begins with, if it does."""
    found = _STAMP.search(text)
    try:
        return read_time(found[1], zone) if found else None
    except ResultError:
        return None


def is_told(text: str) -> bool:
    """Whether a line is one of the sentences that upstream prints; none of them stands inside a block."""
    return any(word in text and pattern.search(text) for word, pattern, _ in _GRAMMAR)


_VALUE = r"([-+.\w]+)"
_DIGITS = r"(\d{1,5})"
_URL = r"[^ \n]*+(?: (?!url:|read throughput:)[^ \n]*+)*+"
"""An address, also with blanks; it ends where the next one begins, so that nothing is read for two of them."""

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

_GRAMMAR: tuple[tuple[str, re.Pattern[str], Callable[[LogRun, re.Match[str]], None]], ...] = (
    ("create ", _CREATED, _created),
    ("session config:", _SESSION, _session),
    ("inputs:", re.compile(r"\bjob_name:([^\s:]++) ret instance:"), _named),
    ("workpath:", re.compile(r"workpath:\s*+(\S.*?)(?: go testcase|$)", re.M), _work),
    ("ConfigInfo", re.compile(r"(?:get )?ConfigInfo (.+)"), _config),
    (
        "read throughput:",
        re.compile(rf"rankid:\s*+{_DIGITS} url:({_URL}) read throughput:\s*+{_VALUE}", re.ASCII),
        _rank,
    ),
    ("service_throughput:", _SERVICE, _server),
    ("total_throughput", _TOTAL, _total),
    ("result accuracy", re.compile(rf"report result accuracy\s*:\s*{_VALUE}"), _accuracy),
    ("throughput_list:", _LIST, _throughputs),
    ("accuracy_list:", re.compile(rf"accuracy_list:\s*+\[([^\[\]]*+)\]\s*+average:\s*+{_VALUE}"), _accuracies),
)
"""What upstream prints: a word that is found quickly, the sentence, and who takes it."""

_REPORTING = frozenset({_rank, _server, _total, _accuracy, _throughputs, _accuracies})

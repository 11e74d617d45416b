"""Finds clues of rules in the logs of a run: read in blocks, the beginning and the end of logs of any size."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from aisbench_core.running.diagnosing.rules import CauseClue, CauseRule

# For all nodes together; reading them takes about a second.
TOTAL_BYTES = 16 * 1024 * 1024
LEAST_BYTES = 64 * 1024
BLOCK_BYTES = 1024 * 1024

# Longer lines are progress bars and dumps.
LINE_BYTES = 4096
SHOWN_LETTERS = 400
LINES_BEFORE, LINES_AFTER = 4, 5

# Where the lines are looked for that a clue comes after: a traceback is long.
BYTES_BEFORE = 16 * 1024

# A job whose node wrote so much more, for so long, did not die of it.
SURVIVED_LINES = 1000
SURVIVED = timedelta(hours=1)

# Occurrences of one text in a block that are looked at; of more, only the last one.
MOST_OCCURRENCES = 200

# Where the log of each attempt begins: restarted jobs go on writing to the same log.
_BEGINNING = b"[ModelArts Service Log][init] download code_url"

_TIME = re.compile(r"(?<!\d)(20\d\d)[-/](\d\d)[-/](\d\d)[-T_ ](\d\d):(\d\d):(\d\d)(?:[.,:](\d{3}))?")
_GLOG_TIME = re.compile(r"\b[IWEF](\d{1,2})(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{3}))?")
_TIME_LETTERS, _TIME_LINES, _TIME_BYTES = 200, 30, 16 * 1024

# As torch, the watchdogs of NCCL and HCCL, torch_npu and mpirun name ranks.
_RANK = re.compile(r"\[rank=?(\d{1,6})\]|\[Rank (\d{1,6})\]|\bRankID:(\d{1,6})|^\[\d{1,6},(\d{1,6})\]<std")
_ELASTIC_RANK = re.compile(r"^ {0,8}rank {1,20}: (\d{1,6}) \(local_rank")
# What launchers and loggers put before a line: hosts, ranks, times, levels.
_PREFIX = re.compile(
    r"^(?:(?:\([^()]{1,60}\)|\[[^\[\]]{1,80}\]:?|\[[\d,]{1,15}\]<std(?:out|err)>:?|\d[\d\-:.,T/Z+]{3,40}"
    r"|(?:ERROR|CRITICAL|FATAL):?|std(?:out|err):|[\w.-]{0,30}\d{1,9}:|[\w.-]{1,40} {0,3}\||\|{1,2}|<>"
    r"|[\da-f]{6,40}|[\w./-]{1,60}:\d{1,6}\]"
    r") {1,8}){1,8}"
)

_LEVEL_LETTERS = 100
_HARMFUL = re.compile(r"\b(?:ERROR|CRITICAL|FATAL)\b")
_HARMLESS = re.compile(
    r"\b(?:WARNING|WARN|INFO|DEBUG|TRACE)\b|\[[WI](?:\d{3,4})? |\b[WI]\d{3,4} \d\d:|Warning: |(?:^|[: ])warning: "
    r"|\blevel[\"']?[=:] ?[\"']?(?:warn|info|debug)"
)
# As TensorFlow writes them, whatever words follow.
_HARMLESS_FIRST = re.compile(r"^[^A-Za-z]{0,60}[WI] [a-z_]{2,30}/\S{1,100}:\d{1,6}\] ")
_ANY_DIGIT, _ANY_HEX = (bytes.maketrans(each, b"0" * len(each)) for each in (b"123456789", b"123456789abcdef"))
_ESCAPES = re.compile(r"\x1b\[[0-9;]{0,20}m")


@dataclass(frozen=True, slots=True)
class Hit:
    """The first line with a clue of a rule in one node's log.

    `at`: the last time in the log up to there, of whatever zone; `line`: its number, from 1, if all before was read.
    `groups`: what the clue's pattern names."""

    rule: str
    clue: CauseClue
    order: int
    node: int
    offset: int
    at: datetime | None
    line: int | None
    rank: int | None
    lines: tuple[str, ...]
    groups: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Needle:
    """A rule's clue; `order` is that of the rules."""

    rule: str
    order: int
    clue: CauseClue


_Needles = Mapping[bytes, Sequence[_Needle]]


def find_clues(files: Mapping[int, Path], rules: Mapping[str, CauseRule], year: int) -> list[Hit]:
    """The first hit of each rule in each node's log, weak ones beside others, by time.

    `year`: of times that name none. What a node survived for long is left out."""
    needles = _group_needles(rules)
    most = share_of(len(files))
    hits = [hit for node, file in files.items() if file.exists() for hit in _scan_log(file, node, needles, most, year)]
    never = datetime.max  # noqa: DTZ901  # times in logs have no zone
    return sorted(hits, key=lambda hit: (hit.at or never, hit.node, hit.offset, hit.order))


def share_of(nodes: int) -> int:
    """The bytes that are read of each node's log."""
    return max(LEAST_BYTES, TOTAL_BYTES // max(1, nodes))


def beginning_and_end(file: Path, most: int) -> list[str]:
    """The lines of a log: of one with more than `most` bytes, an eighth of them from the beginning, then the end."""
    with file.open("rb") as stream:
        blocks = [block for _, block in _iterate_parts(stream, most)]
    return [_to_text(line[:LINE_BYTES]) for block in blocks for line in block.splitlines()]


def _group_needles(rules: Mapping[str, CauseRule]) -> _Needles:
    needles: dict[bytes, list[_Needle]] = {}
    for order, (rule_id, rule) in enumerate(rules.items()):
        for clue in rule.logs:
            needles.setdefault(clue.text.lower().encode(), []).append(_Needle(rule_id, order, clue))
    return needles


def _scan_log(file: Path, node: int, needles: _Needles, most: int, year: int) -> list[Hit]:
    log = _NodeLog(node, needles, year)
    end = 0
    with file.open("rb") as stream:
        for offset, block in _iterate_parts(stream, most):
            if offset > end:
                log.skip()
            log.read(block, offset)
            end = offset + len(block)
    return log.hits()


def _iterate_parts(stream: BinaryIO, most: int) -> Iterator[tuple[int, bytes]]:
    """Whole lines with their offsets: all, or an eighth of `most` bytes at the beginning and the rest at the end."""
    size = stream.seek(0, 2)
    begin, rest = (size, size) if size <= most else (most // 8, size - most * 7 // 8)
    yield from _iterate_blocks(stream, 0, begin)
    yield from _iterate_blocks(stream, rest, size)


def _iterate_blocks(stream: BinaryIO, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Whole lines from `start` to `end`, with their offsets; of a line begun before `start`, the rest."""
    offset = stream.seek(start)
    carried = b""
    while offset + len(carried) < end:
        part = stream.read(min(BLOCK_BYTES, end - offset - len(carried)))
        if not part:
            break
        block = carried + part
        is_last = offset + len(block) >= end
        cut = len(block) if is_last else block.rfind(b"\n") + 1 or len(block)
        yield offset, block[:cut]
        offset, carried = offset + cut, block[cut:]
    if carried:
        yield offset, carried


class _NodeLog:
    """What was found in one node's log so far."""

    def __init__(self, node: int, needles: _Needles, year: int) -> None:
        self._node = node
        self._needles = needles
        self._year = year
        self._lines = 0
        self._is_numbered = True
        self._ended_at: datetime | None = None
        self._clear_hits()

    def _clear_hits(self) -> None:
        self._first: dict[tuple[str, bool, bool], Hit] = {}
        self._last: dict[tuple[str, bool, bool], tuple[int, datetime | None]] = {}
        self._ranks: dict[str, set[int]] = {}

    def skip(self) -> None:
        """Part of the log is not read: line numbers are unknown from here on."""
        self._lines += SURVIVED_LINES
        self._is_numbered = False

    def read(self, block: bytes, offset: int) -> None:
        """Search the next lines."""
        begins = block.rfind(_BEGINNING)
        if begins >= 0:  # only the last attempt counts
            self._clear_hits()
            begins = block.rfind(b"\n", 0, begins) + 1
            self._lines += block.count(b"\n", 0, begins)
            block, offset = block[begins:], offset + begins
        lowered = block.lower()
        counted = 0
        for position, needles in sorted(self._iterate_occurrences(lowered), key=lambda each: each[0]):
            start = block.rfind(b"\n", 0, position) + 1
            self._lines += block.count(b"\n", counted, start)
            counted = start
            self._confirm_hit(block, start, offset, needles)
        self._lines += block.count(b"\n", counted)
        self._ended_at = self._find_time(block, len(block)) or self._ended_at

    def hits(self) -> list[Hit]:
        """The first hit of each rule that was not survived; its rank is that of later ones if they agree."""
        return [
            replace(hit, rank=_get_single(self._ranks.get(hit.rule, set()))) if hit.rank is None else hit
            for key, hit in self._first.items()
            if not self._is_survived(*self._last[key])
        ]

    def _is_survived(self, line: int, at: datetime | None) -> bool:
        if self._lines - line <= SURVIVED_LINES:
            return False
        return at is None or self._ended_at is None or self._ended_at - at > SURVIVED

    def _iterate_occurrences(self, lowered: bytes) -> Iterator[tuple[int, Sequence[_Needle]]]:
        for text in _possible_texts(lowered, self._needles):
            needles = self._needles[text]
            position = lowered.find(text)
            for _ in range(MOST_OCCURRENCES):
                if position < 0:
                    break
                yield position, needles
                position = lowered.find(text, position + len(text))
            else:
                yield lowered.rfind(text), needles

    def _confirm_hit(self, block: bytes, start: int, offset: int, needles: Sequence[_Needle]) -> None:
        line = _to_text(block[start : start + LINE_BYTES].partition(b"\n")[0])
        body, is_harmless = _PREFIX.sub("", line, count=1), _is_harmless(line)
        for needle in needles:
            is_ignored = is_harmless and not needle.clue.any_level
            found = None if is_ignored else needle.clue.search(body) or needle.clue.search(line)
            if found and _is_after(needle.clue, block[max(0, start - BYTES_BEFORE) : start]):
                self._add_hit(needle, found, line, block, (start, offset))

    def _add_hit(
        self, needle: _Needle, found: re.Match[str], line: str, block: bytes, position: tuple[int, int]
    ) -> None:
        """`position`: where the line starts in the block, and the block in the log."""
        start, offset = position
        before = _last_lines(block[:start], LINES_BEFORE)
        rank = _find_rank(found, line, before)
        at = self._find_time(block, start + len(line.encode()) + 1)
        key = (needle.rule, needle.clue.weak, needle.clue.remark)
        self._last[key] = (self._lines, at)
        if rank is not None:
            self._ranks.setdefault(needle.rule, set()).add(rank)
        if key in self._first:
            return
        after = block[start : start + LINE_BYTES * (LINES_AFTER + 1)].split(b"\n")[: LINES_AFTER + 1]
        lines = (*before, *(_to_text(each) for each in after))
        self._first[key] = Hit(
            *(needle.rule, needle.clue, needle.order, self._node, offset + start, at),
            line=self._lines + 1 if self._is_numbered else None,
            rank=rank,
            lines=tuple(each[:SHOWN_LETTERS] for each in lines if each.strip()),
            groups={name: value for name, value in found.groupdict().items() if value},
        )

    def _find_time(self, block: bytes, end: int) -> datetime | None:
        """The last time in the lines that end there."""
        part = block[max(0, end - _TIME_BYTES) : end]
        for line in reversed(part.split(b"\n")[-_TIME_LINES:]):
            at = _time_in(line[:_TIME_LETTERS].decode("utf-8", "replace"), self._year)
            if at:
                return at
        return None


def _possible_texts(lowered: bytes, texts: Iterable[bytes]) -> list[bytes]:
    """Those that may be in it, as most lines of a log differ in their numbers only, and most words come again."""
    lines = b"\n".join(set(lowered.translate(_ANY_DIGIT).split(b"\n")))
    if len(lines) < len(lowered) // 8:
        return [text for text in texts if text.translate(_ANY_DIGIT) in lines]
    words = b"\n".join(set(lines.translate(_ANY_HEX).split()))
    return [text for text in texts if all(word in words for word in text.translate(_ANY_HEX).split())]


def _to_text(line: bytes) -> str:
    return _ESCAPES.sub("", line.decode("utf-8", "replace")).rstrip("\r")


def _last_lines(part: bytes, count: int) -> list[str]:
    return [_to_text(line[:LINE_BYTES]) for line in part[-LINE_BYTES * count :].split(b"\n")[-count - 1 : -1]]


def _is_harmless(line: str) -> bool:
    start = line[:_LEVEL_LETTERS]
    if _HARMLESS_FIRST.search(line):
        return True
    return bool(_HARMLESS.search(start)) and not _HARMFUL.search(start)


def _is_after(clue: CauseClue, before: bytes) -> bool:
    return clue.regex_before is None or clue.regex_before.search(_to_text(before)) is not None


def _find_rank(found: re.Match[str], line: str, before: Sequence[str]) -> int | None:
    """The rank that the line is about: as its pattern names it, as launchers do, or as torchrun does in its summary."""
    if found.groupdict().get("rank"):
        return int(found["rank"])
    named = _RANK.search(line)
    if named:
        return next(int(group) for group in named.groups() if group)
    summary = (_ELASTIC_RANK.match(each) for each in before)
    return next((int(each[1]) for each in summary if each), None)


def _get_single(ranks: set[int]) -> int | None:
    return next(iter(ranks)) if len(ranks) == 1 else None


def _time_in(text: str, default_year: int) -> datetime | None:
    found = _TIME.search(text)
    if found:
        numbers = [int(each) for each in found.groups("0")]
    else:
        found = _GLOG_TIME.search(text)
        if not found:
            return None
        numbers = [default_year, *(int(each) for each in found.groups("0"))]
    try:
        year, month, day, hour, minute, second, millis = numbers
        return datetime(year, month, day, hour, minute, second, millis * 1000)  # noqa: DTZ001  # the zone is unknown
    except ValueError:  # such as month 13
        return None

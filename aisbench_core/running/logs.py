"""The logs of a run: fetched by range while the job runs, one file per node, read from the end."""

import re
import threading
from codecs import getincrementaldecoder
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from aisbench_core.base.errors import CloudNotFound
from aisbench_core.base.private_files import draft_of
from aisbench_core.cloud.ports import ObjectStore
from aisbench_core.config.job_secrets import byte_forms, masked_bytes
from aisbench_core.store.run_folders.run_paths import RunFolder

# How much of the end a tail reads to find its lines.
TAIL_BYTES = 256 * 1024

PART_BYTES = 1024 * 1024
# Larger additions are downloaded to disk instead of memory.
MOST_BYTES = 64 * 1024 * 1024

# Continuation bytes of UTF-8, with which no character begins.
CONTINUATION = bytes(range(0x80, 0xC0))

# Each request is billed, and most return nothing new. For the logs of all running jobs together: the more jobs, the
# longer each waits for its turn.
REQUESTS_PER_SECOND = 4.0

# The longest pause for a log that does not grow, unless there are so many jobs that a turn takes longer.
QUIET_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Fetched:
    """Whether any node's log has grown here, and the bytes of everything in the directory of the logs."""

    grew: bool
    size: int


def fetch(
    objects: ObjectStore, paths: Mapping[int, str], directory: str, folder: RunFolder, secrets: Collection[str] = ()
) -> Fetched:
    """Bring each node's log up to date: one list call, then ranged reads.

    `secrets`: values that are masked character by character, so that every other byte keeps its offset."""
    forms = byte_forms(secrets)
    sizes = {stat.path: stat.size for stat in objects.list(directory)}
    there = [(node, path) for node, path in sorted(paths.items()) if path in sizes]
    grown = sum(append(objects, path, sizes[path], folder.log(node), forms) for node, path in there)
    return Fetched(grown > 0, sum(sizes.values()))


def list_nodes(folder: RunFolder) -> list[int]:
    """The nodes that have a log."""
    names = (re.fullmatch(r"worker-(\d+)\.log", file.name) for file in folder.logs.glob("worker-*.log"))
    return sorted(int(name[1]) for name in names if name)


def read_tail(file: Path, lines: int) -> str:
    """The last lines of a log; empty if there is none yet."""
    if not file.exists():
        return ""
    with file.open("rb") as log:
        size = log.seek(0, 2)
        start = log.seek(max(0, size - TAIL_BYTES))
        part = log.read()
    text, _ = _decode_part(part.lstrip(CONTINUATION) if start else part)
    last = text.splitlines(keepends=True)
    return "".join(last[max(0, len(last) - lines) :])


def read(file: Path, start: int) -> tuple[str, int]:
    """At most 1 MB of a log from byte `start` on, whole characters only, and the offset of the next read.

    A log shorter than `start` was restarted, and is read from its beginning."""
    if not file.exists():
        return "", start
    with file.open("rb") as log:
        start = start if start <= log.seek(0, 2) else 0
        log.seek(start)
        part = log.read(PART_BYTES)
    text, used = _decode_part(part)
    return text, start + used


def _decode_part(part: bytes) -> tuple[str, int]:
    """The text and the number of bytes decoded; an incomplete character at the end is left for the next read."""
    decoder = getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(part)
    pending, _ = decoder.getstate()
    return text, len(part) - len(pending)


def append(objects: ObjectStore, path: str, size: int, file: Path, forms: Sequence[bytes] = ()) -> bool:
    """Bring a copy of an object that grows up to date, by its size; returns whether there was anything new.

    `forms`: what is masked in it, the longest first."""
    here = file.stat().st_size if file.exists() else 0
    if size == here:
        return False
    start = here if size > here else 0  # a restarted job may restart its log
    reach = max(map(len, forms), default=0)
    written = max(0, start - reach)  # a value may have arrived in two parts, of which the first is not masked yet
    start = max(0, written - reach)  # and a value that ends right there must be matched as a whole again
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        if size - start > MOST_BYTES:
            _get_whole(objects, path, file, forms)
            return True
        content = objects.read(path, start)
    except CloudNotFound:
        return False
    with file.open("r+b" if written else "wb") as log:
        log.seek(written)
        log.write(masked_bytes(content, forms)[written - start :])
    return True


def _get_whole(objects: ObjectStore, path: str, file: Path, forms: Sequence[bytes]) -> None:
    draft = draft_of(file)
    try:
        objects.get(path, draft)
        if forms:
            _mask_file(draft, forms)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


def _mask_file(file: Path, forms: Sequence[bytes]) -> None:
    """Mask a file in place, in parts. Writes lag behind reads by the longest form: nothing unread is lost."""
    reach, window, done, offset = len(forms[0]), b"", 0, 0  # done: bytes of the window that are already written
    with file.open("r+b") as log:
        while True:
            part = log.read(PART_BYTES)
            window += part
            end = max(done, len(window) - reach) if part else len(window)
            read = log.tell()
            log.seek(offset)
            offset += log.write(masked_bytes(window, forms)[done:end])
            log.seek(read)
            if not part:
                return
            begin = max(0, end - reach)
            window, done = window[begin:], end - begin


@dataclass(frozen=True, slots=True)
class _Backoff:
    since: datetime
    seconds: float


class LogPace:
    """Doubles the pause of each log that does not grow, and ends it when the log does. Threads may share it."""

    def __init__(self, first_seconds: float, quiet_seconds: float = QUIET_SECONDS) -> None:
        """`first_seconds`: the pause between two requests for a growing log while there are few jobs;
        `quiet_seconds`: the longest one for a log that does not grow."""
        self._first_seconds = first_seconds
        self._quiet_seconds = quiet_seconds
        self._pauses: dict[str, _Backoff] = {}
        self._guard = threading.Lock()

    def is_due(self, run_id: str, now: datetime) -> bool:
        """Whether the pause of a run's logs is over. A clock jump ends it, too."""
        with self._guard:
            pause, turn = self._pauses.get(run_id), len(self._pauses) / REQUESTS_PER_SECOND
            return pause is None or abs(now - pause.since) >= timedelta(seconds=max(pause.seconds, turn))

    def start_pause(self, run_id: str, now: datetime, *, grew: bool, factor: int = 2) -> None:
        """Start the next pause, `factor` times the last one if nothing has grown."""
        with self._guard:
            before = self._pauses.get(run_id)
            longer = self._first_seconds if grew or before is None else factor * before.seconds
            self._pauses[run_id] = _Backoff(now, min(longer, max(self._quiet_seconds, self._first_seconds)))

    def forget(self, run_id: str) -> None:
        """Drop the state of an ended job."""
        with self._guard:
            self._pauses.pop(run_id, None)

"""Fetches the event files of a run from its outputs, while the job writes them, into the run's folder."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from aisbench_core.base.errors import CloudNotFound
from aisbench_core.cloud.ports import ObjectStat, ObjectStore
from aisbench_core.config.job_secrets import byte_forms, masked_bytes
from aisbench_core.domain.summaries.event_files import BrokenFrame, is_event_file, with_data
from aisbench_core.model import Channel

MOST_FILES = 256
# Pages of 1000 objects that are searched in each output: one with more should not be listed at every poll.
MOST_PAGES = 10
PART_BYTES = 8 * 1024 * 1024

# Directories and files of an output, where a job may write any key.
_PART = re.compile(r"(?!\.{1,2}$)[^\x00-\x1f\x7f/\\]{1,200}")
_MOST_DEPTH = 12


@dataclass(frozen=True, slots=True)
class FetchedEvents:
    """How many event files there are, whether any has grown, and the bytes that stay in OBS because of the limit."""

    files: int = 0
    grew: bool = False
    left: int = 0


def fetch_event_files(
    objects: ObjectStore, outputs: Sequence[Channel], folder: Path, most: int, secrets: Collection[str] = ()
) -> FetchedEvents:
    """Bring the event files up to date, at most `most` bytes of all together; `secrets` are masked in them.

    Files lie in a directory of their output's name."""
    if not most:
        return FetchedEvents()
    found = list(islice(_event_objects(objects, outputs), MOST_FILES))
    room = most - sum(_get_size(folder / name) for _, name in found)
    grew, left = False, 0
    for stat, name in found:
        added, missing = _append_part(objects, stat, folder / name, room, byte_forms(secrets))
        room -= added
        grew, left = grew or added != 0, left + missing
    return FetchedEvents(len(found), grew, left)


def _event_objects(objects: ObjectStore, outputs: Sequence[Channel]) -> Iterator[tuple[ObjectStat, str]]:
    """Each event file with its path below the folder; further outputs may lie below the first one."""
    seen: set[str] = set()
    for output in sorted(outputs, key=lambda output: len(output.path), reverse=True):
        for page in islice(objects.pages(output.path), MOST_PAGES):
            for stat in page:
                parts = stat.path.removeprefix(output.path).split("/")
                is_safe = len(parts) <= _MOST_DEPTH and all(map(_PART.fullmatch, parts))
                if is_safe and is_event_file(parts[-1]) and stat.path not in seen:
                    seen.add(stat.path)
                    yield stat, "/".join([output.name, *parts])


def _append_part(
    objects: ObjectStore, stat: ObjectStat, file: Path, room: int, forms: Sequence[bytes]
) -> tuple[int, int]:
    """Bytes that the file has grown by, and those that there is no room for."""
    before = _get_size(file)
    here = before if stat.size >= before else 0  # another file of this name
    room += before - here
    while here < stat.size and room > 0:
        try:
            part = objects.read_range(stat.path, here, min(PART_BYTES, room, stat.size - here))
        except CloudNotFound:
            break
        part = _mask_part(part, forms)
        if not part:
            break
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("r+b" if here else "wb") as out:
                out.seek(here)
                out.write(part)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            break  # in OBS `a` and `a/b` can both be objects, and what came first stays
        here, room = here + len(part), room - len(part)
    return here - before, stat.size - here if room <= 0 else 0


def _mask_part(part: bytes, forms: Sequence[bytes]) -> bytes:
    """The part with these forms masked: of a run with secrets only complete records are stored, with new checksums."""
    if not forms:
        return part
    try:
        return with_data(part, partial(masked_bytes, forms=forms))
    except BrokenFrame:
        return b""


def _get_size(file: Path) -> int:
    return file.stat().st_size if file.is_file() else 0

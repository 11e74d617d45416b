"""What moves between OBS and a job's nodes: code and inputs in, outputs and logs out."""

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from aisbench_core.sandbox.objects import Objects, Stat
from aisbench_core.sandbox.obs_paths import bucket_and_key

_READ = 1 << 20
_LONGEST_LINE = 1 << 16


class TransferError(Exception):
    """Something that a job needs is not in OBS."""


def download(objects: Objects, path: str, folder: Path) -> int:
    """Fetch an OBS directory (or one object) into `folder`; how many objects. Raises TransferError."""
    bucket, prefix = bucket_and_key(path)
    if not objects.has_bucket(bucket):
        raise TransferError(f"the bucket of {path} does not exist")
    count = 0
    for stat in _objects_under(objects, bucket, prefix):
        target = folder / _local_name(stat.key, prefix)
        if stat.key.endswith("/"):
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with objects.open(bucket, stat.key) as (_, source), target.open("wb") as copy:
            shutil.copyfileobj(source, copy, _READ)
        count += 1
    if not count:
        raise TransferError(f"nothing is stored under {path}")
    return count


def _objects_under(objects: Objects, bucket: str, prefix: str) -> Iterator[Stat]:
    if not prefix.endswith("/") and prefix:
        stat = objects.head(bucket, prefix)
        if stat:
            yield stat
        return
    marker = ""
    while True:
        page = objects.list(bucket, prefix, marker)
        yield from page.objects
        if not page.truncated:
            return
        marker = page.next_marker


def _local_name(key: str, prefix: str) -> str:
    name = key.removeprefix(prefix) if prefix.endswith("/") or not prefix else key.rpartition("/")[2]
    if ".." in name.split("/") or name.startswith("/") or "\0" in name:
        raise TransferError(f"the object {key} has no name on a node")
    return name


class OutputSync:
    """Copies what one node writes into one output directory to OBS, where all nodes' files come together."""

    def __init__(self, objects: Objects, folder: Path, path: str) -> None:
        self._objects = objects
        self._folder = folder
        self._bucket, self._prefix = bucket_and_key(path)
        self._copied: dict[Path, tuple[int, int]] = {}

    def run(self) -> None:
        """Copy the files that are new or changed since the last time. Raises ObjectError if OBS refuses."""
        for file in sorted(self._folder.rglob("*")):
            try:
                if not file.is_file():
                    continue
                stat = file.stat()
                mark = (stat.st_mtime_ns, stat.st_size)
                if self._copied.get(file) != mark:
                    key = f"{self._prefix}{file.relative_to(self._folder).as_posix()}"
                    self._objects.put(self._bucket, key, file)
                    self._copied[file] = mark
            except FileNotFoundError:
                continue  # the training removed it while we looked


class NodeLog:
    """One node's log: whole lines of all of its processes, kept in `file` and exported to an OBS object."""

    def __init__(self, objects: Objects, file: Path, export_to: str) -> None:
        self._objects = objects
        self._file = file
        self._export_to = bucket_and_key(export_to)
        self._exported = -1
        self._read: dict[Path, int] = {}
        file.write_bytes(b"")

    def say(self, text: str) -> None:
        """Add a line of the platform's own."""
        self._append(f"[ModelArts Service Log]{text}\n".encode())

    def gather(self, outputs: Sequence[Path], *, final: bool = False) -> None:
        """Take over what the node's processes have printed since the last time; half lines wait for their end."""
        for output in outputs:
            if output.exists():
                with output.open("rb") as stream:
                    self._gather_one(output, stream, final)

    def _gather_one(self, output: Path, stream: BinaryIO, final: bool) -> None:
        # Up to its present end only: a process that prints faster than we read must not hold us here.
        end = os.fstat(stream.fileno()).st_size
        done = self._read.get(output, 0)
        while done < end:
            stream.seek(done)
            chunk = stream.read(min(_READ, end - done))
            is_last = done + len(chunk) == end
            whole = chunk if final and is_last else _whole_lines(chunk)
            if not whole:
                break
            self._append(whole.decode("utf-8", "replace").encode())
            done += len(whole)
        self._read[output] = done

    def export(self) -> None:
        """Bring the OBS object up to date. Raises ObjectError if OBS refuses."""
        bucket, key = self._export_to
        size = self._file.stat().st_size
        if bucket and size != self._exported:
            self._objects.put(bucket, key, self._file)
            self._exported = size

    def export_beside(self, file: Path) -> None:
        """Store another file in the log's OBS directory. Raises ObjectError if OBS refuses."""
        bucket, key = self._export_to
        if bucket and file.exists():
            self._objects.put(bucket, f"{key.rpartition('/')[0]}/{file.name}", file)

    def _append(self, content: bytes) -> None:
        with self._file.open("ab") as stream:
            stream.write(content)


def _whole_lines(chunk: bytes) -> bytes:
    end = chunk.rfind(b"\n") + 1
    return chunk[:end] if end or len(chunk) < _LONGEST_LINE else chunk

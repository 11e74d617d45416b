"""Transfers between OBS and a job's nodes: code and inputs in, outputs and logs out."""

import math
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from aisbench_sandbox.engine.node import safe_files
from aisbench_sandbox.engine.node.logs import LOG_LIMIT, BoundedLog
from aisbench_sandbox.obs.paths import bucket_and_key
from aisbench_sandbox.obs.storage.objects import Objects
from aisbench_sandbox.obs.storage.stored import ObjectError, StoredObject

_READ = 1 << 20
_LONG_LOG = 1 << 20
_LONG_LOG_SECONDS = 30.0
_FRAMEWORK_LOGS = ("ascend", "mindspore")

Source = Callable[[Path], Path | None]
"""The regular file behind a file of a node, with links resolved; None when there is none."""


class TransferError(Exception):
    """Something that a job needs is not in OBS."""


def download_folder(objects: Objects, path: str, folder: Path, *, may_be_empty: bool = False) -> int:
    """Download an OBS directory (or one object) into `folder`; returns the number of objects. Raises TransferError."""
    bucket, prefix = bucket_and_key(path)
    if not objects.has_bucket(bucket):
        raise TransferError(f"the bucket of {path} does not exist")
    count = 0
    for stat in _objects_under(objects, bucket, prefix):
        target = folder / _local_name(stat.key, prefix)
        # An empty object that stands for a directory, as the OBS console makes them.
        if stat.key.endswith("/"):
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with objects.open(bucket, stat.key) as (_, source), target.open("wb") as copy:
            shutil.copyfileobj(source, copy, _READ)
        count += 1
    if not count and not may_be_empty:
        raise TransferError(f"nothing is stored under {path}")
    return count


def _objects_under(objects: Objects, bucket: str, prefix: str) -> Iterator[StoredObject]:
    if prefix.endswith("/") or not prefix:
        yield from objects.all_below(bucket, prefix)
    elif stat := objects.head(bucket, prefix):
        yield stat


def _local_name(key: str, prefix: str) -> str:
    name = key.removeprefix(prefix) if prefix.endswith("/") or not prefix else key.rpartition("/")[2]
    # Legal in a key, but on a node it would lead out of the directory.
    if ".." in name.split("/") or name.startswith("/") or "\0" in name:
        raise TransferError(f"the object {key} has no name on a node")
    return name


class OutputSync:
    """Uploads one node's files of an output to the OBS directory that all nodes share."""

    def __init__(self, objects: Objects, folder: Path, path: str, source: Source, root: Path | None = None) -> None:
        self._objects = objects
        self._folder = folder
        self._root = root or folder
        self._bucket, self._prefix = bucket_and_key(path)
        self._source = source
        self._copied: dict[Path, tuple[int, int]] = {}

    def fetch(self) -> int:
        """Download the existing content of the OBS directory; it is not uploaded again. Raises TransferError."""
        count = download_folder(self._objects, f"/{self._bucket}/{self._prefix}", self._folder, may_be_empty=True)
        self._copied = {file: _read_mark(file) for file in self._folder.rglob("*") if file.is_file()}
        return count

    def run(self) -> None:
        """Upload files that are new or changed since the last call.

        Raises ObjectError if one cannot be read or OBS refuses it, after all others were uploaded."""
        failed: ObjectError | None = None
        # Listed anew each time; a job may make and remove files while this runs.
        for file in sorted(self._folder.rglob("*")):
            try:
                self._copy_file(file)
            except FileNotFoundError:
                continue  # the training removed it meanwhile
            except (ObjectError, OSError) as error:
                failed = failed or self._to_object_error(file, error)
        if failed:
            raise failed

    def _copy_file(self, file: Path) -> None:
        source = self._source(file)
        if source is None:
            return
        mark = _read_mark(source)
        if self._copied.get(file) != mark:
            key = f"{self._prefix}{file.relative_to(self._folder).as_posix()}"
            # The job may put a link in the file's place at any moment after the check.
            with safe_files.open_file(self._root, source) as content:
                self._objects.put(self._bucket, key, content)
            # The time and size from before the upload: a file that is written to meanwhile is uploaded again.
            self._copied[file] = mark

    def _to_object_error(self, file: Path, error: ObjectError | OSError) -> ObjectError:
        # repr, because a file name may be arbitrary bytes
        name = repr(file.relative_to(self._folder).as_posix())
        if isinstance(error, ObjectError):
            return ObjectError(error.code, f"{name}: {error.message}")
        return ObjectError("InternalError", f"{name}: {error.strerror or type(error).__name__}")


def _read_mark(file: Path) -> tuple[int, int]:
    stat = file.stat()
    return stat.st_mtime_ns, stat.st_size


class NodeLog(BoundedLog):
    """One node's log, exported to an OBS object, with the other log files beside it."""

    def __init__(self, objects: Objects, file: Path, export_to: str, limit: int = LOG_LIMIT) -> None:
        super().__init__(file, limit)
        self._objects = objects
        self._path = file
        self._export_to = bucket_and_key(export_to)
        self._exported = -1
        self._exported_at = -math.inf

    def export(self, *, final: bool = False) -> None:
        """Update the OBS object if it is due. Raises ObjectError if OBS refuses.

        An object can only be stored as a whole, so a long log is uploaded only when it has grown considerably."""
        bucket, key = self._export_to
        grown = self.size - self._exported
        if not bucket or not grown:
            return
        is_long = self.size > _LONG_LOG and grown < self.size // 8
        if final or not is_long or time.monotonic() - self._exported_at >= _LONG_LOG_SECONDS:
            self._objects.put(bucket, key, self._path)
            self._exported, self._exported_at = self.size, time.monotonic()

    def export_beside(self, file: Path, name: str = "") -> None:
        """Upload another file beside the log; links are skipped. Raises ObjectError if OBS refuses."""
        bucket, key = self._export_to
        if bucket and file.is_file() and not file.is_symlink():
            self._objects.put(bucket, f"{key.rpartition('/')[0]}/{name or file.name}", file)

    def export_tree(self, folder: Path, job_folder: str, source: Source) -> None:
        """Upload the frameworks' logs: every non-empty *.log, and all files of the job's own folder.

        ascend/ and mindspore/ go to `job_folder`, wherever they were written. Raises ObjectError."""
        for file in sorted(folder.rglob("*")):
            path = file.relative_to(folder)
            top = path.parts[0]
            # Training guide 4.4.3 shows these directories beside the nodes' logs.
            is_wanted = path.suffix == ".log" or (len(path.parts) > 1 and top in (job_folder, *_FRAMEWORK_LOGS))
            there = source(file) if is_wanted else None
            if there and there.stat().st_size:
                name = path.as_posix()
                self.export_beside(there, f"{job_folder}/{name}" if top in _FRAMEWORK_LOGS else name)

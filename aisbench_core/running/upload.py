"""Uploads a run's code by manifest: only missing files, verified afterwards."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from aisbench_core.cloud.ports import ObjectStat, ObjectStore, OnProgress
from aisbench_core.errors import CloudRejected, CloudUnavailable
from aisbench_core.messages import Message
from aisbench_core.running.code import CodeFile, CodeManifest

# Bytes from which a file is kept once for all code, because sending it again costs minutes and copying it does not.
LARGE = 16 * 1024 * 1024


def upload(objects: ObjectStore, code: CodeManifest, directory: str, shared: str, on_progress: OnProgress) -> int:
    """Make `directory` in OBS equal to the code; returns the number of files sent or copied.

    Large files, such as packages, are sent once to `shared`, in a directory named by their hash, and copied inside OBS.
    Raises CloudUnavailable when the directory differs afterwards: a file was edited meanwhile, or got lost."""
    missing = _missing(objects, code, directory)
    on_progress(len(code.files) - len(missing), len(code.files))
    if not missing:
        return 0
    there = len(code.files) - len(missing)
    large = {
        file.name: f"{shared}{file.sha256}/{PurePosixPath(file.name).name}" for file in missing if file.size >= LARGE
    }
    sent = [file for file in missing if file.name not in large or not _is_kept(objects, file, large[file.name])]
    copied = len(missing) - len(sent)
    objects.put_many(
        [(large.get(file.name, directory + file.name), file.source) for file in sent],
        lambda done, _: on_progress(there + copied + done, len(code.files)),
    )
    _copy(objects, [file for file in missing if file.name in large], large, directory)
    lost = _missing(objects, code, directory)
    if lost:
        raise CloudUnavailable(
            Message(
                "{lost} of {count} files are not as they were sent, first of all {file}",
                lost=len(lost),
                count=len(missing),
                file=lost[0].name,
            ),
            operation=Message("upload code"),
            hint=Message("it is tried again; do not edit the code while it is uploaded"),
        )
    return len(missing)


def _is_kept(objects: ObjectStore, file: CodeFile, target: str) -> bool:
    return _is_equal(file, objects.head(target))


def _copy(objects: ObjectStore, files: Sequence[CodeFile], places: dict[str, str], directory: str) -> None:
    """Copy large files to the code. If OBS refuses to copy, they are sent."""
    for file in files:
        try:
            objects.copy(places[file.name], directory + file.name)
        except CloudRejected:
            objects.put(directory + file.name, file.source)


def _missing(objects: ObjectStore, code: CodeManifest, directory: str) -> list[CodeFile]:
    stored = {stat.path.removeprefix(directory): stat for stat in objects.list(directory)}
    return [file for file in code.files if not _is_equal(file, stored.get(file.name))]


def _is_equal(file: CodeFile, stat: ObjectStat | None) -> bool:
    if stat is None or stat.size != file.size:
        return False
    in_parts = (
        "-" in stat.etag
    )  # the ETag of a multipart upload is no MD5 of the file; each part was verified by itself
    return in_parts or stat.etag == file.md5

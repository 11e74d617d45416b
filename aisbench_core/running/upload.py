"""Uploading a run's code by manifest: only what is not there yet, and verified afterwards."""

from aisbench_core.cloud.ports import ObjectStat, ObjectStore, OnProgress
from aisbench_core.errors import CloudUnavailable
from aisbench_core.running.code import CodeFile, CodeManifest


def upload(objects: ObjectStore, code: CodeManifest, directory: str, on_progress: OnProgress) -> int:
    """Make `directory` in OBS equal to the code; returns how many files had to be sent.

    Raises CloudUnavailable when the directory is not equal afterwards: a file was edited meanwhile, or got lost."""
    missing = _missing(objects, code, directory)
    on_progress(len(code.files) - len(missing), len(code.files))
    if not missing:
        return 0
    there = len(code.files) - len(missing)
    objects.put_many(
        [(directory + file.name, file.source) for file in missing],
        lambda done, _: on_progress(there + done, len(code.files)),
    )
    lost = _missing(objects, code, directory)
    if lost:
        raise CloudUnavailable(
            f"{len(lost)} of {len(missing)} files are not as they were sent, first of all {lost[0].name}",
            operation="upload code",
            hint="it is tried again; do not edit the code while it is uploaded",
        )
    return len(missing)


def _missing(objects: ObjectStore, code: CodeManifest, directory: str) -> list[CodeFile]:
    stored = {stat.path.removeprefix(directory): stat for stat in objects.list(directory)}
    return [file for file in code.files if not _is_equal(file, stored.get(file.name))]


def _is_equal(file: CodeFile, stat: ObjectStat | None) -> bool:
    if stat is None or stat.size != file.size:
        return False
    in_parts = "-" in stat.etag  # an upload in parts has no MD5 of the whole; each part was checked by itself
    return in_parts or stat.etag == file.md5

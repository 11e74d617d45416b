"""NFS shares and parallel file systems: directories that emulate them, shared by all jobs and nodes."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from aisbench_sandbox.engine.node.container import normalise_volume
from aisbench_sandbox.engine.node.job_user import job_user
from aisbench_sandbox.files import MAX_NAME_BYTES

_REMOTES = {"nfs": "nfs_server_path", "pfs": "pfs_path"}


@dataclass(frozen=True, slots=True)
class Share:
    """A share, its mount point in the job, and the directory that emulates it."""

    remote: str
    local: str
    folder: Path
    read_only: bool


def list_shares(root: Path, volumes: Sequence[Mapping[str, Any]]) -> Iterator[Share]:
    """The volumes of a create request that can be mounted: none over system directories."""
    for entry in volumes:
        for kind, path in _REMOTES.items():
            mount = entry.get(kind) or {}
            local = normalise_volume(mount.get("local_path") or "")
            if local:
                # An NFS share has an address before its path, so that no name of one is that of the other kind.
                remote = str(mount[path])
                yield Share(remote, local, root / _folder_name(remote.rstrip("/")), mount.get("read_only") is True)


def list_unmountable(volumes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The mount points of a create request that cannot be used here, because they are of the system."""
    for entry in volumes:
        for kind in _REMOTES:
            local = str((entry.get(kind) or {}).get("local_path") or "")
            if local and not normalise_volume(local):
                yield local


def _folder_name(remote: str) -> str:
    """One name for the whole address: in nested directories, a job's links could redirect another share."""
    name = quote(remote, safe="")
    return (
        name
        if len(name) <= MAX_NAME_BYTES
        # 64 digits of the hash and a hyphen.
        else f"{name[: MAX_NAME_BYTES - 65]}-{hashlib.sha256(remote.encode()).hexdigest()}"
    )


def make_folder(share: Share) -> None:
    """Make the directory, writable for jobs; existing content stays."""
    share.folder.mkdir(parents=True, exist_ok=True)
    user = job_user()
    if user:
        share.folder.chmod(0o777)  # only jobs can reach it

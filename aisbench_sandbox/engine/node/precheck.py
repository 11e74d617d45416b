"""The environment check before a fault-tolerant job starts, measured on this machine."""

import shutil
import socket
from collections.abc import Sequence
from pathlib import Path

_GB = 1024**3
_ULIMITS = (
    ("max locked memory", "RLIMIT_MEMLOCK"),
    ("open files", "RLIMIT_NOFILE"),
    ("stack size", "RLIMIT_STACK"),
    ("max user processes", "RLIMIT_NPROC"),
)


def list_items(folder: Path, hosts: Sequence[str]) -> list[str]:
    """One log line per check. `folder` is on the disk that stands in for root and /cache.

    The cloud requires more than 32 GB there and 1 GB of shared memory; a laptop may have less, so the values are only
    reported."""
    # The items and their names in the log: training guide 5.2.1. Its GPU check is left out, as there are none.
    return [_check_names(hosts), *_check_disks(folder), *_check_ulimits()]


def _check_names(hosts: Sequence[str]) -> str:
    try:
        for host in hosts:
            socket.getaddrinfo(host, None)
    except OSError as error:
        return f"item: dns, {error}"
    return f"item: dns, {len(hosts)} host{'s' * (len(hosts) > 1)} resolved"


def _check_disks(folder: Path) -> list[str]:
    paths = {"root": folder, "shm": Path("/dev/shm"), "cache": folder}  # noqa: S108 - it is only measured
    return [
        f"item: disk-size {name}, {shutil.disk_usage(path).total // _GB} GB"
        for name, path in paths.items()
        if path.is_dir()
    ]


def _check_ulimits() -> list[str]:
    try:
        import resource
    except ImportError:  # not a Unix
        return []
    available = [(label, getattr(resource, name, None)) for label, name in _ULIMITS]
    return [
        f"item: ulimit {label}, {_format_limit(resource.getrlimit(number)[0], resource.RLIM_INFINITY)}"
        for label, number in available
        if number is not None
    ]


def _format_limit(limit: int, infinity: int) -> str:
    return "unlimited" if limit == infinity else str(limit)

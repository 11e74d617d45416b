"""Tells paths of this machine from addresses in OBS, and splits those into bucket and key."""
# ruff: noqa: PTH118 - relative paths of paths as people write them

import os
from collections.abc import Iterator
from typing import Any

from moxing.client import Auth, ObjectInfo, Obs

_SCHEMES = ("obs://", "s3://")
_obs: list[Obs] = []  # created at first use: until then the environment variables may change


def set_auth(
    ak: str | None = None,
    sk: str | None = None,
    server: str | None = None,
    port: int | None = None,
    is_secure: bool | None = None,
    ssl_verify: bool | None = None,
    retry: int | None = None,
    **_: Any,
) -> None:
    """Use another OBS, or other keys; omitted values stay. MoXing's other settings are ignored."""
    if server is not None:
        # MoXing takes an address with or without a scheme, and the port apart.
        scheme, _sep, rest = server.rpartition("://")
        server = rest.rstrip("/") + (f":{port}" if port else "")
        is_secure = scheme == "https" if scheme else is_secure
    settings = {
        "access_key": ak,
        "secret_key": sk,
        "server": server,
        "is_secure": is_secure,
        "verify": ssl_verify,
        "retry": retry,
    }
    # The current client is replaced, not changed: other threads may be using it.
    changed = store().with_changes(**{name: value for name, value in settings.items() if value is not None})
    store().close()
    _obs[:] = [changed]


def store() -> Obs:
    """The current OBS client."""
    if not _obs:
        _obs.append(Obs(Auth.of_the_container()))
    return _obs[0]


def is_remote(url: Any) -> bool:
    """Whether a path is an address in OBS."""
    return isinstance(url, (str, os.PathLike)) and str(url).startswith(_SCHEMES)


def parts(url: Any) -> tuple[str, str]:
    """Bucket and key of an obs:// or s3:// address."""
    bucket, _, key = str(url).partition("://")[2].partition("/")
    return bucket, key


def folder_of(key: str) -> str:
    """The prefix of all keys in this directory; empty for a whole bucket."""
    return f"{key.rstrip('/')}/" if key.rstrip("/") else ""


def is_object(bucket: str, key: str) -> bool:
    """Whether there is an object with exactly this key."""
    return bool(key) and store().head(bucket, key) is not None


def objects_below(bucket: str, prefix: str) -> Iterator[ObjectInfo]:
    """Every object below a prefix."""
    return (entry for entry in store().list(bucket, prefix) if isinstance(entry, ObjectInfo))


def paths_below(bucket: str, prefix: str) -> set[str]:
    """The relative paths of all files and directories below a prefix."""
    paths: set[str] = set()
    for info in objects_below(bucket, prefix):
        path = info.key[len(prefix) :].rstrip("/")
        while path and path not in paths:
            paths.add(path)
            path = path.rpartition("/")[0]
    return paths


def local_paths_below(folder: str) -> list[str]:
    """The relative paths of all files and directories in a local directory."""
    paths = []
    for here, folders, files in os.walk(folder):
        paths += [os.path.relpath(os.path.join(here, name), folder) for name in (*folders, *files)]
    return paths

"""What a job is made of."""

from __future__ import annotations

from typing import Any


class TrainingFiles:
    """The code, in OBS."""

    def __init__(self, code_dir: str | None = None, boot_file: str | None = None) -> None:
        self.code_dir = code_dir
        self.boot_file = boot_file


class InputData:
    """An input, given to the script as a parameter."""

    def __init__(
        self,
        obs_path: str | None = None,
        name: str | None = None,
        local_path: str | None = None,
        is_local_source: bool | None = None,
    ) -> None:
        if is_local_source:
            raise ValueError("local sources are for debugging in a notebook")
        self.body = channel(obs_path, name, local_path, "parameter")


class OutputData:
    """An output."""

    def __init__(
        self,
        obs_path: str | None = None,
        name: str | None = None,
        local_path: str | None = None,
        access_method: str = "parameter",
    ) -> None:
        self.body = channel(obs_path, name, local_path, access_method)


def channel(obs_path: str | None, name: str | None, local_path: str | None, access_method: str) -> dict[str, Any]:
    """As the API has it."""
    told = {"name": name, "access_method": access_method, "remote": {"obs": {"obs_url": api_path(obs_path or "")}}}
    return {**told, "local_dir": local_path} if local_path else told


def api_path(url: str) -> str:
    """obs://bucket/key as the API writes it: /bucket/key."""
    if url and not url.startswith("obs://"):
        raise ValueError(f"{url} is no OBS path, which begins with obs://")
    return url[len("obs:/") :]

"""Algorithms: what jobs run, kept by ModelArts under an id."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An algorithm of "my algorithms" (training guide, section 3). Paths are /bucket/key.

    It starts `boot_path` in the preset image `engine`, or `command` in the image of this address. `inputs` and
    `outputs` are names; a job gives their directories. `usable` is None if the region does not say."""

    algorithm_id: str
    name: str
    description: str
    created_at: datetime | None
    usable: bool | None
    code_path: str
    boot_path: str
    command: str
    engine: str
    parameters: Mapping[str, str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubscribedAlgorithm:
    """A version of an algorithm that the account has subscribed to in AI Gallery (training guide, section 3.2).

    A job names both ids. `name` and `version` are empty if the region does not say them."""

    subscription_id: str
    item_version_id: str
    name: str
    version: str

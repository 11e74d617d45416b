"""Organisations, repositories and versions of images in SWR, by its API v2, which every region has."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.cloud.modelarts_client import Caller
from aisbench_core.config.credentials import Credentials
from aisbench_core.config.settings import Profile
from aisbench_core.model import ImageVersion, Organisation, Repository

Json = Mapping[str, Any]
Value = TypeVar("Value")

MOST = 1000  # the most that one request returns
_NEWEST = {"limit": MOST, "offset": 0, "order_column": "updated_at", "order_type": "desc"}

_TAGS = "/v2/manage/namespaces/{organisation}/repos/{repository}/tags"


class SwrRegistry:
    """An ImageRegistry. Threads may share it. The requests are signed like those to ModelArts."""

    def __init__(self, profile: Profile, credentials: Credentials, request_seconds: float) -> None:
        """`request_seconds`: timeout of one request. Sends nothing yet."""
        address = profile.registry_endpoint
        self._profile = profile.name
        self._caller = Caller(profile, credentials, request_seconds, "SWR", address) if address else None

    def organisations(self) -> Sequence[Organisation]:
        return self._read_path(
            Message("list organisations of images"), "/v2/manage/namespaces", {}, {}, _parse_organisations
        )

    def repositories(self, organisation: str) -> Sequence[Repository]:
        operation = Message("list images of {organisation}", organisation=organisation)
        query = {"namespace": organisation, **_NEWEST}
        return self._read_path(
            operation, "/v2/manage/repos", {}, query, lambda reply: _parse_repositories(reply, organisation)
        )

    def versions(self, organisation: str, repository: str) -> Sequence[ImageVersion]:
        operation = Message("list versions of {image}", image=f"{organisation}/{repository}")
        image, names = f"{organisation}/{repository}", _to_path_names(organisation, repository)
        return self._read_path(
            operation, _TAGS, names, _NEWEST, lambda reply: [_parse_version(item, image) for item in reply]
        )

    def version(self, organisation: str, repository: str, tag: str) -> ImageVersion:
        image, names = f"{organisation}/{repository}", {**_to_path_names(organisation, repository), "tag": tag}
        operation = Message("get image {image}", image=f"{image}:{tag}")
        # The reference: the list writes `Tag`, the details write `tag`.
        return self._read_path(
            operation, f"{_TAGS}/{{tag}}", names, {}, lambda reply: _parse_version({**reply, "Tag": tag}, image)
        )

    def _read_path(
        self,
        operation: Message,
        path: str,
        numbers: Mapping[str, str],
        query: Mapping[str, object],
        parse: Callable[[Any], Value],
    ) -> Value:
        if self._caller is None:
            message = Message("profile {profile} does not say where images are kept", profile=self._profile)
            raise ConfigError(message, Message("set swr_endpoint to the address of SWR"))
        return self._caller.read(operation, self._caller.request("GET", path, numbers, query), parse)


def _to_path_names(organisation: str, repository: str) -> dict[str, str]:
    # The reference: a slash in the name is sent as a dollar sign.
    return {"organisation": organisation, "repository": repository.replace("/", "$")}


def _parse_organisations(reply: Json) -> list[Organisation]:
    items = reply.get("namespaces") or ()
    return [Organisation(str(item["name"]), str(item.get("creator_name") or "")) for item in items]


def _parse_repositories(reply: Sequence[Json], organisation: str) -> list[Repository]:
    # The filter is exact in the reference of today; in older ones it finds names that contain it, too.
    found = [item for item in reply if item.get("namespace", organisation) == organisation]
    return [
        Repository(
            organisation=organisation,
            name=str(item["name"]),
            versions=_to_int_or_none(item.get("num_images")),
            size=_to_int_or_none(item.get("size")),
            is_public=item.get("is_public") is True,
            updated_at=_parse_time(item.get("updated_at")),
        )
        for item in found
    ]


def _parse_version(item: Json, image: str) -> ImageVersion:
    tag = str(item["Tag"])
    digest, size, updated = (
        str(item.get("digest") or ""),
        _to_int_or_none(item.get("size")),
        _parse_time(item.get("updated")),
    )
    return ImageVersion(f"{image}:{tag}", tag, size, updated, digest)


def _to_int_or_none(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _parse_time(value: object) -> datetime | None:
    """An aware time; None where the registry writes none."""
    try:
        time = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return time if time.tzinfo else None

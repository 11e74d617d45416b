"""Versioning of the sandbox's buckets, and the listing of versions."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from starlette.responses import Response

from aisbench_sandbox.obs import responses
from aisbench_sandbox.obs.calls import Call
from aisbench_sandbox.obs.storage.object_paths import common_prefix
from aisbench_sandbox.obs.storage.objects import MAX_PAGE, VERSIONING
from aisbench_sandbox.obs.storage.stored import ObjectError, StoredObject
from aisbench_sandbox.obs.storage.versions import ENABLED, SUSPENDED


@dataclass(slots=True)
class VersionPage:
    """One page: (version, is it a delete marker, is it the latest), and common prefixes."""

    versions: list[tuple[StoredObject, bool, bool]] = field(default_factory=list)
    prefixes: list[str] = field(default_factory=list)
    last: tuple[str, str] = ("", "")
    truncated: bool = False

    def __len__(self) -> int:
        return len(self.versions) + len(self.prefixes)


def get_versioning(call: Call) -> Response:
    call.objects.require_bucket(call.bucket)
    return responses.render_versioning(call.objects.settings.find(call.bucket, VERSIONING))


def put_versioning(call: Call) -> Response:
    call.objects.require_bucket(call.bucket)
    status = call.xml().findtext("Status", "")
    if status not in (ENABLED, SUSPENDED):
        raise ObjectError("MalformedXML", f"The status of versioning is {ENABLED} or {SUSPENDED}.")
    call.objects.settings.set(call.bucket, VERSIONING, status)
    return responses.build_empty()


def list_versions(call: Call) -> Response:
    """One page of versions and delete markers, by key, the newest of each first."""
    limit = max(0, min(call.number("max-keys", MAX_PAGE), MAX_PAGE))
    about: dict[str, object] = {"Name": call.bucket, "Prefix": call.text("prefix")}
    about |= {"KeyMarker": call.text("key-marker"), "VersionIdMarker": call.text("version-id-marker")}
    about |= {"MaxKeys": limit} | ({"Delimiter": call.text("delimiter")} if call.text("delimiter") else {})
    page = VersionPage(last=(call.text("key-marker"), call.text("version-id-marker")))
    for found in _iterate_entries(call):
        if len(page) == limit:
            page.truncated = limit > 0
            break
        if isinstance(found, str):
            page.prefixes.append(found)
            page.last = (found, "")
        else:
            page.versions.append(found)
            page.last = (found[0].key, found[0].version_id)
    if page.truncated:
        about |= {"NextKeyMarker": page.last[0]} | ({"NextVersionIdMarker": page.last[1]} if page.last[1] else {})
    return responses.version_list(page.versions, page.prefixes, about, call.read_encoding(), truncated=page.truncated)


def _iterate_entries(call: Call) -> Iterator[tuple[StoredObject, bool, bool] | str]:
    """What comes after the markers: versions, and common prefixes once each."""
    prefix, delimiter = call.text("prefix"), call.text("delimiter")
    marker, id_marker = call.text("key-marker"), call.text("version-id-marker")
    if id_marker and not marker:
        raise ObjectError("InvalidArgument", "A version-id-marker needs a key-marker.")
    if id_marker:  # the rest of the versions of a key
        seen = False
        for number, (version, is_marker) in enumerate(call.objects.list_versions(call.bucket, marker)):
            if seen:
                yield version, is_marker, number == 0
            seen = seen or version.version_id == id_marker
    last = marker
    for key in call.objects.versioned_keys(call.bucket, prefix, marker):
        name = common_prefix(key, prefix, delimiter)
        if name != key or (delimiter and key.find(delimiter, len(prefix)) >= 0):
            if name > last:
                yield name
                last = name
            continue
        for number, (version, is_marker) in enumerate(call.objects.list_versions(call.bucket, key)):
            yield version, is_marker, number == 0

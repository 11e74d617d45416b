"""Versioning as OBS documents it: ids, delete markers, and what each deletion leaves."""

from typing import Any

import pytest
import requests
from botocore.exceptions import ClientError
from obs import DeleteObjectsRequest, GetObjectRequest, Object

from aisbench_sandbox.obs.storage.objects import Objects
from tests.contract.obs_server import BUCKET, Served


@pytest.fixture
def kept(s3: Any) -> Any:
    """A client; its bucket has versioning, and an object of three versions, of which the first is older than that."""
    s3.put_object(Bucket=BUCKET, Key="a", Body=b"one")
    s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    for body in (b"two", b"three"):
        s3.put_object(Bucket=BUCKET, Key="a", Body=body, Metadata={"of": body.decode()})
    return s3


def list_versions(s3: Any, key: str = "a") -> list[tuple[str, bool]]:
    """(id, is it a delete marker), newest first."""
    listed = s3.list_object_versions(Bucket=BUCKET, Prefix=key)
    both = [(each, False) for each in listed.get("Versions", [])]
    both += [(each, True) for each in listed.get("DeleteMarkers", [])]
    both.sort(key=lambda pair: (pair[0]["LastModified"], pair[0]["IsLatest"]), reverse=True)
    assert [each["IsLatest"] for each, _ in both] == [True] + [False] * (len(both) - 1)
    return [(each["VersionId"], is_marker) for each, is_marker in both]


def read(s3: Any, **more: Any) -> bytes:
    return bytes(s3.get_object(Bucket=BUCKET, Key="a", **more)["Body"].read())


def test_each_version_is_read_by_its_id_and_the_newest_without(kept: Any) -> None:
    (newest, _), (second, _), (first, _) = list_versions(kept)

    assert first == "null"
    assert len({newest, second}) == 2
    assert read(kept) == b"three"
    assert [read(kept, VersionId=each) for each in (newest, second, first)] == [b"three", b"two", b"one"]
    head = kept.head_object(Bucket=BUCKET, Key="a", VersionId=second)
    assert (head["VersionId"], head["Metadata"], head["ContentLength"]) == (second, {"of": "two"}, 3)
    with pytest.raises(ClientError, match="NoSuchVersion"):
        read(kept, VersionId="7")


def test_a_deletion_leaves_a_marker_whose_own_deletion_brings_the_object_back(kept: Any) -> None:
    told = kept.delete_object(Bucket=BUCKET, Key="a")

    assert told["DeleteMarker"] is True
    assert list_versions(kept)[0] == (told["VersionId"], True)
    with pytest.raises(ClientError, match="NoSuchKey") as missing:
        read(kept)
    assert missing.value.response["ResponseMetadata"]["HTTPHeaders"]["x-amz-delete-marker"] == "true"
    with pytest.raises(ClientError, match="MethodNotAllowed"):
        read(kept, VersionId=told["VersionId"])
    assert "Contents" not in kept.list_objects_v2(Bucket=BUCKET)
    again = kept.delete_object(Bucket=BUCKET, Key="a", VersionId=told["VersionId"])
    assert again["DeleteMarker"] is True
    assert read(kept) == b"three"


def test_a_deleted_version_is_gone_and_the_one_before_becomes_current(kept: Any) -> None:
    (newest, _), (second, _), _ = list_versions(kept)

    kept.delete_object(Bucket=BUCKET, Key="a", VersionId=newest)

    assert read(kept) == b"two"
    assert list_versions(kept) == [(second, False), ("null", False)]
    with pytest.raises(ClientError, match="NoSuchVersion"):
        read(kept, VersionId=newest)
    kept.delete_object(Bucket=BUCKET, Key="a", VersionId=newest)  # as of any object that is missing
    kept.delete_object(Bucket=BUCKET, Key="a", VersionId="null")
    assert read(kept) == b"two"


def test_while_versioning_is_suspended_only_the_version_null_is_replaced(kept: Any) -> None:
    kept.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Suspended"})

    for body in (b"four", b"five"):
        assert kept.put_object(Bucket=BUCKET, Key="a", Body=body)["VersionId"] == "null"
    left = list_versions(kept)
    deleted = kept.delete_object(Bucket=BUCKET, Key="a")

    assert [version_id == "null" for version_id, _ in left] == [True, False, False]
    assert (deleted["VersionId"], deleted["DeleteMarker"]) == ("null", True)
    assert list_versions(kept) == [("null", True), *left[1:]]
    kept.put_object(Bucket=BUCKET, Key="a", Body=b"six")
    assert list_versions(kept) == left


def test_a_page_of_versions_goes_on_within_a_key(kept: Any) -> None:
    kept.put_object(Bucket=BUCKET, Key="b/c", Body=b"x")
    kept.delete_object(Bucket=BUCKET, Key="b/c")

    pages = list(kept.get_paginator("list_object_versions").paginate(Bucket=BUCKET, PaginationConfig={"PageSize": 2}))
    folders = kept.list_object_versions(Bucket=BUCKET, Delimiter="/")

    listed = [(each["Key"], each["VersionId"]) for page in pages for each in page.get("Versions", [])]
    assert listed[:3] == [("a", version_id) for version_id, _ in list_versions(kept)]
    assert [key for key, _ in listed[3:]] == ["b/c"]
    assert [each["Key"] for page in pages for each in page.get("DeleteMarkers", [])] == ["b/c"]
    assert [each["Prefix"] for each in folders["CommonPrefixes"]] == ["b/"]
    assert len(folders["Versions"]) == 3


def test_an_old_version_is_copied_and_many_are_deleted_with_one_request(kept: Any) -> None:
    versions = [version_id for version_id, _ in list_versions(kept)]
    source = {"Bucket": BUCKET, "Key": "a", "VersionId": versions[1]}

    copied = kept.copy_object(Bucket=BUCKET, Key="copy", CopySource=source)
    gone = [{"Key": "a", "VersionId": version_id} for version_id in versions]
    told = kept.delete_objects(Bucket=BUCKET, Delete={"Objects": [*gone, {"Key": "copy"}]})

    assert {each.get("VersionId") for each in told["Deleted"]} == {*versions, None}
    (marker,) = [each for each in told["Deleted"] if each.get("DeleteMarker")]
    assert [version_id for version_id, _ in list_versions(kept, "copy")] == [
        marker["DeleteMarkerVersionId"],
        copied["VersionId"],
    ]
    kept.delete_object(Bucket=BUCKET, Key="copy", VersionId=marker["DeleteMarkerVersionId"])
    assert kept.get_object(Bucket=BUCKET, Key="copy")["Body"].read() == b"two"
    with pytest.raises(ClientError, match="BucketNotEmpty"):
        kept.delete_bucket(Bucket=BUCKET)


def test_versions_survive_a_restart_and_a_bucket_with_only_old_ones_is_not_empty(kept: Any, served: Served) -> None:
    kept.delete_object(Bucket=BUCKET, Key="a")
    again = Objects(served.objects.root)

    assert [stat.version_id for stat, _ in again.list_versions(BUCKET, "a")] == [
        each for each, _ in list_versions(kept)
    ]
    with pytest.raises(ClientError, match="BucketNotEmpty"):
        kept.delete_bucket(Bucket=BUCKET)


def test_an_old_version_of_a_public_object_needs_a_signature(kept: Any, served: Served) -> None:
    kept.put_object_acl(Bucket=BUCKET, Key="a", ACL="public-read")
    second = list_versions(kept)[1][0]

    def status(query: str) -> int:
        return requests.get(f"{served.url}/{BUCKET}/a{query}", timeout=60).status_code

    assert (status(""), status(f"?versionId={second}")) == (200, 403)


def test_what_is_not_understood_of_versions_names_itself(kept: Any, obs: Any) -> None:
    second = list_versions(kept)[1][0]

    with pytest.raises(ClientError, match=r"NotImplemented.*\?tagging of a version"):
        kept.get_object_tagging(Bucket=BUCKET, Key="a", VersionId=second)
    assert obs.appendObject(BUCKET, "log", {"content": "x", "position": 0}).errorCode == "NotImplemented"


def test_the_official_sdk_lists_reads_and_deletes_versions(kept: Any, obs: Any) -> None:
    assert obs.setBucketVersioning(BUCKET, "Enabled").status == 200
    put = obs.putContent(BUCKET, "a", "four")
    listed = obs.listVersions(BUCKET).body.versions
    deleted = obs.deleteObject(BUCKET, "a")

    assert [version.versionId for version in listed] == [each for each, _ in list_versions(kept)][1:]
    assert put.body.versionId == listed[0].versionId
    assert (deleted.status, deleted.body.deleteMarker, deleted.body.versionId) == (204, True, list_versions(kept)[0][0])
    assert obs.getObject(BUCKET, "a", loadStreamInMemory=True).errorCode == "NoSuchKey"
    old = obs.getObject(
        BUCKET, "a", getObjectRequest=GetObjectRequest(versionId=listed[1].versionId), loadStreamInMemory=True
    )
    assert old.body.buffer == b"three"
    (marker,) = obs.listVersions(BUCKET).body.markers
    gone = obs.deleteObjects(BUCKET, DeleteObjectsRequest(False, [Object(key="a", versionId=marker.versionId)]))
    assert [each.deleteMarkerVersionId for each in gone.body.deleted] == [marker.versionId]
    assert obs.getObject(BUCKET, "a", loadStreamInMemory=True).body.buffer == b"four"

"""What the sandbox's OBS says of multipart uploads on their way, and what it accepts as parts."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from obs import CompleteMultipartUploadRequest, CompletePart, ListMultipartUploadsRequest

from tests.contract.obs_server import BUCKET, Served, md5, sdk

LEAST = 100 * 1024


@pytest.fixture
def obs(served: Served) -> Iterator[Any]:
    with sdk(served) as client:
        yield client


def complete(obs: Any, upload_id: str, *parts: tuple[int, str]) -> Any:
    wanted = CompleteMultipartUploadRequest([CompletePart(number, etag) for number, etag in parts])
    return obs.completeMultipartUpload(BUCKET, "big", upload_id, wanted)


def test_received_parts_are_listed_page_by_page(obs: Any, s3: Any) -> None:
    upload_id = obs.initiateMultipartUpload(BUCKET, "big").body.uploadId
    for number in (5, 1, 9):
        obs.uploadPart(BUCKET, "big", number, upload_id, b"x" * number)
    obs.uploadPart(BUCKET, "big", 5, upload_id, b"replaced")

    first = obs.listParts(BUCKET, "big", upload_id, maxParts=2).body
    second = obs.listParts(BUCKET, "big", upload_id, partNumberMarker=first.nextPartNumberMarker).body
    pages = s3.get_paginator("list_parts").paginate(
        Bucket=BUCKET, Key="big", UploadId=upload_id, PaginationConfig={"PageSize": 1}
    )

    assert [(part.partNumber, part.size) for part in first.parts] == [(1, 1), (5, 8)]
    assert (first.isTruncated, first.nextPartNumberMarker) == (True, 5)
    assert [(part.partNumber, part.etag) for part in second.parts] == [(9, f'"{md5(b"x" * 9)}"')]
    assert second.isTruncated is False
    assert [part["PartNumber"] for page in pages for part in page.get("Parts", [])] == [1, 5, 9]
    assert obs.listParts(BUCKET, "other", upload_id).errorCode == "NoSuchUpload"


def test_unfinished_uploads_are_listed_page_by_page_in_order_of_key_and_start(obs: Any, s3: Any) -> None:
    started = [
        (key, obs.initiateMultipartUpload(BUCKET, key).body.uploadId) for key in ("b", "a/1", "b", "a/2", "文", "b")
    ]
    expected = sorted(started, key=lambda upload: (upload[0].encode(), started.index(upload)))

    def page(**wanted: Any) -> Any:
        return obs.listMultipartUploads(BUCKET, ListMultipartUploadsRequest(**wanted)).body

    got, marker, id_marker = [], None, None
    while True:
        listed = page(max_uploads=2, key_marker=marker, upload_id_marker=id_marker)
        got += [(upload.key, upload.uploadId) for upload in listed.upload]
        if not listed.isTruncated:
            break
        marker, id_marker = listed.nextKeyMarker, listed.nextUploadIdMarker
    pages = s3.get_paginator("list_multipart_uploads").paginate(Bucket=BUCKET, PaginationConfig={"PageSize": 1})

    assert got == expected
    assert [upload["UploadId"] for each in pages for upload in each.get("Uploads", [])] == [id_ for _, id_ in expected]
    folders = page(delimiter="/")
    assert [entry.prefix for entry in folders.commonPrefixs] == ["a/"]
    assert [upload.key for upload in folders.upload] == ["b", "b", "b", "文"]
    assert [upload.key for upload in page(prefix="a/").upload] == ["a/1", "a/2"]
    assert [upload.key for upload in page(key_marker="b").upload] == ["文"]
    for key, upload_id in started:
        assert obs.abortMultipartUpload(BUCKET, key, upload_id).status == 204
    assert page().upload == []


def test_every_part_but_the_last_has_at_least_100_kb(obs: Any, served: Served) -> None:
    upload_id = obs.initiateMultipartUpload(BUCKET, "big").body.uploadId
    small, right = b"s" * (LEAST - 1), b"r" * LEAST
    etags = [
        obs.uploadPart(BUCKET, "big", number, upload_id, body).body.etag for number, body in ((1, small), (2, right))
    ]

    refused = complete(obs, upload_id, (1, etags[0]), (2, etags[1]))
    etags[0] = obs.uploadPart(BUCKET, "big", 1, upload_id, right).body.etag
    obs.uploadPart(BUCKET, "big", 3, upload_id, b"end")
    accepted = complete(obs, upload_id, (1, etags[0]), (2, etags[1]), (3, f'"{md5(b"end")}"'))

    assert (refused.status, refused.errorCode) == (400, "EntityTooSmall")
    assert accepted.status == 200
    assert served.objects.read(BUCKET, "big") == right + right + b"end"


def test_parts_in_another_order_twice_or_unknown_are_refused(obs: Any, s3: Any) -> None:
    upload_id = obs.initiateMultipartUpload(BUCKET, "big").body.uploadId
    etags = [obs.uploadPart(BUCKET, "big", number, upload_id, b"x" * LEAST).body.etag for number in (1, 2)]

    swapped = [{"PartNumber": number, "ETag": etags[number - 1]} for number in (2, 1)]  # the SDK would sort them
    with pytest.raises(ClientError, match="InvalidPartOrder"):
        s3.complete_multipart_upload(Bucket=BUCKET, Key="big", UploadId=upload_id, MultipartUpload={"Parts": swapped})
    assert complete(obs, upload_id, (1, etags[0]), (1, etags[0])).errorCode == "InvalidPartOrder"
    assert complete(obs, upload_id, (1, f'"{md5(b"other")}"')).errorCode == "InvalidPart"
    assert complete(obs, upload_id, (7, etags[0])).errorCode == "InvalidPart"
    assert complete(obs, upload_id).errorCode == "MalformedXML"
    assert obs.uploadPart(BUCKET, "big", 0, upload_id, b"x").errorCode == "InvalidArgument"
    assert obs.uploadPart(BUCKET, "big", 10_001, upload_id, b"x").errorCode == "InvalidArgument"
    assert obs.uploadPart(BUCKET, "big", 1, "0" * 32, b"x").errorCode == "NoSuchUpload"
    assert obs.uploadPart(BUCKET, "big", 1, "../../x", b"x").errorCode == "NoSuchUpload"


def test_a_part_may_be_copied_from_an_object_or_a_range_of_it(s3: Any, served: Served) -> None:
    served.objects.put(BUCKET, "source", b"0123456789" * 20_000)
    upload_id = s3.create_multipart_upload(Bucket=BUCKET, Key="big", Metadata={"run": "7"})["UploadId"]
    there = {"Bucket": BUCKET, "Key": "big", "UploadId": upload_id}
    source = {"Bucket": BUCKET, "Key": "source"}

    ranged = s3.upload_part_copy(**there, PartNumber=1, CopySource=source, CopySourceRange="bytes=0-149999")
    whole = s3.upload_part_copy(**there, PartNumber=2, CopySource=source)
    with pytest.raises(ClientError, match="InvalidRange"):
        s3.upload_part_copy(**there, PartNumber=3, CopySource=source, CopySourceRange="bytes=200000-200001")
    with pytest.raises(ClientError, match="PreconditionFailed"):
        s3.upload_part_copy(**there, PartNumber=3, CopySource=source, CopySourceIfMatch='"other"')
    etags = [answer["CopyPartResult"]["ETag"] for answer in (ranged, whole)]
    parts = [{"PartNumber": number, "ETag": etag} for number, etag in enumerate(etags, start=1)]
    s3.complete_multipart_upload(**there, MultipartUpload={"Parts": parts})

    got = s3.get_object(Bucket=BUCKET, Key="big")
    assert got["Body"].read() == b"0123456789" * 35_000
    assert got["Metadata"] == {"run": "7"}
    assert got["ETag"].endswith('-2"')


def test_uploads_of_a_bucket_that_was_deleted_behind_their_back_are_forgotten(obs: Any, served: Served) -> None:
    obs.createBucket("another")
    obs.initiateMultipartUpload("another", "big")

    served.objects.delete_bucket("another")
    served.objects.create_bucket("another")

    assert obs.listMultipartUploads("another").body.upload == []

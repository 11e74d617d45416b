"""The sandbox's OBS, driven over real HTTP by the official SDK and by boto3, neither of which knows of it."""

from datetime import timedelta
from typing import Any

import pytest
import requests
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from obs import AppendObjectContent, DeleteObjectsRequest, GetObjectHeader, Object, PutObjectHeader

from tests.contract.obs_server import BUCKET, Served, md5, sdk

AWKWARD = ["a/b c+d&e=f?.txt", "文/é%20%2F.json", "x\r\n\ty", "~!*'();:@$,[]", "a//b", "a/", "../../up", "%2e%2e/up"]


@pytest.mark.parametrize("key", AWKWARD)
def test_the_sdk_stores_and_finds_an_object_of_any_key(obs: Any, served: Served, key: str) -> None:
    put = obs.putContent(BUCKET, key, f"content of {key}")

    got = obs.getObject(BUCKET, key, loadStreamInMemory=True)
    head = obs.getObjectMetadata(BUCKET, key)
    listed = obs.listObjects(BUCKET, encoding_type="url")
    assert (put.status, got.status, head.status, listed.status) == (200, 200, 200, 200)
    assert got.body.buffer.decode() == f"content of {key}"
    assert put.body.etag == got.body.etag == f'"{md5(got.body.buffer)}"'
    assert head.body.contentLength == len(got.body.buffer)
    assert [entry.key for entry in listed.body.contents] == [key]
    assert obs.deleteObject(BUCKET, key).status == 204
    assert served.objects.list(BUCKET).objects == ()


def test_the_sdk_gets_back_the_headers_and_metadata_that_it_sent(obs: Any) -> None:
    headers = PutObjectHeader(contentType="text/csv")
    obs.putContent(BUCKET, "a.csv", "1,2", metadata={"run": "7", "who": "张三"}, headers=headers)

    head = obs.getObjectMetadata(BUCKET, "a.csv")

    told = dict(head.header)
    assert (told["content-type"], told["run"], told["who"]) == ("text/csv", "7", "张三")
    assert head.requestId


def test_the_sdk_reads_ranges(obs: Any) -> None:
    obs.putContent(BUCKET, "a", "0123456789")

    def read(wanted: str) -> tuple[int, bytes | str]:
        got = obs.getObject(BUCKET, "a", headers=GetObjectHeader(range=wanted), loadStreamInMemory=True)
        return got.status, got.body.buffer if got.status < 300 else got.errorCode

    assert read("2-4") == (206, b"234")
    assert read("7-") == (206, b"789")
    assert read("-2") == (206, b"89")
    assert read("5-999") == (206, b"56789")
    assert read("10-") == (416, "InvalidRange")


def test_1205_keys_come_in_two_pages_to_the_sdk_and_to_boto3(s3: Any, served: Served) -> None:
    keys = [f"ranks/throughput_{number}.json" for number in range(1205)]
    for key in keys:
        served.objects.put(BUCKET, key, b"12.5")

    with sdk(served) as obs:
        first = obs.listObjects(BUCKET, prefix="ranks/").body
        second = obs.listObjects(BUCKET, prefix="ranks/", marker=first.next_marker).body
    pages = list(s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET))

    assert (first.is_truncated, second.is_truncated) == (True, False)
    assert [entry.key for entry in first.contents + second.contents] == sorted(keys)
    assert [page["KeyCount"] for page in pages] == [1000, 205]
    assert [entry["Key"] for page in pages for entry in page["Contents"]] == sorted(keys)


def test_a_delimiter_shows_folders(obs: Any, s3: Any, served: Served) -> None:
    for key in ("runs/1/a", "runs/1/b", "runs/2/a", "runs/list", "other"):
        served.objects.put(BUCKET, key, b"")

    listed = obs.listObjects(BUCKET, prefix="runs/", delimiter="/").body
    pages = list(
        s3.get_paginator("list_objects").paginate(Bucket=BUCKET, Delimiter="/", PaginationConfig={"PageSize": 1})
    )

    assert [entry.prefix for entry in listed.commonPrefixs] == ["runs/1/", "runs/2/"]
    assert [entry.key for entry in listed.contents] == ["runs/list"]
    assert [[p["Prefix"] for p in page.get("CommonPrefixes", [])] for page in pages] == [[], ["runs/"]]


def test_many_objects_are_deleted_at_once(obs: Any, s3: Any, served: Served) -> None:
    for key in AWKWARD[3:]:
        served.objects.put(BUCKET, key, b"")
    served.objects.put(BUCKET, "last", b"")

    deleted = obs.deleteObjects(BUCKET, DeleteObjectsRequest(objects=[Object(key) for key in [*AWKWARD[3:], "none"]]))
    s3.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": "last"}], "Quiet": True})

    assert {entry.key for entry in deleted.body.deleted} == {*AWKWARD[3:], "none"}
    assert served.objects.list(BUCKET).objects == ()


def test_the_sdk_appends_and_is_told_when_the_position_is_wrong(obs: Any, served: Served) -> None:
    first = obs.appendObject(BUCKET, "log", AppendObjectContent(content="one\n", position=0))
    second = obs.appendObject(BUCKET, "log", AppendObjectContent(content="two\n", position=first.body.nextPosition))
    wrong = obs.appendObject(BUCKET, "log", AppendObjectContent(content="three\n", position=4))

    assert (first.body.nextPosition, second.body.nextPosition) == (4, 8)
    assert (wrong.status, wrong.errorCode) == (409, "PositionNotEqualToLength")
    assert served.objects.read(BUCKET, "log") == b"one\ntwo\n"


def test_a_copy_keeps_metadata(obs: Any, s3: Any) -> None:
    obs.putContent(BUCKET, "文 1", "content", metadata={"run": "7"})

    assert obs.copyObject(BUCKET, "文 1", BUCKET, "second").status == 200
    s3.copy_object(Bucket=BUCKET, Key="third", CopySource={"Bucket": BUCKET, "Key": "second"})
    s3.copy_object(
        Bucket=BUCKET, Key="fourth", CopySource=f"{BUCKET}/third", MetadataDirective="REPLACE", Metadata={"run": "8"}
    )

    heads = [s3.head_object(Bucket=BUCKET, Key=key) for key in ("third", "fourth")]
    assert [head["Metadata"] for head in heads] == [{"run": "7"}, {"run": "8"}]
    assert {head["ETag"] for head in heads} == {f'"{md5(b"content")}"'}


def test_buckets_are_made_listed_located_measured_and_deleted(obs: Any) -> None:
    assert obs.createBucket("another").status == 200
    assert obs.createBucket("another").errorCode == "BucketAlreadyOwnedByYou"
    assert obs.createBucket("NO").errorCode == "InvalidBucketName"
    obs.putContent("another", "a", "12345")

    assert [bucket.name for bucket in obs.listBuckets().body.buckets] == ["another", BUCKET]
    assert obs.headBucket("another").status == 200
    assert obs.getBucketLocation("another").body.location == "sandbox"
    usage = obs.getBucketStorageInfo("another").body
    assert (usage.size, usage.objectNumber) == (5, 1)
    assert obs.deleteBucket("another").errorCode == "BucketNotEmpty"
    obs.deleteObject("another", "a")
    assert obs.deleteBucket("another").status == 204
    assert obs.headBucket("another").status == 404
    assert obs.listObjects("another").errorCode == "NoSuchBucket"
    assert obs.getObject("another", "a").errorCode == "NoSuchBucket"
    assert obs.getObject(BUCKET, "a").errorCode == "NoSuchKey"


def test_signed_urls_of_the_sdk_and_of_boto3_open_and_expire(obs: Any, s3: Any, served: Served) -> None:
    obs.putContent(BUCKET, "a b/文", "content")
    params = {"Bucket": BUCKET, "Key": "a b/文", "ResponseContentType": "text/plain"}
    urls = [
        obs.createSignedUrl("GET", BUCKET, "a b/文", expires=600).signedUrl,
        s3.generate_presigned_url("get_object", Params=params, ExpiresIn=600),
    ]

    fresh = [requests.get(url, timeout=60) for url in urls]
    altered = [requests.get(url.replace("/a%20b/", "/a%20c/"), timeout=60) for url in urls]
    served.ahead = timedelta(seconds=601)
    stale = [requests.get(url, timeout=60) for url in urls]

    assert [answer.text for answer in fresh] == ["content", "content"]
    assert fresh[1].headers["content-type"] == "text/plain"
    assert [answer.status_code for answer in altered] == [403, 403]
    assert all("SignatureDoesNotMatch" in answer.text for answer in altered)
    assert [answer.status_code for answer in stale] == [403, 403]
    assert all("Request has expired" in answer.text for answer in stale)


def test_a_wrong_secret_or_access_key_is_refused(served: Served) -> None:
    with sdk(served, secret="another") as wrong, sdk(served, access="NOBODY") as unknown:
        assert wrong.putContent(BUCKET, "a", "x").errorCode == "SignatureDoesNotMatch"
        assert unknown.putContent(BUCKET, "a", "x").errorCode == "InvalidAccessKeyId"

    assert served.objects.list(BUCKET).objects == ()


def test_boto3_reads_only_what_has_changed(s3: Any) -> None:
    etag = s3.put_object(Bucket=BUCKET, Key="a", Body=b"content")["ETag"]

    assert s3.get_object(Bucket=BUCKET, Key="a", IfMatch=etag)["Body"].read() == b"content"
    with pytest.raises(ClientError, match="304"):
        s3.get_object(Bucket=BUCKET, Key="a", IfNoneMatch=etag)
    with pytest.raises(ClientError, match="PreconditionFailed"):
        s3.get_object(Bucket=BUCKET, Key="a", IfMatch='"other"')


def test_what_does_not_exist_is_answered_with_what_exists(s3: Any) -> None:
    with pytest.raises(ClientError, match=r"NotImplemented.*GET /\{bucket\}/\{key\}") as refused:
        s3.get_object_torrent(Bucket=BUCKET, Key="a")

    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 501
    with pytest.raises(ClientError, match="NotImplemented"):
        s3.get_bucket_website(Bucket=BUCKET)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=80), st.binary(max_size=200))
@example("a" * 1024, b"")
@example("/", b"x")
def test_any_key_and_content_make_the_round_trip_through_boto3(s3: Any, key: str, content: bytes) -> None:
    s3.put_object(Bucket=BUCKET, Key=key, Body=content)

    got = s3.get_object(Bucket=BUCKET, Key=key)

    assert got["Body"].read() == content
    assert key in [entry["Key"] for entry in s3.list_objects_v2(Bucket=BUCKET, Prefix=key).get("Contents", [])]
    s3.delete_object(Bucket=BUCKET, Key=key)

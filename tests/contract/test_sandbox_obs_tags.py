"""Tags, checksums in signed URLs and blanks in copies, as the clients in use today send them to the sandbox's OBS."""

import base64
import json
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import requests
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from tests.contract.obs_server import ACCESS, BUCKET, SECRET, Served
from tests.contract.test_sandbox_obs_tools import run
from tests.sandbox_process import SandboxProcess

TAGS = {"run": "7", "who": "张三 & co", "empty": ""}
SET = [{"Key": key, "Value": value} for key, value in TAGS.items()]


def tags_of(s3: Any, key: str) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in s3.get_object_tagging(Bucket=BUCKET, Key=key)["TagSet"]}


def test_the_sdk_sets_reads_and_removes_tags(obs: Any) -> None:
    obs.putContent(BUCKET, "a", "content")

    assert obs.setObjectTagging(BUCKET, "a", TAGS).status == 200
    told = obs.getObjectTagging(BUCKET, "a")

    assert {tag.key: tag.value for tag in told.body.tags} == TAGS
    assert dict(obs.getObjectMetadata(BUCKET, "a").header)["etag"]
    assert obs.deleteObjectTagging(BUCKET, "a").status == 204
    assert obs.getObjectTagging(BUCKET, "a").body.tags == []


def test_tags_come_with_an_object_stay_with_it_and_go_with_a_new_one(s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key="a", Body=b"x", Tagging="run=7&who=me%20too", Metadata={"m": "1"})
    etag = s3.head_object(Bucket=BUCKET, Key="a")["ETag"]

    before = tags_of(s3, "a")
    s3.put_object_tagging(Bucket=BUCKET, Key="a", Tagging={"TagSet": SET})
    head, after = s3.head_object(Bucket=BUCKET, Key="a"), tags_of(s3, "a")
    s3.put_object(Bucket=BUCKET, Key="a", Body=b"y")

    assert (before, after, tags_of(s3, "a")) == ({"run": "7", "who": "me too"}, TAGS, {})
    assert (head["ETag"], head["Metadata"]) == (etag, {"m": "1"})
    assert head["ResponseMetadata"]["HTTPHeaders"]["x-amz-tagging-count"] == "3"
    assert "x-obs-tagging" not in str(head)


def test_a_copy_takes_its_tags_along_or_gets_others(s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key="a", Body=b"x", Tagging="run=7", Metadata={"m": "1"})
    source = {"Bucket": BUCKET, "Key": "a"}

    s3.copy_object(Bucket=BUCKET, Key="same", CopySource=source)
    s3.copy_object(Bucket=BUCKET, Key="other", CopySource=source, TaggingDirective="REPLACE", Tagging="run=8")
    s3.copy_object(Bucket=BUCKET, Key="none", CopySource=source, TaggingDirective="REPLACE")
    s3.copy_object(Bucket=BUCKET, Key="meta", CopySource=source, MetadataDirective="REPLACE", Metadata={"m": "2"})

    assert [tags_of(s3, key) for key in ("same", "other", "none", "meta")] == [
        {"run": "7"},
        {"run": "8"},
        {},
        {"run": "7"},
    ]
    told = [s3.head_object(Bucket=BUCKET, Key=key)["Metadata"]["m"] for key in ("same", "other", "none", "meta")]
    assert told == ["1", "1", "1", "2"]


@pytest.mark.usefixtures("one_object")
@pytest.mark.parametrize(
    ("tags", "code"),
    [
        ([{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}], "InvalidTag"),
        ([{"Key": str(number), "Value": ""} for number in range(11)], "BadRequest"),
        ([{"Key": "a" * 129, "Value": ""}], "InvalidTag"),
        ([{"Key": "a", "Value": "1" * 257}], "InvalidTag"),
    ],
)
def test_tags_beyond_the_documented_bounds_are_refused(s3: Any, tags: Any, code: str) -> None:
    with pytest.raises(ClientError) as refused:
        s3.put_object_tagging(Bucket=BUCKET, Key="a", Tagging={"TagSet": tags})

    assert refused.value.response["Error"]["Code"] == code


def test_tags_of_what_is_not_there_are_refused_and_survive_a_restart_where_it_is(sandbox: SandboxProcess) -> None:
    run(sandbox, "aws", "s3api", "put-object", "--bucket", sandbox.bucket, "--key", "a", "--tagging", "run=7")
    sandbox.restart()

    told = json.loads(run(sandbox, "aws", "s3api", "get-object-tagging", "--bucket", sandbox.bucket, "--key", "a"))

    assert told["TagSet"] == [{"Key": "run", "Value": "7"}]
    with pytest.raises(AssertionError, match="not exist"):
        run(sandbox, "aws", "s3api", "get-object-tagging", "--bucket", sandbox.bucket, "--key", "nothing")


PLAINER = [pytest.param(name, marks=pytest.mark.exhaustive) for name in ("a b.txt", "a+b.txt")]


@pytest.mark.parametrize("name", ["a %2B b+文.txt", *PLAINER])
def test_s5cmd_and_aws_copy_objects_with_blanks_and_plus_signs(
    sandbox: SandboxProcess, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "file"
    file.write_text("content")
    start = f"s3://{sandbox.bucket}"
    run(sandbox, "aws", "s3", "cp", file, f"{start}/{name}", "--only-show-errors")

    run(sandbox, "s5cmd", "cp", f"{start}/{name}", f"{start}/five/{name}")
    run(sandbox, "aws", "s3", "cp", f"{start}/{name}", f"{start}/aws/{name}", "--only-show-errors")

    for copied in ("five", "aws"):
        run(sandbox, "s5cmd", "cp", f"{start}/{copied}/{name}", tmp_path / copied)
        assert (tmp_path / copied).read_text() == "content"


def signed_url(served: Served, parameters: dict[str, str]) -> str:
    """A URL as SDKs that move all headers into the query sign it."""
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in parameters.items())
    request = AWSRequest("PUT", f"http://127.0.0.1:{served.port}/{BUCKET}/by-url?{query}")
    S3SigV4QueryAuth(Credentials(ACCESS, SECRET), "s3", "sandbox", expires=60).add_auth(request)
    return str(request.url)


def crc32(content: bytes) -> str:
    return base64.b64encode(zlib.crc32(content).to_bytes(4, "big")).decode()


def test_checksums_tags_and_metadata_in_a_signed_url_count_as_headers(s3: Any, served: Served) -> None:
    told = {"x-amz-sdk-checksum-algorithm": "CRC32", "x-amz-tagging": "run=7", "x-amz-meta-who": "me"}

    right = signed_url(served, told | {"x-amz-checksum-crc32": crc32(b"content")})
    stored = requests.put(right, data=b"content", timeout=60)
    wrong = requests.put(right, data=b"other", timeout=60)
    without = requests.put(signed_url(served, told), data=b"anything", timeout=60)

    assert (stored.status_code, without.status_code) == (200, 200), stored.text
    assert (wrong.status_code, "BadDigest" in wrong.text) == (400, True)
    assert tags_of(s3, "by-url") == {"run": "7"}
    assert s3.head_object(Bucket=BUCKET, Key="by-url")["Metadata"] == {"who": "me"}


def test_urls_of_boto3_with_its_integrity_parameters_open(s3: Any) -> None:
    put = {"Bucket": BUCKET, "Key": "a", "ChecksumAlgorithm": "SHA256"}
    url = s3.generate_presigned_url("put_object", Params=put)
    read = s3.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": "a", "ChecksumMode": "ENABLED"})

    stored = requests.put(url, data=b"content", headers={"x-amz-sdk-checksum-algorithm": "SHA256"}, timeout=60)
    got = requests.get(read, headers={"x-amz-checksum-mode": "ENABLED"}, timeout=60)

    assert (stored.status_code, got.content) == (200, b"content"), stored.text

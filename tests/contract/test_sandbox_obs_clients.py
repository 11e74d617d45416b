"""boto3 as people configure it for OBS: both signatures, both styles of address, and what it asks beside objects."""

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
import requests
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError
from obs import Expiration, Lifecycle, Rule

from tests.contract import obs_signer
from tests.contract.obs_server import ACCESS, BUCKET, SECRET, Served
from tests.contract.test_sandbox_obs_tags import crc32, signed_url

RULES = {"Rules": [{"ID": "old", "Status": "Enabled", "Filter": {"Prefix": "tmp/"}, "Expiration": {"Days": 7}}]}


@pytest.fixture(params=[(sign, style) for sign in ("s3", "s3v4") for style in ("path", "virtual")], ids="-".join)
def client(served: Served, request: pytest.FixtureRequest) -> Iterator[Any]:
    signature, style = request.param
    options: dict[str, Any] = {"signature_version": signature, "s3": {"addressing_style": style}}
    by_host = style == "virtual"
    proxies = {"http": served.url} if by_host else None  # asked as a proxy, as this machine may not resolve the name
    config = Config(**options, retries={"total_max_attempts": 1}, proxies=proxies)
    keys = {"aws_access_key_id": ACCESS, "aws_secret_access_key": SECRET}
    url = "http://obs.sandbox" if by_host else served.url
    client = boto3.client("s3", endpoint_url=url, region_name="cn-north-4", config=config, **keys)
    yield client
    client.close()


def test_buckets_and_objects_are_made_listed_copied_and_removed(client: Any) -> None:
    client.create_bucket(Bucket="another", CreateBucketConfiguration={"LocationConstraint": "cn-north-4"})
    client.put_object(Bucket="another", Key="文/a b+&.txt", Body=b"hi", Metadata={"run": "7"}, Tagging="a=b")
    client.copy_object(Bucket="another", Key="copy", CopySource={"Bucket": "another", "Key": "文/a b+&.txt"})
    parts = TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20)
    client.upload_fileobj(io.BytesIO(b"x" * (6 << 20)), "another", "large", Config=parts)

    assert client.head_bucket(Bucket="another")["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert {bucket["Name"] for bucket in client.list_buckets()["Buckets"]} == {BUCKET, "another"}
    assert client.get_object(Bucket="another", Key="copy")["Body"].read() == b"hi"
    listed = client.list_objects(Bucket="another", Delimiter="/")
    assert [entry["Key"] for entry in listed["Contents"]] == ["copy", "large"]
    assert [entry["Prefix"] for entry in listed["CommonPrefixes"]] == ["文/"]
    assert client.list_multipart_uploads(Bucket="another").get("Uploads", []) == []
    keys = [{"Key": entry["Key"]} for entry in client.list_objects_v2(Bucket="another")["Contents"]]
    assert len(client.delete_objects(Bucket="another", Delete={"Objects": keys})["Deleted"]) == 3
    client.delete_bucket(Bucket="another")


def test_without_versioning_every_object_has_one_version_whose_id_is_null(client: Any) -> None:
    client.put_object(Bucket=BUCKET, Key="a", Body=b"one")
    client.put_object(Bucket=BUCKET, Key="b/c", Body=b"two")

    assert "Status" not in client.get_bucket_versioning(Bucket=BUCKET)
    page = client.list_object_versions(Bucket=BUCKET, MaxKeys=1)
    rest = client.list_object_versions(Bucket=BUCKET, KeyMarker=page["NextKeyMarker"])
    versions = [*page["Versions"], *rest["Versions"]]
    assert [(each["Key"], each["VersionId"], each["IsLatest"]) for each in versions] == [
        ("a", "null", True),
        ("b/c", "null", True),
    ]
    assert client.get_object(Bucket=BUCKET, Key="a", VersionId="null")["Body"].read() == b"one"
    with pytest.raises(ClientError, match="NoSuchVersion"):
        client.get_object(Bucket=BUCKET, Key="a", VersionId="7")
    client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Suspended"})
    assert client.get_bucket_versioning(Bucket=BUCKET)["Status"] == "Suspended"


def test_lifecycle_rules_are_kept_told_and_removed(client: Any) -> None:
    with pytest.raises(ClientError, match="NoSuchLifecycleConfiguration"):
        client.get_bucket_lifecycle_configuration(Bucket=BUCKET)

    client.put_bucket_lifecycle_configuration(Bucket=BUCKET, LifecycleConfiguration=RULES)

    assert client.get_bucket_lifecycle_configuration(Bucket=BUCKET)["Rules"] == RULES["Rules"]
    wrong = {"Rules": [{**RULES["Rules"][0], "Status": "Off"}]}
    with pytest.raises(ClientError, match=r"MalformedXML.*Enabled or Disabled"):
        client.put_bucket_lifecycle_configuration(Bucket=BUCKET, LifecycleConfiguration=wrong)
    client.delete_bucket_lifecycle(Bucket=BUCKET)
    with pytest.raises(ClientError, match="NoSuchLifecycleConfiguration"):
        client.get_bucket_lifecycle_configuration(Bucket=BUCKET)


def test_a_public_object_is_read_without_a_signature_and_no_other_is(client: Any, served: Served) -> None:
    client.put_object(Bucket=BUCKET, Key="open", Body=b"for all", ACL="public-read")
    client.put_object(Bucket=BUCKET, Key="closed", Body=b"mine")

    def get(target: str) -> tuple[int, bytes]:
        answer = requests.get(f"{served.url}/{BUCKET}{target}", timeout=60)
        return answer.status_code, answer.content

    assert get("/open") == (200, b"for all")
    assert [get(target)[0] for target in ("/closed", "/none", "", "/open?acl")] == [403, 403, 403, 403]
    grants = client.get_object_acl(Bucket=BUCKET, Key="open")["Grants"]
    assert [(grant["Grantee"]["Type"], grant["Permission"]) for grant in grants] == [
        ("CanonicalUser", "FULL_CONTROL"),
        ("Group", "READ"),
    ]
    client.put_object_acl(Bucket=BUCKET, Key="open", ACL="private")
    assert get("/open")[0] == 403
    policy = client.get_object_acl(Bucket=BUCKET, Key="open")
    told = {"Owner": policy["Owner"], "Grants": grants}
    client.put_object_acl(Bucket=BUCKET, Key="closed", AccessControlPolicy=told)
    assert get("/closed") == (200, b"mine")
    client.put_bucket_acl(Bucket=BUCKET, ACL="public-read")
    assert (get("")[0], get("/open")[0]) == (200, 403)  # to list a bucket is not to read its objects
    assert requests.put(f"{served.url}/{BUCKET}/open", data=b"theirs", timeout=60).status_code == 403


def test_the_storage_class_is_kept_and_told(client: Any) -> None:
    client.put_object(Bucket=BUCKET, Key="a", Body=b"x", StorageClass="STANDARD_IA")
    client.put_object(Bucket=BUCKET, Key="b", Body=b"x", StorageClass="STANDARD")

    assert client.head_object(Bucket=BUCKET, Key="a")["StorageClass"] == "STANDARD_IA"
    assert "StorageClass" not in client.head_object(Bucket=BUCKET, Key="b")
    listed = client.list_objects_v2(Bucket=BUCKET)["Contents"]
    assert [entry["StorageClass"] for entry in listed] == ["STANDARD_IA", "STANDARD"]
    client.copy_object(Bucket=BUCKET, Key="c", CopySource={"Bucket": BUCKET, "Key": "a"})
    assert "StorageClass" not in client.head_object(Bucket=BUCKET, Key="c")


REFUSED = [
    ("put_object", {"Key": "a", "StorageClass": "GLACIER"}, "storage class GLACIER"),
    ("put_object", {"Key": "a", "ServerSideEncryption": "AES256"}, "x-amz-server-side-encryption"),
    ("put_object", {"Key": "a", "ACL": "public-read-write"}, "public-read-write"),
    ("put_object", {"Key": "a", "GrantRead": "id=somebody"}, "x-amz-grant-read"),
    ("get_bucket_policy", {}, r"GET /\{bucket\}\?policy is not implemented"),
    ("get_bucket_cors", {}, r"GET /\{bucket\}\?cors is not implemented"),
    ("get_object_attributes", {"Key": "a", "ObjectAttributes": ["ETag"]}, r"GET /\{bucket\}/\{key\}\?attributes"),
]


@pytest.mark.parametrize(("call", "more", "named"), REFUSED)
def test_what_is_not_implemented_is_refused_by_its_name_and_the_connection_goes_on(
    s3: Any, call: str, more: dict[str, Any], named: str
) -> None:
    with pytest.raises(ClientError, match=f"NotImplemented.*{named}"):
        getattr(s3, call)(Bucket=BUCKET, **({"Body": b"x"} if call == "put_object" else {}), **more)

    assert s3.list_objects(Bucket=BUCKET).get("Contents", []) == []


def test_a_url_that_was_signed_before_there_was_a_body_stores_any_body(served: Served) -> None:
    url = signed_url(served, {"x-amz-checksum-crc32": crc32(b""), "x-amz-sdk-checksum-algorithm": "CRC32"})

    assert requests.put(url, data=b"content", timeout=60).status_code == 200
    assert served.objects.read(BUCKET, "by-url") == b"content"


def test_the_settings_of_a_bucket_survive_a_restart_and_end_with_it(served: Served, s3: Any) -> None:
    s3.create_bucket(Bucket="kept", ACL="public-read")
    again = type(served.objects.settings)(served.objects.root / ".settings.json")
    assert again.find("kept", "x-obs-acl") == "public-read"

    s3.delete_bucket(Bucket="kept")
    s3.create_bucket(Bucket="kept")

    assert len(s3.get_bucket_acl(Bucket="kept")["Grants"]) == 1
    s3.delete_bucket(Bucket="kept")


def test_the_official_sdk_reads_and_sets_access_lifecycle_and_versioning(obs: Any) -> None:
    obs.putContent(BUCKET, "a", "content")
    rule = Rule(id="old", prefix="tmp/", status="Enabled", expiration=Expiration(days=7))

    answers = [
        obs.setBucketAcl(BUCKET, aclControl="public-read"),
        obs.setObjectAcl(BUCKET, "a", aclControl="public-read"),
        obs.setBucketLifecycle(BUCKET, Lifecycle(rule=[rule])),
        obs.setBucketVersioning(BUCKET, "Suspended"),
    ]

    assert [answer.status for answer in answers] == [200] * 4, answers
    for acl in (obs.getBucketAcl(BUCKET), obs.getObjectAcl(BUCKET, "a")):
        assert [grant.permission for grant in acl.body.grants] == ["FULL_CONTROL", "READ"]
    (kept,) = obs.getBucketLifecycle(BUCKET).body.lifecycleConfig.rule
    assert (kept.id, kept.prefix, kept.expiration.days) == ("old", "tmp/", 7)
    assert obs.getBucketVersioning(BUCKET).body == "Suspended"
    assert [version.key for version in obs.listVersions(BUCKET).body.versions] == ["a"]
    assert obs.deleteBucketLifecycle(BUCKET).status == 204


def test_a_parameter_without_a_value_is_signed_alike_with_and_without_an_equals_sign(served: Served) -> None:
    """rclone sends `?uploads=` and signs `?uploads`."""
    signed = obs_signer.v2("AWS", ACCESS, SECRET, "GET", f"/{BUCKET}?uploads", datetime.now(UTC), {})

    for query in ("?uploads", "?uploads="):
        assert requests.get(f"{served.url}/{BUCKET}{query}", headers=signed, timeout=60).status_code == 200


def test_the_official_sdk_signs_a_form(obs: Any, served: Served) -> None:
    fields = {"key": "by-form", "acl": "private"}
    signed = obs.createPostSignature(BUCKET, "by-form", expires=60, formParams={"acl": "private"})
    if "credential" in signed:
        named = {f"X-Amz-{name.title()}": signed[name] for name in ("algorithm", "credential", "date", "signature")}
        fields |= {**named, "policy": signed["policy"]}
    else:
        fields |= {"AWSAccessKeyId": ACCESS, "policy": signed["policy"], "signature": signed["signature"]}

    answer = requests.post(f"{served.url}/{BUCKET}", data=fields, files={"file": ("a", b"content")}, timeout=60)

    assert answer.status_code == 204, answer.text
    assert served.objects.read(BUCKET, "by-form") == b"content"

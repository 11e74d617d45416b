"""Both styles of address of the sandbox's OBS: the bucket in the path, or before the host's name."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.config import Config
from obs import ObsClient

from tests.contract import obs_signer
from tests.contract.obs_server import ACCESS, BUCKET, SECRET, Served
from tests.contract.obs_tunnel import tunnel
from tests.contract.obs_wire import Answer, ask

OBJECT = f"/{BUCKET}/a"
pytestmark = pytest.mark.usefixtures("one_object")
HOSTS = [
    f"{BUCKET}.127.0.0.1:8611",
    f"{BUCKET}.localhost:8611",
    f"{BUCKET}.obs.cn-north-4.myhuaweicloud.com",
    f"{BUCKET.upper()}.OBS.sandbox",
    f"{BUCKET}.127.0.0.1.nip.io:8611",
]


def ask_at(served: Served, host: str, method: str, target: str, resource: str, body: bytes = b"") -> Answer:
    signed = obs_signer.v2("OBS", ACCESS, SECRET, method, resource, datetime.now(UTC))
    return ask(served, method, target, {"Host": host, **signed}, body or None)


@pytest.mark.parametrize("host", HOSTS)
def test_the_host_may_name_the_bucket(served: Served, host: str) -> None:
    assert ask_at(served, host, "PUT", "/a", OBJECT, b"by host").status == 200

    assert ask_at(served, host, "GET", "/a", OBJECT).body == b"by host"
    assert served.objects.read(BUCKET, "a") == b"by host"
    assert b"<Key>a</Key>" in ask_at(served, host, "GET", "/?prefix=a", f"/{BUCKET}/").body
    assert ask_at(served, host, "HEAD", "/", f"/{BUCKET}/").status == 200
    assert ask_at(served, host, "DELETE", "/a", OBJECT).status == 204


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8611", "localhost", "obs.cn-north-4.myhuaweicloud.com", "[::1]:8611", "node7"]
)
def test_a_host_without_a_bucket_leaves_it_to_the_path(served: Served, host: str) -> None:
    assert ask_at(served, host, "GET", OBJECT, OBJECT).body == b"content"


def test_a_signature_is_for_the_bucket_of_the_host(served: Served) -> None:
    served.objects.create_bucket("another")

    assert ask_at(served, HOSTS[0], "GET", "/a", "/a").code == "SignatureDoesNotMatch"
    assert ask_at(served, "another.localhost", "GET", "/a", OBJECT).code == "SignatureDoesNotMatch"
    assert ask_at(served, "another.localhost", "GET", "/a", "/another/a").code == "NoSuchKey"
    served.objects.delete_bucket("another")


def test_a_v4_signature_is_for_the_path_as_it_was_sent(served: Served) -> None:
    host = HOSTS[2]
    signed = obs_signer.v4(ACCESS, SECRET, "GET", "/a", datetime.now(UTC), host=host)

    assert ask(served, "GET", "/a", signed).body == b"content"
    assert ask(served, "GET", "/a", signed | {"host": HOSTS[0]}).code == "SignatureDoesNotMatch"


def test_a_signed_url_may_name_the_bucket_in_its_host(served: Served) -> None:
    expires = int(datetime.now(UTC).timestamp()) + 60
    target = obs_signer.v2_url("OBS", ACCESS, SECRET, OBJECT, expires).removeprefix(f"/{BUCKET}")

    assert ask(served, "GET", target, {"Host": HOSTS[2]}).body == b"content"


def test_the_question_for_the_protocol_is_answered_for_buckets_that_exist(served: Served) -> None:
    answers = {
        host: ask(served, "HEAD", "/?apiversion", {"Host": host})
        for host in ("obs.sandbox", f"{BUCKET}.obs.sandbox", "nobody.obs.sandbox")
    }

    assert [answer.status for answer in answers.values()] == [200, 200, 404]
    assert answers[f"{BUCKET}.obs.sandbox"].headers["x-obs-api"] == "3.0"


@pytest.fixture(params=["s3", "s3v4"])
def by_host(served: Served, request: pytest.FixtureRequest) -> Iterator[Any]:
    """boto3 with the bucket in the host; this machine need not resolve the name, because it is asked as a proxy."""
    config = Config(
        s3={"addressing_style": "virtual"},
        signature_version=request.param,
        retries={"total_max_attempts": 1},
        proxies={"http": served.url},
    )
    keys = {"aws_access_key_id": ACCESS, "aws_secret_access_key": SECRET}
    client = boto3.client("s3", endpoint_url="http://obs.sandbox", region_name="sandbox", config=config, **keys)
    yield client
    client.close()


def test_boto3_works_with_the_bucket_in_the_host(by_host: Any) -> None:
    by_host.put_object(Bucket=BUCKET, Key="文/a b+c", Body=b"mine", Metadata={"run": "7"})

    got = by_host.get_object(Bucket=BUCKET, Key="文/a b+c", Range="bytes=1-2")
    assert (got["Body"].read(), got["Metadata"]) == (b"in", {"run": "7"})
    assert [entry["Key"] for entry in by_host.list_objects_v2(Bucket=BUCKET, Prefix="文/")["Contents"]] == ["文/a b+c"]
    by_host.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": "文/a b+c"}]})
    assert by_host.list_objects(Bucket=BUCKET, Prefix="文/").get("Contents", []) == []
    by_host.create_bucket(Bucket="by-host")
    by_host.delete_bucket(Bucket="by-host")


def test_the_official_sdk_asks_which_signature_to_use_and_works_with_the_bucket_in_the_host(served: Served) -> None:
    with tunnel(served.port) as proxy:
        client = ObsClient(
            ACCESS,
            SECRET,
            server="http://obs.sandbox",
            proxy_host="127.0.0.1",
            proxy_port=str(proxy),
            max_retry_count=0,
        )
        put = client.putContent(BUCKET, "文/a b+c", "mine", metadata={"who": "张三"})
        got = client.getObject(BUCKET, "文/a b+c", loadStreamInMemory=True)
        listed = client.listObjects(BUCKET, prefix="文/")
        missing = client.headBucket("nobody")
        client.deleteObject(BUCKET, "文/a b+c")
        client.close()

    assert (put.status, got.status, listed.status, missing.status) == (200, 200, 200, 404)
    assert got.body.buffer == b"mine"
    assert dict(got.header)["who"] == "张三"
    assert [entry.key for entry in listed.body.contents] == ["文/a b+c"]

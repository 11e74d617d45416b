"""Uploads by an HTML form: what a signed policy lets a browser store, and what not."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
import requests
from botocore.config import Config

from tests.contract.obs_server import ACCESS, BUCKET, SECRET, Served

FIELDS = {"acl": "private", "Content-Type": "text/csv", "x-amz-meta-run": "7"}
CONDITIONS = [
    {"acl": "private"},
    ["starts-with", "$Content-Type", "text/"],
    {"x-amz-meta-run": "7"},
    ["content-length-range", 1, 100],
]


@pytest.fixture(params=["s3", "s3v4"])
def signer(served: Served, request: pytest.FixtureRequest) -> Iterator[Any]:
    config = Config(signature_version=request.param, s3={"addressing_style": "path"})
    keys = {"aws_access_key_id": ACCESS, "aws_secret_access_key": SECRET}
    client = boto3.client("s3", endpoint_url=served.url, region_name="sandbox", config=config, **keys)
    yield client
    client.close()


def send(post: dict[str, Any], content: bytes = b"1,2", **fields: str) -> requests.Response:
    files = {"file": ("C:\\data\\runs.csv", content)}
    return requests.post(post["url"], data={**post["fields"], **fields}, files=files, timeout=60, allow_redirects=False)


def signed(signer: Any, **fields: str) -> dict[str, Any]:
    conditions = [*CONDITIONS, *({name: value} for name, value in fields.items())]
    post: dict[str, Any] = signer.generate_presigned_post(
        BUCKET, "forms/${filename}", Fields={**FIELDS, **fields}, Conditions=conditions, ExpiresIn=60
    )
    return post


def test_a_form_stores_its_file_with_its_name_and_headers(served: Served, signer: Any) -> None:
    large = b"x" * 100

    answer = send(signed(signer), large)

    assert (answer.status_code, answer.text) == (204, "")
    head = signer.head_object(Bucket=BUCKET, Key="forms/runs.csv")
    assert (head["ContentType"], head["Metadata"], head["ETag"]) == ("text/csv", {"run": "7"}, answer.headers["etag"])
    assert served.objects.read(BUCKET, "forms/runs.csv") == large


def test_a_form_chooses_its_answer(signer: Any) -> None:
    created = send(signed(signer, success_action_status="201"))
    led = send(signed(signer, success_action_redirect="http://127.0.0.1/done?a=1"))

    assert (created.status_code, f"<Bucket>{BUCKET}</Bucket><Key>forms/runs.csv</Key>" in created.text) == (201, True)
    assert led.status_code == 303
    assert led.headers["location"].startswith(f"http://127.0.0.1/done?a=1&bucket={BUCKET}&key=forms%2Fruns.csv&etag=")


@pytest.mark.parametrize(
    ("fields", "content", "status", "said"),
    [
        ({"acl": "public-read"}, b"x", 403, "Policy Condition failed"),
        ({"Content-Type": "image/png"}, b"x", 403, "Policy Condition failed"),
        ({"x-amz-meta-who": "me"}, b"x", 403, "Extra input fields: x-amz-meta-who"),
        ({}, b"", 400, "EntityTooSmall"),
        ({}, b"x" * 101, 400, "EntityTooLarge"),
        ({"policy": base64.b64encode(b"{}").decode()}, b"x", 403, "SignatureDoesNotMatch"),
        ({"policy": ""}, b"x", 403, "no policy"),
    ],
)
def test_a_form_that_the_policy_does_not_allow_stores_nothing(
    served: Served, signer: Any, fields: dict[str, str], content: bytes, status: int, said: str
) -> None:
    answer = send(signed(signer), content, **fields)

    assert (answer.status_code, said in answer.text) == (status, True), answer.text
    assert served.objects.list(BUCKET).objects == ()


def test_a_policy_expires(served: Served, signer: Any) -> None:
    post = signed(signer)
    served.ahead = timedelta(minutes=2)

    assert "Policy expired" in send(post).text


def test_a_form_of_obs_is_signed_with_its_own_names(served: Served) -> None:
    until = (datetime.now(UTC) + timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    document = {"expiration": until, "conditions": [{"bucket": BUCKET}, ["starts-with", "$key", "user/"]]}
    policy = base64.b64encode(json.dumps(document).encode()).decode()
    signature = base64.b64encode(hmac.new(SECRET.encode(), policy.encode(), hashlib.sha1).digest()).decode()
    fields = {"key": "user/a", "AccessKeyId": ACCESS, "policy": policy, "signature": signature}

    def post(**changes: str) -> int:
        return send({"url": f"{served.url}/{BUCKET}", "fields": fields | changes}).status_code

    assert post() == 204
    assert [post(key="other/a"), post(AccessKeyId="nobody"), post(signature="x")] == [403, 403, 403]
    assert served.objects.read(BUCKET, "user/a") == b"1,2"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/plain", b"x"),
        ("multipart/form-data; boundary=b", b""),
        ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="key"\r\n\r\na\r\n--b--'),
        ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nhello'),
        ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="file"'),
    ],
)
def test_a_broken_form_is_refused(served: Served, kind: str, body: bytes) -> None:
    answer = requests.post(f"{served.url}/{BUCKET}", data=body, headers={"Content-Type": kind}, timeout=60)

    assert 400 <= answer.status_code < 500
    assert "<Code>" in answer.text


def test_a_form_makes_its_object_public_by_the_forms_own_word(served: Served, signer: Any) -> None:
    post = signer.generate_presigned_post(
        BUCKET, "forms/open.csv", Fields={"acl": "public-read"}, Conditions=[{"acl": "public-read"}], ExpiresIn=60
    )

    assert send(post).status_code == 204
    assert requests.get(f"{served.url}/{BUCKET}/forms/open.csv", timeout=60).content == b"1,2"


def test_a_field_that_no_header_could_hold_is_refused(signer: Any) -> None:
    answer = send(signed(signer, **{"x-amz-meta-a": "v\r\nSet-Cookie: z=1"}))

    assert answer.status_code == 400
    assert "holds a line feed" in answer.text

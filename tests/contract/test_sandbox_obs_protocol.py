"""What the sandbox's OBS believes and refuses, asked byte for byte by requests that no client library would send."""

import base64
import gzip
import hashlib
import socket
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from tests.contract import obs_signer
from tests.contract.obs_server import ACCESS, BUCKET, SECRET, Served
from tests.contract.obs_wire import ask, ask_v2, ask_v4

OBJECT = f"/{BUCKET}/a"
pytestmark = pytest.mark.usefixtures("one_object")


@pytest.mark.parametrize("scheme", ["AWS", "OBS"])
def test_a_v2_signature_is_believed_for_what_it_signs_and_nothing_else(served: Served, scheme: str) -> None:
    prefix = "x-obs-" if scheme == "OBS" else "x-amz-"
    signed = obs_signer.v2(
        scheme, ACCESS, SECRET, "GET", OBJECT, datetime.now(UTC), {f"{prefix}meta-x": "1", "Content-Type": "text/plain"}
    )

    assert ask(served, "GET", OBJECT, signed).body == b"content"
    assert ask(served, "DELETE", OBJECT, signed).code == "SignatureDoesNotMatch"
    assert ask(served, "GET", f"/{BUCKET}/b", signed).code == "SignatureDoesNotMatch"
    assert ask(served, "GET", f"{OBJECT}?response-expires=0", signed).code == "SignatureDoesNotMatch"
    assert ask(served, "GET", OBJECT, signed | {f"{prefix}meta-x": "2"}).code == "SignatureDoesNotMatch"
    assert ask(served, "GET", OBJECT, signed | {f"{prefix}meta-y": "2"}).code == "SignatureDoesNotMatch"
    assert ask(served, "GET", OBJECT, signed | {"Content-Type": "text/html"}).code == "SignatureDoesNotMatch"


@pytest.mark.parametrize("scheme", ["AWS", "OBS"])
def test_the_answer_speaks_the_family_of_headers_of_the_request(served: Served, scheme: str) -> None:
    family = {"AWS": "amz", "OBS": "obs"}[scheme]
    put = obs_signer.v2(scheme, ACCESS, SECRET, "PUT", OBJECT, datetime.now(UTC), {f"x-{family}-meta-run": "7"})
    ask(served, "PUT", OBJECT, put, b"content")

    got = ask(served, "GET", OBJECT, obs_signer.v2(scheme, ACCESS, SECRET, "GET", OBJECT, datetime.now(UTC)))

    assert got.headers[f"x-{family}-meta-run"] == "7"
    assert len(got.headers[f"x-{family}-request-id"]) == 32
    assert got.headers[f"x-{family}-id-2"]


def test_a_v4_signature_is_believed_for_what_it_signs_and_nothing_else(served: Served) -> None:
    host = f"127.0.0.1:{served.port}"
    signed = obs_signer.v4(ACCESS, SECRET, "PUT", OBJECT, datetime.now(UTC), host=host, body=b"new")

    assert ask(served, "PUT", OBJECT, signed, b"new").status == 200
    assert ask(served, "PUT", OBJECT, signed, b"now").code == "XAmzContentSHA256Mismatch"
    assert ask(served, "PUT", f"/{BUCKET}/b", signed, b"new").code == "SignatureDoesNotMatch"
    unsigned = ask(served, "PUT", OBJECT, signed | {"x-amz-acl": "public-read"}, b"new")
    assert (unsigned.code, b"x-amz-acl" in unsigned.body) == ("AccessDenied", True)
    assert ask(served, "PUT", OBJECT, signed | {"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}, b"now").status == 403
    assert served.objects.read(BUCKET, "a") == b"new"


def test_a_wrong_secret_and_an_unknown_key_are_told_apart(served: Served) -> None:
    assert ask_v4(served, "GET", OBJECT, secret="guess").code == "SignatureDoesNotMatch"
    host = f"127.0.0.1:{served.port}"
    for signed in (
        obs_signer.v4("NOBODY", SECRET, "GET", OBJECT, datetime.now(UTC), host=host),
        obs_signer.v2("OBS", "NOBODY", SECRET, "GET", OBJECT, datetime.now(UTC)),
    ):
        answer = ask(served, "GET", OBJECT, signed)
        assert (answer.status, answer.code) == (403, "InvalidAccessKeyId")
    assert ask(served, "GET", OBJECT, {}).code == "AccessDenied"
    assert ask(served, "GET", OBJECT, {"Authorization": "Basic xyz"}).code == "InvalidArgument"


@pytest.mark.parametrize("late", [timedelta(minutes=16), timedelta(minutes=-16)])
def test_a_clock_that_is_16_minutes_off_is_refused(served: Served, late: timedelta) -> None:
    when = datetime.now(UTC) - late

    assert ask_v4(served, "GET", OBJECT, late=late).code == "RequestTimeTooSkewed"
    for scheme in ("AWS", "OBS"):
        signed = obs_signer.v2(scheme, ACCESS, SECRET, "GET", OBJECT, when)
        assert ask(served, "GET", OBJECT, signed).code == "RequestTimeTooSkewed"


def test_a_clock_that_is_14_minutes_off_is_fine(served: Served) -> None:
    assert ask_v4(served, "GET", OBJECT, late=timedelta(minutes=14)).status == 200


@pytest.mark.parametrize("scheme", ["AWS", "OBS"])
def test_a_signed_url_opens_until_it_expires(served: Served, scheme: str) -> None:
    now = int(datetime.now(UTC).timestamp())
    fresh = obs_signer.v2_url(scheme, ACCESS, SECRET, OBJECT, now + 60)
    stale = obs_signer.v2_url(scheme, ACCESS, SECRET, OBJECT, now - 1)

    assert ask(served, "GET", fresh, {}).body == b"content"
    assert b"expired" in ask(served, "GET", stale, {}).body
    assert ask(served, "GET", stale.replace(str(now - 1), str(now + 60)), {}).code == "SignatureDoesNotMatch"
    assert ask(served, "PUT", fresh, {}, b"x").code == "SignatureDoesNotMatch"


def test_a_body_that_is_not_the_promised_one_is_not_stored(served: Served) -> None:
    digest = base64.b64encode(hashlib.md5(b"promised", usedforsecurity=False).digest()).decode()
    crc = base64.b64encode(zlib.crc32(b"promised").to_bytes(4, "big")).decode()

    assert ask_v2(served, "PUT", OBJECT, b"delivered", Content_MD5=digest).code == "BadDigest"
    assert ask_v4(served, "PUT", OBJECT, b"delivered", x_amz_checksum_crc32=crc).code == "BadDigest"
    assert ask_v2(served, "PUT", OBJECT, b"promised", Content_MD5="not base64!").code == "InvalidDigest"
    assert served.objects.read(BUCKET, "a") == b"content"
    assert ask_v2(served, "PUT", OBJECT, b"promised", Content_MD5=digest).status == 200
    assert ask_v4(served, "PUT", OBJECT, b"promised", x_amz_checksum_crc32=crc).status == 200


def test_a_body_that_breaks_off_is_not_stored(served: Served) -> None:
    signed = obs_signer.v2("OBS", ACCESS, SECRET, "PUT", OBJECT, datetime.now(UTC))
    lines = "".join(f"{name}: {value}\r\n" for name, value in signed.items())
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as wire:
        wire.sendall(f"PUT {OBJECT} HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n{lines}\r\n".encode())
        wire.sendall(b"x" * 2_000_000)

    assert ask_v2(served, "GET", OBJECT).body == b"content"


def test_a_chunked_body_is_stored(served: Served) -> None:
    signed = obs_signer.v2("OBS", ACCESS, SECRET, "PUT", OBJECT, datetime.now(UTC), {"Transfer-Encoding": "chunked"})

    assert ask(served, "PUT", OBJECT, signed, iter([b"one ", b"two"])).status == 200

    assert served.objects.read(BUCKET, "a") == b"one two"


def test_a_client_that_expects_100_continue_is_told_before_it_sends_the_body(served: Served) -> None:
    good = obs_signer.v2("OBS", ACCESS, SECRET, "PUT", OBJECT, datetime.now(UTC))
    bad = obs_signer.v2("OBS", ACCESS, "guess", "PUT", OBJECT, datetime.now(UTC))

    assert first_line(served, good) == b"HTTP/1.1 100 Continue"
    assert first_line(served, bad).startswith(b"HTTP/1.1 403")
    nowhere = obs_signer.v2("OBS", ACCESS, SECRET, "PUT", "/nowhere/a", datetime.now(UTC))
    assert first_line(served, nowhere, "/nowhere/a").startswith(b"HTTP/1.1 404")


def first_line(served: Served, headers: Mapping[str, str], path: str = OBJECT) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"PUT {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\nExpect: 100-continue\r\n{lines}\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as wire:
        wire.sendall(head.encode())
        answer = wire.recv(65536)
        if b" 100 " in answer.partition(b"\r\n")[0]:
            wire.sendall(b"content")
            assert b" 200 " in wire.recv(65536).partition(b"\r\n")[0]
    return answer.partition(b"\r\n")[0]


def test_a_refused_upload_is_read_to_its_end_so_that_the_client_sees_why(served: Served) -> None:
    signed = obs_signer.v2("OBS", ACCESS, "guess", "PUT", OBJECT, datetime.now(UTC))

    answer = ask(served, "PUT", OBJECT, signed, b"x" * 8_000_000)

    assert answer.code == "SignatureDoesNotMatch"


def test_stored_bytes_are_never_decoded(served: Served) -> None:
    packed = gzip.compress(b"text")
    assert ask_v2(served, "PUT", OBJECT, packed, Content_Encoding="gzip").status == 200

    got = ask_v2(served, "GET", OBJECT)

    assert (got.body, got.headers["content-encoding"]) == (packed, "gzip")


@pytest.mark.parametrize(
    "key", ["../../etc/x", "%2e%2e/%2e%2e/x", "..%2f..%2fx", "%2E%2E%2Fx", "/x", "//x", "%00", "."]
)
def test_no_path_leads_out_of_the_bucket(served: Served, key: str) -> None:
    target = f"/{BUCKET}/{key}"
    before = {path for path in served.objects.root.parent.rglob("*") if BUCKET not in path.parts}

    assert ask_v2(served, "PUT", target, b"mine").status == 200

    assert ask_v2(served, "GET", target).body == b"mine"
    after = {path for path in served.objects.root.parent.rglob("*") if BUCKET not in path.parts}
    assert after == before
    assert ask_v2(served, "DELETE", target).status == 204


@pytest.mark.parametrize("bucket", ["..", "%2e%2e", ".drafts", ".notes.jsonl", "%2Fetc"])
def test_no_bucket_leads_out_of_the_store(served: Served, bucket: str) -> None:
    assert ask_v2(served, "GET", f"/{bucket}/x").status in (403, 404)
    assert ask_v2(served, "PUT", f"/{bucket}/x", b"mine").status in (403, 404)


@pytest.mark.parametrize(
    ("method", "target", "status", "code"),
    [
        ("GET", f"/{BUCKET}?max-keys=many", 400, "InvalidArgument"),
        ("GET", f"/{BUCKET}?encoding-type=gzip", 400, "InvalidArgument"),
        ("GET", f"/{BUCKET}?list-type=2&continuation-token=%FF", 400, "InvalidArgument"),
        ("GET", f"/{BUCKET}/%FF", 400, "InvalidURI"),
        ("PUT", f"/{BUCKET}/{'k' * 1025}", 400, "KeyTooLongError"),
        ("PATCH", OBJECT, 501, "NotImplemented"),
        ("POST", f"/{BUCKET}/a", 501, "NotImplemented"),
    ],
)
def test_requests_that_make_no_sense_are_refused_by_name(
    served: Served, method: str, target: str, status: int, code: str
) -> None:
    resource = target if "%FF" in target and "?" not in target else target.partition("?")[0]

    signed = obs_signer.v2("OBS", ACCESS, SECRET, method, resource, datetime.now(UTC))
    answer = ask(served, method, target, signed)

    assert (answer.status, answer.code) == (status, code)


@pytest.mark.parametrize(
    "body", [b"", b"<Delete", b"\xff\xfe<", b'<!DOCTYPE a [<!ENTITY e "e">]><Delete/>', b"<Delete/>"]
)
def test_a_broken_document_is_refused(served: Served, body: bytes) -> None:
    assert ask_v2(served, "POST", f"/{BUCKET}?delete", body).code == "MalformedXML"


def test_the_oldest_question_needs_no_signature(served: Served) -> None:
    answer = ask(served, "HEAD", f"/{BUCKET}?apiversion", {})

    assert (answer.status, answer.headers["x-obs-api"]) == (200, "3.0")


def test_conditions_on_dates_are_kept(served: Served) -> None:
    day, year = timedelta(days=1), "Thu, 01 Jan 2015 00:00:00 GMT"
    tomorrow = f"{datetime.now(UTC) + day:%a, %d %b %Y %H:%M:%S} GMT"

    assert ask_v2(served, "GET", OBJECT, If_Modified_Since=tomorrow).status == 304
    assert ask_v2(served, "GET", OBJECT, If_Modified_Since=year).status == 200
    assert ask_v2(served, "GET", OBJECT, If_Unmodified_Since=year).status == 412
    assert ask_v2(served, "HEAD", OBJECT, If_Unmodified_Since=year).status == 412
    assert ask_v2(served, "PUT", OBJECT, b"x", If_None_Match="*").status == 501

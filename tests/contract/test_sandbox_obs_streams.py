"""Uploads to the sandbox's OBS in chunks (aws-chunked), as newer S3 clients send them: every promise in them counts."""

import base64
import zlib
from typing import Any

import pytest

from tests.contract.obs_server import BUCKET, Served, md5
from tests.contract.obs_streams import SIGNED, SIGNED_TRAILER, UNSIGNED_TRAILER, Stream, send
from tests.contract.obs_wire import Answer, ask, ask_v2, ask_v4

OBJECT = f"/{BUCKET}/a"
pytestmark = pytest.mark.usefixtures("one_object")
BODY = [b"a" * 70_000, b"b" * 70_000, b"the end"]
CHECK_VALUES = {  # of the ASCII text 123456789, as the catalogues of CRCs and hashes give them
    "x-amz-checksum-crc32": "cbf43926",
    "x-amz-checksum-crc32c": "e3069283",
    "x-amz-checksum-crc64nvme": "ae8b14860a799888",
    "x-amz-checksum-sha1": "f7c3bc1d808e04732adf679965ccc34ca7ae3441",
    "x-amz-checksum-sha256": "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225",
}


def crc32(*pieces: bytes) -> str:
    return base64.b64encode(zlib.crc32(b"".join(pieces)).to_bytes(4, "big")).decode()


@pytest.mark.parametrize("kind", [SIGNED, SIGNED_TRAILER, UNSIGNED_TRAILER])
def test_an_object_that_comes_in_chunks_is_its_bytes_and_nothing_else(served: Served, kind: str) -> None:
    trailers = {} if kind == SIGNED else {"x-amz-checksum-crc32": crc32(*BODY)}

    answer = send(served, OBJECT, kind, BODY, trailers)

    got = ask_v2(served, "GET", OBJECT)
    assert (answer.status, answer.headers["etag"]) == (200, f'"{md5(b"".join(BODY))}"')
    assert got.body == b"".join(BODY)
    assert "content-encoding" not in got.headers


def test_an_empty_object_can_come_in_chunks(served: Served) -> None:
    assert send(served, OBJECT, SIGNED, []).status == 200

    assert served.objects.read(BUCKET, "a") == b""


@pytest.mark.parametrize("name", CHECK_VALUES)
def test_every_kind_of_checksum_is_checked_as_a_trailer_and_as_a_header(served: Served, name: str) -> None:
    right = base64.b64encode(bytes.fromhex(CHECK_VALUES[name])).decode()
    pieces = [b"12345", b"6789"]

    def put(body: bytes, digest: str) -> Answer:
        named: dict[str, Any] = {name: digest}
        return ask_v4(served, "PUT", OBJECT, body, **named)

    assert send(served, OBJECT, SIGNED_TRAILER, pieces, {name: right}).status == 200
    assert send(served, OBJECT, UNSIGNED_TRAILER, [b"12345", b"678X"], {name: right}).code == "BadDigest"
    assert put(b"123456789", right).status == 200
    assert put(b"12345678X", right).code == "BadDigest"
    assert put(b"123456789", "AAAA").code == "InvalidRequest"
    assert served.objects.read(BUCKET, "a") == b"123456789"


def test_chunks_that_were_changed_left_out_or_swapped_are_refused(served: Served) -> None:
    def sent(*order: int, change: bytes = BODY[1]) -> str:
        stream = Stream(served, OBJECT, SIGNED, sum(len(BODY[number]) for number in order))
        chunks = [stream.chunk(piece) for piece in [*BODY, b""]]
        body = b"".join(chunks[number] for number in order) + chunks[-1] + b"\r\n"
        return ask(served, "PUT", OBJECT, stream.headers, body.replace(BODY[1], change)).code

    assert sent(0, 1, 2) == ""
    assert sent(0, 1, 2, change=BODY[1][:-1] + b"x") == "SignatureDoesNotMatch"
    assert sent(0, 2) == "SignatureDoesNotMatch"
    assert sent(1, 0, 2) == "SignatureDoesNotMatch"
    assert served.objects.read(BUCKET, "a") == b"".join(BODY)


def test_a_stream_without_its_end_or_its_trailer_is_refused(served: Served) -> None:
    def sent(kind: str, length: int, *, last: bool, trailer: str = "") -> str:
        stream = Stream(served, OBJECT, kind, length, trailer)
        body = stream.chunk(b"12345") + (stream.chunk(b"") + b"\r\n" if last else b"")
        return ask(served, "PUT", OBJECT, stream.headers, body).code

    assert sent(SIGNED, 5, last=False) == "IncompleteBody"
    assert sent(SIGNED, 6, last=True) == "IncompleteBody"
    assert sent(UNSIGNED_TRAILER, 5, last=True, trailer="x-amz-checksum-crc32") == "InvalidRequest"
    assert sent(UNSIGNED_TRAILER, 5, last=True, trailer="x-other") == "InvalidRequest"
    assert served.objects.read(BUCKET, "a") == b"content"


def test_a_trailer_that_was_changed_on_its_way_is_refused(served: Served) -> None:
    stream = Stream(served, OBJECT, SIGNED_TRAILER, 5, "x-amz-checksum-crc32")
    body = stream.chunk(b"12345") + stream.chunk(b"") + stream.end({"x-amz-checksum-crc32": crc32(b"12345")})
    forged = body.replace(crc32(b"12345").encode(), crc32(b"1234x").encode())

    assert ask(served, "PUT", OBJECT, stream.headers, forged).code == "SignatureDoesNotMatch"


@pytest.mark.parametrize("body", [b"", b"x", b"5\r\n12345\r\n0\r\n\r\n", b"zz;chunk-signature=", b"5" * 9000])
def test_a_body_that_is_no_chunks_is_refused(served: Served, body: bytes) -> None:
    stream = Stream(served, OBJECT, SIGNED, 5)

    assert ask(served, "PUT", OBJECT, stream.headers, body).status == 400


def test_a_body_hash_that_is_none_is_refused(served: Served) -> None:
    assert send(served, OBJECT, "STREAMING-SOMETHING-ELSE", BODY).code == "InvalidArgument"


def test_how_a_body_was_sent_is_not_how_the_object_is_encoded(served: Served) -> None:
    assert ask_v2(served, "PUT", OBJECT, b"x", Content_Encoding="aws-chunked, gzip").status == 200

    assert ask_v2(served, "GET", OBJECT).headers["content-encoding"] == "gzip"

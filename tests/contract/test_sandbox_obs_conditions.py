"""Ranges, conditions, copies and metadata of the sandbox's OBS, byte for byte."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.contract import obs_signer
from tests.contract.obs_server import ACCESS, BUCKET, SECRET, Served, md5
from tests.contract.obs_wire import Answer, ask, ask_v2

OBJECT = f"/{BUCKET}/a"
SOURCE = f"/{BUCKET}/source"
LONG_AGO, FAR_AWAY = "Thu, 01 Jan 2015 00:00:00 GMT", "Thu, 01 Jan 2099 00:00:00 GMT"
ETAG = f'"{md5(b"0123456789")}"'


@pytest.fixture(autouse=True)
def two_objects(served: Served) -> None:
    served.objects.put(BUCKET, "a", b"0123456789", {"content-type": "text/plain", "x-obs-meta-run": "7"})
    served.objects.put(BUCKET, "source", b"0123456789", {"content-type": "text/plain", "x-obs-meta-run": "7"})


@pytest.mark.parametrize(
    ("wanted", "status", "body", "content_range"),
    [
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-2", 206, b"89", "bytes 8-9/10"),
        ("bytes=-99", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=5-999", 206, b"56789", "bytes 5-9/10"),
        ("bytes=0-0", 206, b"0", "bytes 0-0/10"),
        ("bytes=4-2", 200, b"0123456789", ""),
        ("bytes=0-1,4-5", 200, b"0123456789", ""),
        ("lines=1-2", 200, b"0123456789", ""),
        ("bytes=-", 200, b"0123456789", ""),
    ],
)
def test_a_range_is_answered_with_its_bytes_and_what_is_none_with_all(
    served: Served, wanted: str, status: int, body: bytes, content_range: str
) -> None:
    got = ask_v2(served, "GET", OBJECT, Range=wanted)

    assert (got.status, got.body, got.headers.get("content-range", "")) == (status, body, content_range)
    assert (got.headers["content-length"], got.headers["etag"]) == (str(len(body)), ETAG)


@pytest.mark.parametrize("wanted", ["bytes=10-", "bytes=10-12", "bytes=-0", "bytes=999999999999999999-"])
def test_a_range_without_a_byte_of_the_object_is_416(served: Served, wanted: str) -> None:
    got = ask_v2(served, "GET", OBJECT, Range=wanted)

    assert (got.status, got.code) == (416, "InvalidRange")


def test_a_range_of_another_version_is_the_whole_object(served: Served) -> None:
    assert ask_v2(served, "GET", OBJECT, Range="bytes=2-4", If_Range=ETAG).body == b"234"
    assert ask_v2(served, "GET", OBJECT, Range="bytes=2-4", If_Range='"other"').body == b"0123456789"
    assert ask_v2(served, "GET", OBJECT, Range="bytes=2-4", If_Range=LONG_AGO).body == b"0123456789"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("conditions", "status"),
    [
        ({"If_Match": ETAG}, 200),
        ({"If_Match": f'"other", {ETAG}'}, 200),
        ({"If_Match": "*"}, 200),
        ({"If_Match": '"other"'}, 412),
        ({"If_None_Match": ETAG}, 304),
        ({"If_None_Match": "*"}, 304),
        ({"If_None_Match": '"other"'}, 200),
        ({"If_Modified_Since": FAR_AWAY}, 304),
        ({"If_Modified_Since": LONG_AGO}, 200),
        ({"If_Unmodified_Since": LONG_AGO}, 412),
        ({"If_Unmodified_Since": FAR_AWAY}, 200),
        ({"If_Match": ETAG, "If_Unmodified_Since": LONG_AGO}, 200),
        ({"If_None_Match": '"other"', "If_Modified_Since": FAR_AWAY}, 200),
        ({"If_Match": '"other"', "If_None_Match": ETAG}, 412),
        ({"If_Modified_Since": "yesterday"}, 200),
        ({"If_Unmodified_Since": "Fri, 31 Dec 9999 23:59:59 -2300"}, 200),
    ],
)
def test_a_read_with_conditions_is_answered_by_what_http_says(
    served: Served, method: str, conditions: dict[str, Any], status: int
) -> None:
    got = ask_v2(served, method, OBJECT, **conditions)

    assert got.status == status
    assert got.headers.get("etag") == (ETAG if status != 412 else None)


def copy(served: Served, family: str = "amz", method: str = "PUT", target: str = OBJECT, **headers: str) -> Answer:
    scheme = {"amz": "AWS", "obs": "OBS"}[family]
    named = {f"x-{family}-{name.replace('_', '-')}": value for name, value in headers.items()}
    named |= {f"x-{family}-copy-source": SOURCE}
    return ask(served, method, target, obs_signer.v2(scheme, ACCESS, SECRET, method, target, datetime.now(UTC), named))


@pytest.mark.parametrize("family", ["amz", "obs"])
@pytest.mark.parametrize(
    ("conditions", "status"),
    [
        ({"copy_source_if_match": ETAG}, 200),
        ({"copy_source_if_match": '"other"'}, 412),
        ({"copy_source_if_none_match": ETAG}, 412),
        ({"copy_source_if_none_match": '"other"'}, 200),
        ({"copy_source_if_modified_since": FAR_AWAY}, 412),
        ({"copy_source_if_modified_since": LONG_AGO}, 200),
        ({"copy_source_if_unmodified_since": LONG_AGO}, 412),
        ({"copy_source_if_unmodified_since": FAR_AWAY}, 200),
    ],
)
def test_a_copy_with_conditions_looks_at_its_source(
    served: Served, family: str, conditions: dict[str, str], status: int
) -> None:
    served.objects.put(BUCKET, "a", b"old")

    assert copy(served, family, **conditions).status == status

    assert served.objects.read(BUCKET, "a") == (b"0123456789" if status == 200 else b"old")


@pytest.mark.parametrize("family", ["amz", "obs"])
def test_a_copy_keeps_replaces_or_adds_metadata_as_it_is_told(served: Served, family: str) -> None:
    def told(**headers: str) -> dict[str, str]:
        assert copy(served, family, **headers).status == 200
        stat = served.objects.head(BUCKET, "a")
        assert stat
        return {name: value for name, value in stat.headers.items() if name.startswith("x-obs-meta-")}

    assert told(meta_who="me") == {"x-obs-meta-run": "7"}
    assert told(metadata_directive="COPY", meta_who="me") == {"x-obs-meta-run": "7"}
    assert told(metadata_directive="REPLACE", meta_who="me") == {"x-obs-meta-who": "me"}
    assert told(metadata_directive="REPLACE_NEW", meta_who="me") == {"x-obs-meta-run": "7", "x-obs-meta-who": "me"}
    assert copy(served, family, metadata_directive="MOVE").code == "InvalidArgument"


def test_a_copy_of_what_is_not_there_is_refused(served: Served) -> None:
    for source, code in ((f"/{BUCKET}/none", "NoSuchKey"), ("/nowhere/a", "NoSuchBucket"), ("a", "NoSuchBucket")):
        assert ask_v2(served, "PUT", OBJECT, x_obs_copy_source=source).code == code
    assert ask_v2(served, "PUT", OBJECT, x_obs_copy_source=f"{SOURCE}?versionId=1").code == "NoSuchVersion"


def test_metadata_comes_back_byte_for_byte_whatever_its_encoding(served: Served) -> None:
    sent = {"x-obs-meta-utf8": "张三", "x-obs-meta-latin": "é".encode("latin-1").decode("utf-8", "surrogateescape")}
    signed = obs_signer.v2("OBS", ACCESS, SECRET, "PUT", OBJECT, datetime.now(UTC), sent)
    raw = {name: value.encode("utf-8", "surrogateescape").decode("latin-1") for name, value in signed.items()}

    assert ask(served, "PUT", OBJECT, raw, b"x").status == 200

    got = ask_v2(served, "GET", OBJECT).headers
    assert got["x-obs-meta-utf8"].encode("latin-1") == "张三".encode()
    assert got["x-obs-meta-latin"].encode("latin-1") == "é".encode("latin-1")


def test_a_signed_url_may_ask_for_other_headers_but_not_for_more_lines(served: Served) -> None:
    def named(text: str) -> Answer:
        resource = f"{OBJECT}?response-content-disposition={text}"
        signed = obs_signer.v2("OBS", ACCESS, SECRET, "GET", resource, datetime.now(UTC))
        target = f"{OBJECT}?response-content-disposition={encoded(text)}"
        return ask(served, "GET", target, signed)

    def encoded(text: str) -> str:
        return "".join(f"%{byte:02X}" for byte in text.encode())

    assert (
        named("attachment; filename=表.csv")
        .headers["content-disposition"]
        .encode("latin-1")
        .endswith("表.csv".encode())
    )
    assert named("a\r\nx-evil: 1").code == "InvalidArgument"


def test_a_digest_that_can_be_none_is_told_from_one_that_does_not_match(served: Served) -> None:
    short = base64.b64encode(b"too short").decode()

    assert ask_v2(served, "PUT", OBJECT, b"x", Content_MD5=short).code == "InvalidDigest"
    assert ask_v2(served, "PUT", OBJECT, b"x", Content_MD5="====").code == "InvalidDigest"
    assert ask_v2(served, "PUT", OBJECT, b"x", Content_MD5=base64.b64encode(bytes(16)).decode()).code == "BadDigest"


def test_only_what_began_with_an_append_can_be_appended_to(served: Served) -> None:
    served.objects.delete(BUCKET, "log")
    first = ask_v2(served, "POST", f"/{BUCKET}/log?append&position=0", b"one")
    second = ask_v2(served, "POST", f"/{BUCKET}/log?append&position=3", b"two")
    head = ask_v2(served, "HEAD", f"/{BUCKET}/log").headers
    refused = ask_v2(served, "POST", f"{OBJECT}?append&position=10", b"more")

    assert (first.headers["x-obs-next-append-position"], second.headers["x-obs-next-append-position"]) == ("3", "6")
    assert (head["x-obs-object-type"], head["x-obs-next-append-position"]) == ("Appendable", "6")
    assert (refused.status, refused.code) == (409, "ObjectNotAppendable")
    ask_v2(served, "PUT", OBJECT, x_obs_copy_source=f"/{BUCKET}/log")
    assert "x-obs-object-type" not in ask_v2(served, "HEAD", OBJECT).headers


def test_a_condition_counts_whole_seconds_as_the_answers_do(served: Served) -> None:
    modified = ask_v2(served, "HEAD", OBJECT).headers["last-modified"]
    earlier = f"{datetime.now(UTC) - timedelta(minutes=1):%a, %d %b %Y %H:%M:%S} GMT"

    assert ask_v2(served, "GET", OBJECT, If_Modified_Since=modified).status == 304
    assert ask_v2(served, "GET", OBJECT, If_Unmodified_Since=modified).status == 200
    assert ask_v2(served, "GET", OBJECT, If_Modified_Since=earlier).status == 200

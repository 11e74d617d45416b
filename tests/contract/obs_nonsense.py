"""Requests to OBS that nobody means, as hypothesis draws them: operations and headers that exist, with odd values."""

from urllib.parse import quote

from hypothesis import strategies as st

from tests.contract.obs_server import BUCKET

Query = list[tuple[str, str | None]]

METHODS = st.sampled_from(["GET", "PUT", "POST", "HEAD", "DELETE", "GET", "PUT", "POST", "OPTIONS", "PATCH", "COPY"])
WORDS = st.one_of(
    st.sampled_from(
        ["", "0", "1", "-1", "2", "10001", "9" * 30, "9" * 5000, "²", "url", "true", "*", "a", "b/", "..", "\0"]
    ),
    st.sampled_from(
        ["\udcff", "bytes=0-", "bytes=-0", "bytes=9-1", "a" * 3000, "\r\nx: y", "Mon, 01 Jan 0001 00:00:00 +2300"]
    ),
    st.sampled_from(
        [f"/{BUCKET}/a", f"{BUCKET}/%2e%2e/x", "/../../etc/passwd", "%", "%FF", "http://x/y", "\U0001f600", '"x"']
    ),
    st.text(max_size=20),
)
PIECES = st.one_of(
    st.sampled_from(
        [BUCKET, "a", "b", "..", ".", "", "%2e%2e", "%2F", "%00", "%FF", "%", "*", "http:", "n" * 1100, "?", "+"]
    ),
    st.text(max_size=8).map(lambda text: quote(text.encode("utf-8", "replace"), safe="")),
)
PATHS = st.one_of(
    st.sampled_from([f"/{BUCKET}", f"/{BUCKET}/a", f"/{BUCKET}/b/c", "/", f"/{BUCKET}/", f"//{BUCKET}//a"]),
    st.lists(PIECES, min_size=1, max_size=4).map(lambda pieces: "/" + "/".join(pieces)),
    st.lists(PIECES, min_size=1, max_size=3).map(lambda pieces: f"/{BUCKET}/" + "/".join(pieces)),
)
PARAMETERS = [
    "uploads",
    "uploadId",
    "partNumber",
    "append",
    "position",
    "delete",
    "location",
    "storageinfo",
    "list-type",
    "prefix",
    "marker",
    "delimiter",
    "max-keys",
    "encoding-type",
    "continuation-token",
    "start-after",
    "acl",
    "max-uploads",
    "key-marker",
    "upload-id-marker",
    "max-parts",
    "part-number-marker",
    "response-content-type",
    "Signature",
    "Expires",
    "AWSAccessKeyId",
    "X-Amz-Signature",
    "X-Amz-Date",
    "X-Amz-Expires",
    "X-Amz-Credential",
]
QUERIES: st.SearchStrategy[Query] = st.lists(
    st.tuples(st.sampled_from(PARAMETERS), st.one_of(st.none(), WORDS)), max_size=4
)
OPERATIONS = [  # what is answered, as (method, path, query) with values to be replaced
    ("GET", "/", ""),
    ("PUT", f"/{BUCKET}", ""),
    ("GET", f"/{BUCKET}", "prefix marker delimiter max-keys encoding-type"),
    ("GET", f"/{BUCKET}", "list-type=2 prefix delimiter max-keys encoding-type continuation-token start-after"),
    ("GET", f"/{BUCKET}", "uploads prefix delimiter max-uploads key-marker upload-id-marker encoding-type"),
    ("GET", f"/{BUCKET}", "storageinfo"),
    ("POST", f"/{BUCKET}", "delete"),
    ("PUT", f"/{BUCKET}/a", ""),
    ("GET", f"/{BUCKET}/a", "response-content-type response-content-disposition response-expires"),
    ("HEAD", f"/{BUCKET}/a", ""),
    ("DELETE", f"/{BUCKET}/b/c", ""),
    ("POST", f"/{BUCKET}/b/c", "append position"),
    ("POST", f"/{BUCKET}/a", "uploads"),
    ("PUT", f"/{BUCKET}/a", "partNumber uploadId"),
    ("GET", f"/{BUCKET}/a", "uploadId max-parts part-number-marker encoding-type"),
    ("POST", f"/{BUCKET}/a", "uploadId"),
]


@st.composite
def asked(draw: st.DrawFn) -> tuple[str, str, Query]:
    """(method, path, query) of an operation, with some parameters left out and others made nonsense."""
    method, path, names = draw(st.sampled_from(OPERATIONS))
    query: Query = []
    for number, name in enumerate(names.split()):
        if number == 0 or draw(st.booleans()):
            parameter, given, value = name.partition("=")
            query.append((parameter, value if given else draw(st.one_of(st.none(), WORDS, st.just("1")))))
    return method, draw(st.one_of(st.just(path), st.just(path), PATHS)), query


ASKED = st.one_of(asked(), asked(), asked(), st.tuples(METHODS, PATHS, QUERIES))
HEADER_NAMES = [
    "range",
    "if-match",
    "if-none-match",
    "if-modified-since",
    "if-unmodified-since",
    "if-range",
    "content-md5",
    "content-type",
    "content-encoding",
    "x-obs-copy-source",
    "x-obs-copy-source-range",
    "x-obs-meta-a",
    "x-amz-date",
    "x-obs-metadata-directive",
    "x-amz-content-sha256",
    "x-amz-trailer",
    "x-amz-decoded-content-length",
    "expect",
    "x-amz-checksum-crc32",
    "x-amz-copy-source",
    "host",
    "connection",
    "upgrade",
    "date",
    "authorization",
    "expires",
]
HEADERS = st.dictionaries(
    st.sampled_from(HEADER_NAMES),
    st.one_of(WORDS, st.sampled_from(["STREAMING-UNSIGNED-PAYLOAD-TRAILER", "100-continue", "aws-chunked", "AWS a:b"])),
    max_size=4,
)
BODIES = st.one_of(
    st.just(b""),
    st.binary(max_size=60),
    st.sampled_from(
        [
            b"<Delete><Object><Key>a</Key></Object><Object><Key>../../x</Key></Object></Delete>",
            b"<Delete><Object><Key></Key></Object><Object/><Quiet>true</Quiet></Delete>",
            b"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>x</ETag></Part></CompleteMultipartUpload>",
            b"<CompleteMultipartUpload><Part><PartNumber>"
            + b"9" * 5000
            + b"</PartNumber></Part></CompleteMultipartUpload>",
            b'<?xml version="1.0" encoding="utf-16"?><Delete/>',
            b"<a>" * 4_000,
            b"<a>" * 4_000 + b"</a>" * 4_000,
            b"5;chunk-signature=" + b"0" * 64 + b"\r\n12345\r\n0\r\n\r\n",
        ]
    ),
)

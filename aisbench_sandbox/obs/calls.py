"""One authenticated request to the sandbox's OBS, as passed to the operations."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from xml.etree import ElementTree

from aisbench_sandbox.obs.auth import Dialect
from aisbench_sandbox.obs.requests import ObsRequest, decode_path, whole_number
from aisbench_sandbox.obs.storage.objects import Objects
from aisbench_sandbox.obs.storage.staging import StagedObject
from aisbench_sandbox.obs.storage.stored import ObjectError
from aisbench_sandbox.obs.storage.uploads import Uploads

# What S3 and OBS store with an object and return with it, besides user metadata.
_STORED = frozenset(
    {"cache-control", "content-disposition", "content-encoding", "content-language", "content-type", "expires"}
)
_META = re.compile(r"x-(?:amz|obs)-meta-")
# The name of an object's tags among its stored headers; they are not sent as a header.
TAGGING = "x-obs-tagging"
# Sent back in the name of the request's family.
STORAGE_CLASS = "x-obs-storage-class"
# Objects of these classes would have to be restored before they can be read.
_FROZEN = frozenset({"COLD", "GLACIER", "DEEP_ARCHIVE"})
# And of who may read it, which is not sent either.
ACL = "x-obs-acl"


@dataclass(frozen=True, slots=True)
class Call:
    """An authenticated request with a verified body. An object's bytes are in `staged`, a document is in `body`.

    A form is signed inside its body: it is verified with `keys`, at the time `now`."""

    request: ObsRequest
    bucket: str
    key: str
    dialect: Dialect
    objects: Objects
    uploads: Uploads
    staged: StagedObject
    body: bytes = b""
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def text(self, name: str) -> str:
        """A query parameter's value, empty if it is missing."""
        return self.request.value(name) or ""

    def number(self, name: str, default: int) -> int:
        text = self.request.value(name)
        if text is None:
            return default
        number = whole_number(text)
        if number is None:
            raise ObjectError("InvalidArgument", f"{name} is not a number: {text[:100]!r}")
        return number

    def read_encoding(self) -> str:
        encoding = self.text("encoding-type")
        if encoding not in ("", "url"):
            raise ObjectError("InvalidArgument", f"An encoding-type is url, not {encoding!r}.")
        return encoding

    def header(self, name: str) -> str:
        """The value of `x-amz-<name>` or `x-obs-<name>`."""
        return self.request.headers.get(f"x-amz-{name}") or self.request.headers.get(f"x-obs-{name}", "")

    def stored_headers(self) -> dict[str, str]:
        """The headers stored with the object; user metadata under one name, whichever family it was sent in."""
        stored = {name: value for name, value in self.request.headers.items() if name in _STORED or _META.match(name)}
        # The transfer encoding of the body is not the object's encoding.
        encodings = [word.strip() for word in stored.pop("content-encoding", "").split(",")]
        if left := ",".join(word for word in encodings if word and word != "aws-chunked"):
            stored["content-encoding"] = left
        return {_META.sub("x-obs-meta-", name): value for name, value in stored.items()} | self.storage_class()

    def storage_class(self) -> dict[str, str]:
        """The storage class that the request asks for, in its stored form; none for the standard one."""
        kind = self.header("storage-class")
        if kind in _FROZEN:
            raise ObjectError("NotImplemented", f"Objects of the storage class {kind} are not implemented here.")
        return {STORAGE_CLASS: kind} if kind not in ("", "STANDARD") else {}

    def copy_source(self) -> tuple[str, str, str] | None:
        """(bucket, key, version id or nothing) of the source if the PUT is a copy."""
        source = self.header("copy-source")
        if not source:
            return None
        path, _, version = source.partition("?versionId=")
        # A space may come as a plus sign; a plus sign itself is always encoded
        bucket, _, key = decode_path(path.replace("+", "%20")).removeprefix("/").partition("/")
        return bucket, key, version

    def xml(self) -> ElementTree.Element:
        """The XML document in the body, without namespaces."""
        try:
            text = self.body.decode()
            if "<!" in text:  # no declarations, so no entities: nothing can expand while it is parsed
                raise ObjectError("MalformedXML", "The document must not hold declarations.")
            root = ElementTree.fromstring(text)  # noqa: S314 - see above
        except (ValueError, ElementTree.ParseError) as error:
            raise ObjectError("MalformedXML", f"The body is not a well-formed document: {error}") from error
        # boto3 sends the S3 namespace, esdk-obs-python none.
        for item in root.iter():
            item.tag = item.tag.rpartition("}")[2]
        return root

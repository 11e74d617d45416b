"""Tags of objects: as a header, as a document, and as stored among the object's headers."""

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

from starlette.responses import Response

from aisbench_sandbox.obs import responses
from aisbench_sandbox.obs.calls import TAGGING, Call
from aisbench_sandbox.obs.storage.stored import ObjectError

# S3's limits for object tags (S3 user guide, Categorizing your storage using tags).
_MAX_TAGS, _MAX_KEY, _MAX_VALUE = 10, 128, 256


def get(call: Call) -> Response:
    with call.objects.open(call.bucket, call.key) as (stat, _):
        return responses.render_tags(_parse_pairs(stat.headers.get(TAGGING, "")))


def put(call: Call) -> Response:
    tags = [(tag.findtext("Key", ""), tag.findtext("Value", "")) for tag in call.xml().iter("Tag")]
    return _store_tags(call, urlencode(_check_tags(tags)))


def delete(call: Call) -> Response:
    _store_tags(call, "")
    return responses.build_empty(204)


def of_request(call: Call) -> dict[str, str]:
    """The tags in a request that creates an object, in their stored form. InvalidTag."""
    sent = call.header("tagging")
    return {TAGGING: urlencode(_check_tags(_parse_pairs(sent)))} if sent else {}


def of_copy(call: Call, source: Mapping[str, str]) -> dict[str, str]:
    """The tags of a copy: those of its source, unless the request replaces them."""
    directive = call.header("tagging-directive") or "COPY"
    if directive not in ("COPY", "REPLACE"):
        raise ObjectError("InvalidArgument", f"A tagging directive is COPY or REPLACE, not {directive[:100]!r}.")
    if directive == "REPLACE":
        return of_request(call)
    return {TAGGING: source[TAGGING]} if TAGGING in source else {}


def _store_tags(call: Call, tags: str) -> Response:
    with call.objects.open(call.bucket, call.key) as (stat, _):
        headers = {name: value for name, value in stat.headers.items() if name != TAGGING}
    # Tags can change without the object: neither its bytes nor its ETag nor its time do.
    call.objects.set_headers(call.bucket, call.key, headers | ({TAGGING: tags} if tags else {}))
    return responses.build_empty()


def _parse_pairs(text: str) -> list[tuple[str, str]]:
    return parse_qsl(text, keep_blank_values=True)


def _check_tags(tags: list[tuple[str, str]]) -> list[tuple[str, str]]:
    if len(tags) > _MAX_TAGS:
        # S3 answers too many tags with this code, and everything else that is wrong with tags with InvalidTag.
        raise ObjectError("BadRequest", f"An object has at most {_MAX_TAGS} tags.")
    if len({key for key, _ in tags}) < len(tags):
        raise ObjectError("InvalidTag", "Two tags have the same key.")
    for key, value in tags:
        if not 1 <= len(key) <= _MAX_KEY or len(value) > _MAX_VALUE:
            raise ObjectError(
                "InvalidTag", f"A tag's key has 1 to {_MAX_KEY} characters, its value at most {_MAX_VALUE}."
            )
    return tags

"""Parts of files: the header `Range`, and the answers to it."""

import re
from http import HTTPStatus

from starlette.responses import Response

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.interfaces.api.endpoint import RequestHeader

RANGE = RequestHeader("Range", r"^bytes=(\d{0,15})-(\d{0,15})$", required=False)
STATUSES = (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)


def range_of(header: str, size: int) -> tuple[int, int]:
    """The first byte and the one behind the last, of `bytes=100-199`, `bytes=100-` or `bytes=-100`.

    Raises SpecError."""
    if not header:
        return 0, size
    match = re.fullmatch(RANGE.pattern, header.replace(" ", ""))
    if match is None or match.groups() == ("", "") or (all(match.groups()) and int(match[2]) < int(match[1])):
        problem = Problem("Range", Message("must be one range of bytes, such as bytes=1000-"), header[:80])
        raise SpecError(Message("the request"), [problem])
    start, end = match.groups()
    if not start:
        return max(0, size - int(end)), size
    return int(start), min(int(end) + 1, size) if end else size


def behind_the_end(size: int) -> Response:
    """The answer to a range that begins behind the last byte."""
    headers = {"Content-Range": f"bytes */{size}"}
    return Response(status_code=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, headers=headers)


def part_of(header: str, first: int, last: int, size: int) -> tuple[HTTPStatus, dict[str, str]]:
    """Status and headers of the bytes from `first` to before `last`: of a part, if a range was requested."""
    headers = {"Content-Length": str(last - first), "Accept-Ranges": "bytes"}
    if not header:
        return HTTPStatus.OK, headers
    return HTTPStatus.PARTIAL_CONTENT, {**headers, "Content-Range": f"bytes {first}-{last - 1}/{size}"}

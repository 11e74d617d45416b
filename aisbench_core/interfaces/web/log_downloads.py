"""Sends whole logs, in parts: middleware, because what Streamlit offers for download is held in memory."""

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from aisbench_core.base.errors import AisbenchError
from aisbench_core.domain.logs.archive import iterate_archive, iterate_parts
from aisbench_core.domain.logs.reading import size_of

ALL = "all"
PATH = re.compile(r"/run-logs/(?P<run>[A-Za-z0-9-]{1,80})/(?P<node>[0-9]{1,6}|all)")

LogFiles = Callable[[str], Mapping[int, Path]]
"""The log of each node of a run. Raises RunNotFound."""


class LogDownloadMiddleware:
    """Answers requests for logs, and passes others on."""

    def __init__(self, app: ASGIApp, log_files: Callable[[], LogFiles]) -> None:
        self._app = app
        self._open = log_files

    @cached_property
    def _files(self) -> LogFiles:
        return self._open()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """`/run-logs/<run>/<node>`, or `all` for an archive."""
        wanted = PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "GET" else None
        if wanted is None:
            await self._app(scope, receive, send)
            return
        response = await run_in_threadpool(self._build_response, wanted["run"], wanted["node"])
        await response(scope, receive, send)

    def _build_response(self, run_id: str, node: str) -> Response:
        try:
            logs = self._files(run_id)
        except AisbenchError as error:
            return PlainTextResponse(f"{error}\n", 404)
        if node == ALL and logs:
            return _mark_attachment(
                f"{run_id}-logs.tar.gz", StreamingResponse(iterate_archive(logs, run_id), 200, None, GZIP)
            )
        file = None if node == ALL else logs.get(int(node))
        if file is None:
            return PlainTextResponse("There is no such log.\n", 404)
        size = size_of(file)
        # Its encoding is what the job wrote: nothing is said of it.
        whole = StreamingResponse(
            iterate_parts(file, size), 200, {"Content-Length": str(size)}, "application/octet-stream"
        )
        return _mark_attachment(f"{run_id}-{file.name}", whole)


GZIP = "application/gzip"


def _mark_attachment(name: str, response: Response) -> Response:
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response

"""The API on the console's port."""

from collections.abc import Callable
from functools import cached_property

from starlette.types import ASGIApp, Receive, Scope, Send

from aisbench_core.interfaces.web.front_door import PROGRAM_PATHS


class ApiMiddleware:
    """Answers requests of programs, and passes others on."""

    def __init__(self, app: ASGIApp, create_api: Callable[[], ASGIApp]) -> None:
        self._app = app
        self._create_api = create_api

    @cached_property
    def _api(self) -> ASGIApp:
        return self._create_api()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the API if the path is one of its own."""
        is_program = scope["type"] == "http" and PROGRAM_PATHS.fullmatch(scope["path"])
        await (self._api if is_program else self._app)(scope, receive, send)

"""An endpoint: method, path, what it takes and answers. The routes, the OpenAPI document and docs/api.md follow it."""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.datastructures import Headers
from starlette.responses import Response

from aisbench_core.interfaces.api.problems import language_of
from aisbench_core.interfaces.api.requests import MOST_BODY
from aisbench_core.model import Actor, Frozen
from aisbench_core.model.token import Token

if TYPE_CHECKING:
    from aisbench_core.interfaces.commands.running import RunningCommands
    from aisbench_core.warehouse.open.process import QueryProcesses
    from aisbench_core.wiring import Core

PREFIX = "/api/v1"


class _Number(IntegerConvertor):
    regex = "[0-9]{1,9}"  # Python does not read numbers of thousands of digits


register_url_convertor("number", _Number())


class NoQuery(Frozen):
    """An endpoint without parameters."""


def names_tag(headers: Headers, tag: str) -> bool:
    """Whether `If-None-Match` has the ETag."""
    tags = [part.strip().removeprefix("W/") for part in headers.get("if-none-match", "").split(",")]
    return "*" in tags or tag in tags


@dataclass(frozen=True, slots=True)
class ApiCall:
    """A request that was checked: who sends it, and its parameters by the endpoint's own models."""

    core: "Core"
    token: Token
    path: dict[str, str]
    query: Any
    body: Any
    headers: Headers
    commands: "RunningCommands"
    queries: "QueryProcesses"

    @property
    def actor(self) -> Actor:
        """In whose name it changes something."""
        return self.token.actor

    def say(self, sentence: str) -> str:
        """A sentence of the core in the language that the program asks for."""
        return language_of(self.headers)(sentence)


@dataclass(frozen=True, slots=True)
class RequestHeader:
    """A header that an endpoint reads."""

    name: str
    pattern: str
    required: bool


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`answer`: the type of the JSON that `handle` returns, unless it returns a Response of another `media_type`.

    `exclusive`: takes so long that only a few are answered at once. `statuses`: those of answers that are no errors.
    `most_body`: bytes of the body."""

    method: str
    path: str
    summary: str
    handle: Callable[[ApiCall], Any]
    answer: Any = None
    query: type[Frozen] = NoQuery
    body: type[Frozen] | None = None
    media_type: str = "application/json"
    exclusive: bool = False
    statuses: tuple[HTTPStatus, ...] = (HTTPStatus.OK,)
    headers: tuple[RequestHeader, ...] = ()
    most_body: int = MOST_BODY

    @property
    def name(self) -> str:
        """Its name in generated clients."""
        return self.handle.__name__

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing."""
        return self.method == "GET"


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer with another status than 200, or with headers."""

    content: Any
    status: HTTPStatus
    headers: dict[str, str]


Result = Response | Answered | object
"""What `handle` returns; an object is answered as JSON with status 200."""

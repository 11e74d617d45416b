"""From an HTTP request to a checked call: token, parameters and body."""

import json
from collections.abc import Mapping
from typing import Any, get_origin

from starlette.datastructures import Headers, QueryParams

from aisbench_core.base.documents import parse_document
from aisbench_core.base.errors import Problem, SpecError, TokenRefused
from aisbench_core.base.messages import Message
from aisbench_core.interfaces.api.problems import ApiError, TooLarge, WrongMediaType
from aisbench_core.model import Frozen
from aisbench_core.model.token import Token
from aisbench_core.people.tokens.service import Tokens

MOST_BODY = 1024 * 1024
MOST_OBJECTS, MOST_VALUES = 50_000, 1_000_000


def token_of(headers: Headers, tokens: Tokens) -> Token:
    """The token of the Authorization header. Raises TokenRefused."""
    scheme, _, text = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not text:
        raise TokenRefused(
            Message("this needs a token"),
            Message("send it as `Authorization: Bearer …`; `aisbench token create` creates one"),
        )
    return tokens.authenticate(text.strip())


def query_of(model: type[Frozen], parameters: QueryParams) -> Frozen:
    """The parameters of a query string as a value. Raises SpecError, naming the parameter."""
    answers: dict[str, Any] = {}
    for name in parameters:
        values = parameters.getlist(name)
        if _is_list(model, name):
            answers[name] = values
        elif len(values) > 1:
            once = Problem(name, Message("is given more than once"), ", ".join(values)[:80])
            raise SpecError(Message("the query"), [once])
        else:
            answers[name] = values[0]
    return parse_document(model, answers, Message("the query"))


def body_of(model: type[Frozen], content: bytes, headers: Headers) -> Frozen:
    """The JSON of a body as a value. Raises ApiError, and SpecError, naming the field."""
    declared = headers.get("content-type", "").partition(";")[0].strip().lower()
    if declared != "application/json":
        raise WrongMediaType(
            Message("the body is {found}, and must be application/json", found=declared or Message("of no type"))
        )
    return parse_document(model, _parse_json(content), Message("the body"))


def require_size(size: int, most: int = MOST_BODY) -> None:
    """Raises TooLarge."""
    if size > most:
        raise TooLarge(Message("the body is longer than {most} bytes", most=most))


def _parse_json(content: bytes) -> Mapping[str, Any]:
    # Parsed, each takes a hundred times as much memory as `{},` does.
    if content.count(b"{") > MOST_OBJECTS or content.count(b",") > MOST_VALUES:
        raise TooLarge(Message("the body has more than {most} objects or values", most=f"{MOST_OBJECTS:,}"))
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        raise ApiError(Message("the body is not JSON")) from None
    if not isinstance(value, dict):
        raise ApiError(Message("the body must be a JSON object"))
    return value


def _is_list(model: type[Frozen], name: str) -> bool:
    field = model.model_fields.get(name)
    return field is not None and get_origin(field.annotation) is tuple

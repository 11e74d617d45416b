"""The OpenAPI 3.1 document, generated from the endpoints and the models of what they take and answer."""

import re
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from importlib.metadata import version
from typing import Any, Literal

from pydantic import TypeAdapter

from aisbench_core.interfaces.api.document.descriptions import ADDRESSED, FILTERS, DescribedSchemas
from aisbench_core.interfaces.api.document.examples import EXAMPLES
from aisbench_core.interfaces.api.endpoint import PREFIX, Endpoint
from aisbench_core.interfaces.api.problems import MEDIA_TYPE

_Keyed = tuple[str, Literal["validation", "serialization"], TypeAdapter[Any]]

_REFERENCE = "#/components/schemas/{model}"
_PATH_PARAMETER = re.compile(r"{(\w+)(?::number|:path)?}")

_PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "An error (RFC 9457). `code` names its kind; `problems` lists the fields that are wrong.",
    "required": ["type", "title", "status", "code", "detail", "hint"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer", "description": "The HTTP status."},
        "code": {"type": "string", "description": "The kind, for programs; docs/api.md lists them."},
        "detail": {"type": "string", "description": "What happened, one sentence."},
        "hint": {"type": "string", "description": "What to do; may be empty."},
        "problems": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "message", "found"],
                "properties": {name: {"type": "string"} for name in ("field", "message", "found")},
            },
        },
        "cloud": {
            "type": "object",
            "description": "What the region said, if it refused a request.",
            "properties": {
                "status": {"type": ["integer", "null"], "description": "The region's own HTTP status."},
                "code": {"type": "string"},
                "request_id": {"type": "string"},
            },
        },
    },
}


def build_document(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The whole document."""
    inputs: list[_Keyed] = [(each.name, "validation", TypeAdapter(each.body)) for each in endpoints if each.body]
    inputs += [(each.name, "serialization", TypeAdapter(each.answer)) for each in endpoints if each.answer]
    schemas, definitions = TypeAdapter.json_schemas(inputs, ref_template=_REFERENCE, schema_generator=DescribedSchemas)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        path = _PATH_PARAMETER.sub(r"{\1}", PREFIX + endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _build_operation(endpoint, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "AISBench Console", "version": version("aisbench-console")},
        "paths": paths,
        "components": {
            "schemas": {**definitions.get("$defs", {}), "Problem": _PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {
                "Problem": {"description": "An error.", "content": {MEDIA_TYPE: {"schema": _build_ref("Problem")}}}
            },
        },
        "security": [{"token": []}],
    }


def build_answer_schemas(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The JSON Schema of the answers: `$defs` has one of each `operationId`, beside those that they refer to."""
    answers: list[_Keyed] = [
        (each.name, "serialization", TypeAdapter(each.answer)) for each in endpoints if each.answer
    ]
    schemas, shared = TypeAdapter.json_schemas(
        answers, ref_template="#/$defs/{model}", schema_generator=DescribedSchemas
    )
    named = {name: schema for (name, _), schema in schemas.items()}
    dialect = {"$schema": DescribedSchemas.schema_dialect, "title": "Answers of the REST API"}
    return {**dialect, "$defs": {**shared.get("$defs", {}), **named, "Problem": _PROBLEM}}


def _build_operation(endpoint: Endpoint, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    schema = schemas[endpoint.name, "serialization"] if endpoint.answer else {}
    content = {media_type: {"schema": schema} for media_type in endpoint.media_type.split(", ")}
    if not endpoint.answer:
        content = {media_type: {} for media_type in content if media_type}
    responses: dict[str, Any] = {
        str(int(status)): {"description": status.phrase, **({"content": content} if content else {})}
        for status in endpoint.statuses
    }
    if endpoint.is_read and endpoint.answer:
        responses["304"] = {"description": HTTPStatus.NOT_MODIFIED.phrase}
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "parameters": [*_list_parameters(endpoint)],
        "responses": {**responses, "default": {"$ref": "#/components/responses/Problem"}},
    }
    if endpoint.body:
        body: dict[str, Any] = {"application/json": {"schema": schemas[endpoint.name, "validation"]}}
        if example := EXAMPLES.get(endpoint.name):
            body["application/json"]["example"] = example
        operation["requestBody"] = {"required": True, "content": body}
    return operation


def _list_parameters(endpoint: Endpoint) -> Iterable[dict[str, Any]]:
    for match in _PATH_PARAMETER.finditer(endpoint.path):
        kind = {"type": "integer", "minimum": 0} if ":number" in match[0] else {"type": "string"}
        text = ADDRESSED.get(match[1], "")
        yield {"name": match[1], "in": "path", "required": True, "description": text, "schema": kind}
    for header in endpoint.headers:
        pattern = {"type": "string", "pattern": header.pattern}
        meaning = {"description": ADDRESSED.get(header.name, "")}
        yield {"name": header.name, "in": "header", "required": header.required, **meaning, "schema": pattern}
    schema = _inline_definitions(endpoint.query.model_json_schema())
    for name, value in schema.get("properties", {}).items():
        text = value.pop("description", "") or FILTERS.get(name, "")
        described = {"description": text} if text else {}
        yield {
            "name": name, "in": "query", "required": name in schema.get("required", ()), **described,
            "schema": value, **({"explode": True, "style": "form"} if value.get("type") == "array" else {}),
        }  # fmt: skip


def _inline_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with its definitions in place: parameters are small, and stand for themselves."""
    definitions = schema.pop("$defs", {})

    def replace_refs(value: Any) -> Any:
        if isinstance(value, list):
            return [*map(replace_refs, value)]
        if not isinstance(value, dict):
            return value
        if reference := value.get("$ref"):
            rest = {name: part for name, part in value.items() if name != "$ref"}
            return replace_refs({**definitions[reference.rpartition("/")[2]], **rest})
        return {name: replace_refs(part) for name, part in value.items() if name != "title"}

    found: dict[str, Any] = replace_refs(schema)
    return found


def _build_ref(name: str) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(model=name)}

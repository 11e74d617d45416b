"""docs/api.md lists endpoints and errors; the OpenAPI document describes all that they take and answer."""

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.routing import Route

from aisbench_core.base import errors
from aisbench_core.base.errors import AisbenchError, CloudError, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.config.settings import HOME
from aisbench_core.interfaces.api import problems
from aisbench_core.interfaces.api.app import ApiServer
from aisbench_core.interfaces.api.document.examples import EXAMPLES
from aisbench_core.interfaces.api.document.openapi import build_document as openapi
from aisbench_core.interfaces.api.endpoint import PREFIX
from aisbench_core.interfaces.api.endpoints import ENDPOINTS
from aisbench_core.interfaces.api.problems import code_of, status_of
from aisbench_core.interfaces.web.front_door import PROGRAM_PATHS
from aisbench_core.wiring import open_core

DOCUMENT = HOME / "docs" / "api.md"
ENDPOINT_HEAD = "<!-- endpoints -->\n\n"
ERROR_HEAD = "<!-- errors -->\n\n"


def document() -> str:
    """docs/api.md with its lists as the code would write them."""
    text = DOCUMENT.read_text("utf-8")
    rows = (f"* `{each.method} {_path(each.path)}`: {each.summary}\n" for each in ENDPOINTS)
    text = _with_table(text, ENDPOINT_HEAD, "".join(rows))
    kinds = sorted(_kinds(), key=lambda kind: (int(status_of(_error(kind))), kind.__name__))
    lines = (f"* {int(status_of(_error(kind)))} `{code_of(_error(kind))}`: {_when(kind)}\n" for kind in kinds)
    return _with_table(text, ERROR_HEAD, "".join(lines))


def _with_table(text: str, head: str, rows: str) -> str:
    before, found, after = text.partition(head)
    assert found, head
    return before + head + rows + re.sub(r"\A(\*.*\n)*", "", after)


def _path(path: str) -> str:
    return path.replace(":number", "").replace(":path", "")


def _kinds() -> Iterator[type[AisbenchError]]:
    """Errors with a status of their own, and those of the API."""
    own = (kind for kind in vars(problems).values() if isinstance(kind, type) and issubclass(kind, problems.ApiError))
    yield from {*problems.STATUSES, *own, AisbenchError}


def _error(kind: type[AisbenchError]) -> AisbenchError:
    if issubclass(kind, CloudError):
        return kind(Message("x"), operation="x")
    return kind(Message("x"), []) if issubclass(kind, SpecError) else kind(Message("x"))


def _when(kind: type[AisbenchError]) -> str:
    if kind is AisbenchError:
        return "A bug: `detail` has the number under which the server's log holds it."
    return (kind.__doc__ or "").partition("\n")[0]


def test_the_page_lists_every_endpoint_and_error() -> None:
    assert DOCUMENT.read_text("utf-8") == document(), "to write it anew: make docs"


def test_the_routes_are_the_endpoints_and_the_open_paths() -> None:
    routes = [route for route in ApiServer(open_core).app().routes if isinstance(route, Route)]

    served = {(method, route.path) for route in routes for method in route.methods or () if method != "HEAD"}

    endpoints = {(each.method, PREFIX + each.path) for each in ENDPOINTS}
    assert endpoints <= served
    assert {path for _, path in served - endpoints} == {f"{PREFIX}/openapi.json", "/metrics", "/healthz", "/readyz"}
    assert all(PROGRAM_PATHS.fullmatch(path) for _, path in served)


def test_the_openapi_document_is_whole() -> None:
    whole = openapi(ENDPOINTS)

    references = set(_references(whole))
    defined = {f"#/components/{kind}/{name}" for kind, each in whole["components"].items() for name in each}
    assert references <= defined
    assert len(references) > 30
    operations = [operation for path in whole["paths"].values() for operation in path.values()]
    assert len({operation["operationId"] for operation in operations}) == len(ENDPOINTS)
    for operation in operations:
        assert operation["responses"]["default"] == {"$ref": "#/components/responses/Problem"}


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _references(part)


@pytest.mark.parametrize("kind", [errors.RunNotFound, errors.NotAllowed, errors.AuthFailed, errors.JobGone])
def test_an_error_has_the_status_of_its_nearest_ancestor(kind: type[AisbenchError]) -> None:
    expected = {errors.RunNotFound: 404, errors.NotAllowed: 403, errors.AuthFailed: 502, errors.JobGone: 502}

    assert int(status_of(_error(kind))) == expected[kind]


def test_every_list_comes_in_pages() -> None:
    whole = openapi(ENDPOINTS)
    for path, operation in _reads(whole):
        answer = operation["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("schema", {})
        fields = whole["components"]["schemas"].get(answer.get("$ref", "").rpartition("/")[2], {}).get("properties", {})
        names = {parameter["name"] for parameter in operation["parameters"]}

        assert answer.get("type") != "array", path
        assert ("items" in fields) == ("next" in fields) == ({"limit", "cursor"} <= names), path


def _reads(whole: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from ((path, operations["get"]) for path, operations in whole["paths"].items() if "get" in operations)


@pytest.mark.slow
def test_the_api_loads_neither_streamlit_nor_pages() -> None:
    program = (
        "import sys\n"
        "from aisbench_core.interfaces.api import serving\n"
        "from aisbench_core.interfaces.api.app import ApiServer\n"
        "from aisbench_core.wiring import open_core\n"
        "serving.program_app(ApiServer(open_core))\n"
        "print([name for name in sys.modules if name.partition('.')[0] in ('streamlit', 'pages', 'app', 'altair')])"
    )

    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=HOME)

    assert found.stdout.strip() == "[]"


def test_every_number_says_its_unit_and_every_parameter_its_meaning() -> None:
    whole = openapi(ENDPOINTS)
    fields = [
        (f"{name}.{field}", schema)
        for name, each in whole["components"]["schemas"].items()
        for field, schema in each.get("properties", {}).items()
    ]
    numbers = [(name, schema) for name, schema in fields if {"number", "integer"} & {*_types(schema)}]

    assert [name for name, schema in numbers if not schema.get("description")] == []
    assert len(numbers) > 150
    for path, operations in whole["paths"].items():
        for operation in operations.values():
            unexplained = [each["name"] for each in operation["parameters"] if not each.get("description")]
            assert unexplained == [], f"{path}: say it in aisbench_core/interfaces/api/document/descriptions.py"


def _types(schema: dict[str, Any]) -> Iterator[str]:
    yield str(schema.get("type", ""))
    for each in schema.get("anyOf", ()):
        yield str(each.get("type", ""))


def test_every_body_has_an_example_that_its_model_takes() -> None:
    with_body = {each.name: each.body for each in ENDPOINTS if each.body and not each.path.startswith("/commands")}

    assert {*EXAMPLES} == {*with_body}
    for name, body in with_body.items():
        assert body.model_validate(EXAMPLES[name])

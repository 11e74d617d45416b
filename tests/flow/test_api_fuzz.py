"""Any request that the OpenAPI document allows, and many that it does not: every answer is one that it describes."""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from aisbench_core.interfaces.api.document.openapi import build_document
from aisbench_core.interfaces.api.endpoints import ENDPOINTS
from aisbench_core.model import Role
from aisbench_core.warehouse.values.inference import InferenceResult, InferenceTool, InferenceUnit
from tests import records as a
from tests.actors import TESTER
from tests.event_files import write_plain
from tests.flow.api_process import SPEC, ApiProcess, Program, Reply, token_of
from tests.flow.following import SPEC as RUN_SPEC
from tests.flow.following import Bench

DOCUMENT = build_document(ENDPOINTS)
OPERATIONS = [(method, path) for path, operations in DOCUMENT["paths"].items() for method in operations]
IDS = ["run-0", "run-1", "run-", "r", "s", "..", "%2e%2e", "run-0\n", "中文", "' or 1=1 --"]
EXTRAS = ("profile", "name", "note", "since", "add", "remove", "budget", "cron", "time_zone", "weekly_hours", "hours")
ODD = st.one_of(st.text(max_size=12), st.sampled_from([*IDS, "", "0", "-1", "1e9", "null", "true", "[]", "9" * 400]))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def reader(api_server: ApiProcess, api_bench: Bench) -> Program:
    """A program of a server with runs, results and a series; it may not launch, so that nothing costs anything."""
    core = api_bench.core
    for number in range(3):
        core.warehouse.record(a.record(f"run-{number}"))
        write_plain(core.settings.runs_dir / api_bench.launch().run_id / "summaries" / "train_url", steps=3)
    inference = InferenceResult(tool=InferenceTool.SERVICE, unit=InferenceUnit.TOKENS, source="gsm8k.json")
    core.warehouse.inference.add([inference], TESTER.name, a.T0)
    plan = core.series.plan(RUN_SPEC, {}, "sandbox").plan
    for _ in range(2):
        core.series.launch(plan, "sandbox", TESTER)
    core.schedules.add(plan, {"name": "nightly", "cron": "0 2 * * *"}, "sandbox", TESTER)
    return Program(api_server.url, token_of(api_bench, role=Role.VIEWER))


def valid_value(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """A value of a parameter's schema, as text or a list of texts."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of(*(valid_value(each) for each in schema["anyOf"] if each.get("type") != "null"))
    match schema.get("type"):
        case "array":
            fewest, most = schema.get("minItems", 0), schema.get("maxItems", 3)
            return st.lists(valid_value(schema["items"]), min_size=fewest, max_size=most)
        case "boolean":
            return st.sampled_from(["true", "false"])
        case "integer":
            return st.integers(schema.get("minimum", 0), schema.get("maximum", 1000)).map(str)
    return st.sampled_from([*IDS, "", "resnet50_v1.5"])


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, str, dict[str, str], bytes | None]:
    """Method, path in the document, address, headers and body."""
    method, path = draw(st.sampled_from(OPERATIONS))
    operation = DOCUMENT["paths"][path][method]
    address, query, headers = path.removeprefix("/api/v1"), list[tuple[str, Any]](), dict[str, str]()
    for parameter in operation["parameters"]:
        name = parameter["name"]
        if parameter["in"] == "path":
            integer = parameter["schema"]["type"] == "integer"
            value = draw(st.sampled_from(["0", "7", "99999999999999999999"] if integer else IDS))
            address = address.replace(f"{{{name}}}", quote(value, safe=""))
        elif parameter["in"] == "header":
            headers[name] = draw(st.sampled_from(["bytes=0-", "bytes=-1", "bytes=9-1", "key", "x" * 201]))
        elif draw(st.booleans()):
            query.append((name, draw(st.one_of(valid_value(parameter["schema"]), ODD))))
    if draw(st.integers(0, 9)) == 0:
        query.append((draw(ODD), draw(ODD)))
    body = draw(bodies(path)) if "requestBody" in operation else None
    return method.upper(), path, f"{address}?{urlencode(query, doseq=True)}", headers, body


def bodies(path: str) -> st.SearchStrategy[bytes]:
    """Bodies with a spec, or a plan of one, and one or two fields that may be anything; or no such thing at all."""
    specs = changed({**SPEC}, "RunSpec")
    plans = st.one_of(changed({"spec": SPEC}, "SeriesPlan"), specs.map(lambda spec: {"spec": spec}))
    wholes = plans.map(lambda plan: {"plan": plan}) if "/s" in path else specs.map(lambda spec: {"spec": spec})
    extras = st.dictionaries(st.sampled_from([*EXTRAS, "odd"]), JSON, max_size=2)
    pairs = st.tuples(st.one_of(wholes, st.just({})), extras).map(lambda pair: {**pair[0], **pair[1]})
    return st.one_of(*(each.map(json.dumps).map(str.encode) for each in (pairs, JSON)), st.binary(max_size=20))


def changed(good: Mapping[str, Any], schema: str) -> st.SearchStrategy[dict[str, Any]]:
    fields = st.sampled_from([*DOCUMENT["components"]["schemas"][schema]["properties"], "odd"])
    return st.dictionaries(fields, JSON, max_size=2).map(lambda changes: {**good, **changes})


@settings(max_examples=250, suppress_health_check=list(HealthCheck))
@given(request=requests())
def test_every_answer_is_one_that_the_document_describes(
    reader: Program, request: tuple[str, str, str, dict[str, str], bytes | None]
) -> None:
    method, path, address, headers, body = request

    reply = reader.send(method, address, body, headers)

    responses = DOCUMENT["paths"][path][method.lower()]["responses"]
    described = responses.get(str(reply.status), DOCUMENT["components"]["responses"]["Problem"])
    assert reply.status < 500 or reply.status in (502, 503), reply.content
    if reply.status != 416:
        assert reply.headers["Content-Type"].partition(";")[0] in described["content"], (reply.status, reply.content)
    require_schema(reply, described)


def require_schema(reply: Reply, described: Mapping[str, Any]) -> None:
    kind = reply.headers.get("Content-Type", "").partition(";")[0]
    schema = described["content"].get(kind, {}).get("schema")
    if schema:
        errors = Draft202012Validator({**schema, "components": DOCUMENT["components"]}).iter_errors(reply.json)
        assert [error.message for error in errors] == []


def test_what_the_server_has_is_described_whole(reader: Program) -> None:
    """The same for one good request to each endpoint that reads, so that no list of the others is empty."""
    run_id = reader.get("/runs").json["items"][0]["run_id"]
    series_id, baseline = (series["series_id"] for series in reader.get("/series").json["items"])
    good = {
        "/compare": "?run=run-0&run=run-1", "/leaderboard": f"?region={a.record('x').region}",
        "/regress": f"?region={a.record('x').region}", f"/series/{series_id}/comparison": f"?baseline={baseline}",
    }  # fmt: skip
    seen = list[tuple[str, Any]](_answers(reader, run_id, series_id, good))

    assert len(seen) == 25
    lists = {path: content.get("items") for path, content in seen if isinstance(content, dict)}
    empty = ["/api/v1/region/pools"]  # the sandbox was given none
    assert [path for path, items in lists.items() if items == []] == empty


def _answers(reader: Program, run_id: str, series_id: str, good: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for method, path in OPERATIONS:
        described = DOCUMENT["paths"][path][method]["responses"].get("200", {})
        if method != "get" or "application/json" not in described["content"] or path.endswith(("/logs", "/export")):
            continue
        address = path.removeprefix("/api/v1").format(run_id=run_id, series_id=series_id, name="nightly")
        reply = reader.get(address + good.get(address, ""))
        assert reply.status == 200, (path, reply.content)
        require_schema(reply, described)
        yield path, reply.json

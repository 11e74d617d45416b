"""conformance.yaml covers the official SDK's classes, and real answers of the sandbox bear it out."""

import copy
from collections.abc import Iterator
from typing import Any

from tests.contract.conformance import Endpoint, Probe, Row, Status, document, fields_of, read, row_of
from tests.contract.conformance_scenario import CREATE, SHOW, Scenario, image_body, preset_body
from tests.sandbox_process import SandboxProcess

ENDPOINTS, MISSING = read()
WRONG_JSON = [{"not": ["this"]}]
WRONG_TEXT = "~wrong~"
ELSEWHERE = "elsewhere"


def test_the_table_has_every_request_and_every_field() -> None:
    text = document()
    fields = {
        pattern for endpoint in ENDPOINTS for row in (*endpoint.asked, *endpoint.answered) for pattern in row.patterns
    }

    assert [each for each in (*(one.request for one in ENDPOINTS), *MISSING, *fields) if f"`{each}`" not in text] == []


def test_the_rows_cover_every_field_of_the_sdks_classes_and_none_is_left_over() -> None:
    for endpoint in ENDPOINTS:
        for class_name, rows in ((endpoint.asks, endpoint.asked), (endpoint.answers, endpoint.answered)):
            fields = fields_of(class_name) if class_name else []
            about = {field: row_of(field, rows) for field in fields}

            assert [field for field, row in about.items() if row is None] == [], endpoint.request
            idle = [row.patterns for row in rows if class_name and row not in about.values()]
            assert idle == [], endpoint.request


def test_every_field_that_is_imitated_stands_in_a_real_answer_and_no_missing_one_does(sandbox: SandboxProcess) -> None:
    scenario = Scenario(sandbox).play()
    scenario.end()

    assert {endpoint.request for endpoint in ENDPOINTS} == set(scenario.answers)
    wrong = [
        (endpoint.request, field, row.status.value)
        for endpoint in ENDPOINTS
        for field, row in _answered(endpoint)
        if _is_seen(field, _seen(scenario.answers[endpoint.request])) == (row.status is Status.MISSING)
    ]
    assert wrong == []


def test_every_field_of_a_request_is_heeded_or_shown_again_as_its_row_says(sandbox: SandboxProcess) -> None:
    scenario = Scenario(sandbox).play()

    failed = [
        (endpoint.request, field, row.probe.value)
        for endpoint in sorted(ENDPOINTS, key=lambda endpoint: "/v1/" in endpoint.request)
        for field, row in _asked(endpoint)
        if not _is_borne_out(scenario, endpoint, field, row)
    ]

    assert failed == []


def test_what_is_not_there_gets_501_and_the_list_of_what_is(sandbox: SandboxProcess) -> None:
    scenario = Scenario(sandbox)
    scenario.names |= dict.fromkeys(("job_id", "report_type", "algorithm_type", "algorithm_name"), "any")
    scenario.names |= {"parameter_name": "lr"}

    for request in MISSING:
        answer = scenario.send(request, {})

        assert (answer.status_code, answer.json()["error_code"]) == (501, "Sandbox.0501"), request
        assert CREATE in answer.json()["error_solution"]
        assert not answer.json()["error_msg"].endswith("workflows."), "it says why, of this request"


def _answered(endpoint: Endpoint) -> Iterator[tuple[str, Row]]:
    """Every field of the answer with its row."""
    return _with_rows(fields_of(endpoint.answers) if endpoint.answers else [], endpoint.answered)


def _asked(endpoint: Endpoint) -> Iterator[tuple[str, Row]]:
    return _with_rows(fields_of(endpoint.asks) if endpoint.asks else [], endpoint.asked)


def _with_rows(fields: list[str], rows: tuple[Row, ...]) -> Iterator[tuple[str, Row]]:
    for field in fields or [pattern for row in rows for pattern in row.patterns]:
        row = row_of(field, rows)
        assert row is not None, field
        yield field, row


def _paths(value: Any, path: str = "") -> Iterator[str]:
    """Where a JSON answer holds something; nulls and empty texts are something, too, but for objects that are null."""
    if isinstance(value, dict):
        for key, inside in value.items():
            yield from _paths(inside, f"{path}.{key}" if path else key)
    if isinstance(value, list):
        for inside in value:
            yield from _paths(inside, f"{path}[]")
    if value is not None:
        yield path


def _seen(answers: list[Any]) -> set[str]:
    """Every field that one of the answers holds."""
    return {path for answer in answers for path in _paths(answer)} or {"(204)"}


def _is_seen(field: str, seen: set[str]) -> bool:
    # The SDK says "a list" of some fields that are objects.
    return field in seen or (field.endswith("environments[]") and field.removesuffix("[]") in seen)


def _is_borne_out(scenario: Scenario, endpoint: Endpoint, field: str, row: Row) -> bool:
    if "/v1/" in endpoint.request and "old_job" in scenario.names:
        scenario.older()
    if row.probe is Probe.NONE:
        return True
    if row.probe is Probe.SHOWN:
        return _is_shown_again(scenario, endpoint, field)
    if endpoint.request.startswith("GET") or field in scenario.queries.get(endpoint.request, {}):
        return _query_matters(scenario, endpoint.request, field.removesuffix("[]"), row.probe)
    bodies = scenario.bodies[endpoint.request]
    answers = [scenario.send(endpoint.request, _with(body, field)) for body in bodies if _has_place(body, field)]
    return any(answer.status_code in (400, 404) for answer in answers)


def _query_matters(scenario: Scenario, request: str, name: str, probe: Probe) -> bool:
    usual = scenario.queries[request]
    if name.startswith("X-"):
        return scenario.send(request, query=usual, headers={name: WRONG_TEXT}).status_code == 400
    if probe is Probe.CHANGES:
        answers = [scenario.send(request, query=query) for query in (usual, {**usual, name: ELSEWHERE})]
        return bool(answers[0].json() != answers[1].json())
    wrong = {**usual, name: "p" * 257 if name in ("pattern", "search_content") else WRONG_TEXT}
    return scenario.send(request, query=wrong).status_code in (400, 404)


def _is_shown_again(scenario: Scenario, endpoint: Endpoint, field: str) -> bool:
    """Whether a field of the create request stands in the job as it was sent."""
    assert endpoint.request == CREATE
    pairs = zip((preset_body(), image_body()), _first_shown(scenario), strict=True)
    sent = [(_at(body, field), _at(shown, field)) for body, shown in pairs if _has_place(body, field, whole=True)]
    return bool(sent) and all(asked == told for asked, told in sent)


def _first_shown(scenario: Scenario) -> list[Any]:
    """The jobs that were made of the two bodies, as they were shown."""
    by_name = {answer["metadata"]["name"]: answer for answer in scenario.answers[SHOW]}
    return [by_name["preset"], by_name["image"]]


def _steps(field: str) -> list[str]:
    return field.replace("[]", ".0").removeprefix("0.").split(".")


def _step(value: Any, step: str) -> Any:
    if isinstance(value, list):
        return value[0] if step == "0" and value else None
    return value.get(step) if isinstance(value, dict) else None


def _at(value: Any, field: str) -> Any:
    for step in _steps(field):
        value = _step(value, step)
    return value


def _has_place(body: Any, field: str, *, whole: bool = False) -> bool:
    """Whether the body has what the field stands in; with `whole`, the field too."""
    steps = _steps(field)
    inside = body
    for step in steps if whole else steps[:-1]:
        inside = _step(inside, step)
    return inside is not None


def _with(body: Any, field: str) -> Any:
    """The body with a value in the field's place that nobody can mean."""
    changed = copy.deepcopy(body)
    inside = changed
    *before, last = _steps(field)
    for step in before:
        inside = _step(inside, step)
    inside[0 if isinstance(inside, list) else last] = WRONG_JSON
    return changed

"""REST: preflight, explanations, what people say about runs, and what runs cost."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from aisbench_core.model import Role, RunState
from tests import records as a
from tests.actors import TESTER
from tests.flow.api_process import SPEC, Program, require_problem, token_of
from tests.flow.following import Bench
from tests.sandbox_process import SandboxProcess


def test_preflight_answers_findings_the_spec_that_would_be_launched_and_its_cost(
    program: Program, api_bench: Bench
) -> None:
    before = api_bench.core.ledger.count()

    good = program.post("/preflight", {"spec": SPEC, "profile": "sandbox"}).json
    bad = program.post("/preflight", {"spec": {**SPEC, "name": "9 lives", "parameters": {"epochs": "x"}}}).json

    assert (good["can_launch"], good["fixed"], good["cost"]) == (True, None, None)
    assert good["spec"]["parameters"]["epochs"] > 0  # the manifest's
    assert bad["can_launch"] is False
    errors = [finding for finding in bad["findings"] if finding["level"] == "error"]
    assert {finding["field"] for finding in errors} == {"name", "parameters.epochs"}
    assert all(finding["rule"] and finding["message"] and finding["source"] for finding in errors)
    assert api_bench.core.ledger.count() == before


def test_preflight_offers_a_corrected_spec_in_the_language_of_the_program(program: Program) -> None:
    spec = {**SPEC, "name": "x" * 80}

    checked = program.post("/preflight", {"spec": spec}).json
    chinese = program.send("POST", "/preflight", {"spec": spec}, {"Accept-Language": "zh-CN"}).json
    again = program.post("/preflight", {"spec": checked["fixed"]}).json

    (finding,) = [finding for finding in checked["findings"] if finding["field"] == "name"]
    assert checked["fixed"] == {**checked["fixed"], **finding["fix"]}
    assert "name" not in {each["field"] for each in again["findings"]}
    assert any("\u4e00" <= letter <= "\u9fff" for letter in chinese["findings"][0]["message"])


def test_preflight_asks_the_region_if_it_is_told_to(program: Program, sandbox: SandboxProcess) -> None:
    spec = {**SPEC, "flavor": "sandbox.no.such"}

    offline = program.post("/preflight", {"spec": spec}).json
    online = program.post("/preflight", {"spec": spec, "online": True}).json
    sandbox.faults(*[{"service": "modelarts", "status": 503}] * 20)
    down = program.post("/preflight", {"spec": SPEC, "online": True})

    rules = {finding["rule"] for finding in online["findings"]} - {finding["rule"] for finding in offline["findings"]}
    assert rules
    assert not online["can_launch"]
    require_problem(down, 503, "cloud-unavailable")


def test_preflight_and_plans_say_nothing_of_the_servers_files(program: Program) -> None:
    spec = {**SPEC, "code_dir": "/etc", "boot_file": "passwd"}

    for path, body in (("/preflight", {"spec": spec}), ("/series/plan", {"plan": {"spec": spec}})):
        refused = require_problem(program.post(path, body), 403, "not-allowed")
        assert "code_dir names files on the server" in refused["detail"]


@pytest.mark.slow
def test_a_failed_run_is_explained(program: Program, api_bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(exit_code=1, log="RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB\n", outputs={})
    run = api_bench.follow(api_bench.launch())

    why = program.get(f"/runs/{run.run_id}/explanation").json
    healthy = program.get(f"/runs/{api_bench.launch().run_id}/explanation").json

    assert run.state is RunState.FAILED
    assert (why["situation"], why["cause"]["confidence"], why["cause"]["source"]) == ("failed", "certain", "log")
    assert why["cause"]["rule"]
    assert why["cause"]["advice"]
    assert "out of memory" in "\n".join(why["error"]["lines"])
    assert healthy["situation"] == "nothing"
    require_problem(program.get("/runs/r-none/explanation"), 404, "run-not-found")
    again = program.post(f"/runs/{run.run_id}/collect")
    assert (again.status, again.json["state"]) == (200, "collecting")


def test_names_tags_and_notes_are_changed_and_say_who_did_it(program: Program, api_bench: Bench) -> None:
    run_id = api_bench.launch().run_id
    path = f"/runs/{run_id}"

    named = program.send("PUT", f"{path}/name", {"name": "the fast one"}).json
    tagged = program.post(f"{path}/tags", {"add": ["release", "night"], "remove": ["never"]}).json
    noted = program.send("PUT", f"{path}/note", {"note": "warm cache"}).json
    stale = program.send("PUT", f"{path}/note", {"note": "cold cache"})
    replaced = program.send("PUT", f"{path}/note", {"note": "cold cache", "since": noted["noted_at"]}).json
    shown = program.get(f"{path}/annotations").json

    assert (named["name"], tagged["tags"], noted["note"]) == ("the fast one", ["night", "release"], "warm cache")
    require_problem(stale, 409, "stale-run")
    assert replaced["note"] == "cold cache"
    assert shown["changes"] == replaced["changes"]
    assert {change["who"] for change in shown["changes"]} == {"ci"}
    assert program.get(path).json["name"] == "the fast one"
    too_long = require_problem(program.send("PUT", f"{path}/name", {"name": "x" * 81}), 422, "spec-error")
    assert [problem["field"] for problem in too_long["problems"]] == ["name"]
    require_problem(program.send("PUT", "/runs/r-none/name", {"name": "x"}), 404, "run-not-found")


def priced(run_id: str, price: float | None, currency: str, month: int, by: str) -> Any:
    """An hour on one node."""
    record = a.record(run_id, created_at=datetime(2026, month, 3, tzinfo=UTC), created_by=by)
    return replace(record, run=replace(record.run, duration_s=3600.0, price_per_node_hour=price, currency=currency))


def test_spending_is_summed_by_currency_and_paged(program: Program, api_bench: Bench) -> None:
    api_bench.core.warehouse.record_many(
        [
            priced("one", 1200.5, "CNY", 3, "ann"),
            priced("usd", 6.0, "USD", 4, "bob"),
            priced("no price", None, "", 4, "bob"),
        ]
    )

    people = program.get("/spending", person=["ann", "bob"], limit=1).json
    rest = program.get("/spending", person=["ann", "bob"], limit=1, cursor=people["next"]).json
    april = program.get("/spending?by=month&person=bob&from=2026-04&to=2026-04").json
    wrong = program.get("/spending?from=spring")
    file = program.get("/spending/csv", person=["ann", "bob"])
    wrong_file = program.get("/spending/csv?from=spring")

    assert [row["name"] for row in people["items"] + rest["items"]] == ["bob", "ann"]
    assert (people["count"], rest["next"]) == (2, None)
    assert [(each["currency"], each["amount"]) for each in people["total"]["sums"]] == [
        ("CNY", 1200.5), ("USD", 6.0), ("", None)
    ]  # fmt: skip
    (bob,) = april["items"]
    assert (bob["name"], bob["runs"], bob["node_hours"], bob["unpriced_hours"]) == ("2026-04", 2, 2.0, 1.0)
    for refused in (wrong, wrong_file):
        assert [problem["field"] for problem in require_problem(refused, 422, "spec-error")["problems"]] == ["from"]
    assert (file.headers["Content-Type"], file.headers["Content-Disposition"]) == (
        "text/csv; charset=utf-8", 'attachment; filename="spending-by-person.csv"'
    )  # fmt: skip
    assert file.content.decode().splitlines() == [
        "person,currency,runs,completed,node_hours,amount",
        "bob,USD,1,1,1.0,6.0",
        "bob,,1,1,1.0,",
        "ann,CNY,1,1,1.0,1200.5",
    ], "currencies are never added, and an unknown price is empty"


READING = {"/preflight", "/series/plan", "/warehouse/sql"}
"""What is sent with a body, and changes nothing. A command may do what its token may: remote_shell.py."""


def test_every_role_reads_and_no_reader_changes(program: Program, api_bench: Bench) -> None:
    """Role × endpoint: what needs which role is decided in the core, and the API has no way around it."""
    run = api_bench.launch()
    series = api_bench.core.series.launch(api_bench.core.series.plan(run.spec, {}, "sandbox").plan, "sandbox", TESTER)
    document = program.get("/openapi.json").json
    readers = {
        "viewer": program.with_token(token_of(api_bench, role=Role.VIEWER)),
        "read-only admin": program.with_token(token_of(api_bench, role=Role.ADMIN, read_only=True)),
    }
    changes = [
        (method.upper(), path.removeprefix("/api/v1"), example_of(operation))
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if method != "get" and path.removeprefix("/api/v1") not in READING and "/commands" not in path
    ]
    names = {"run_id": run.run_id, "series_id": series.series_id, "name": "none"}

    answers = {
        (who, method, path): reader.send(method, path.format(**names), body, {"Idempotency-Key": "no"}).status
        for who, reader in readers.items()
        for method, path, body in changes
    }

    assert {key: status for key, status in answers.items() if status != 403} == {}
    assert len(changes) >= 14


def example_of(operation: dict[str, Any]) -> Any:
    """The body that the document proposes."""
    return operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")

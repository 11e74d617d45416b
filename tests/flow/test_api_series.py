"""REST: series are planned, launched once, stopped, run again and compared; schedules launch them."""

from typing import Any

import pytest

from aisbench_core.model import Role
from tests.flow.api_process import SPEC, Program, require_problem, token_of
from tests.flow.following import GOOD, MOST_TICKS, Bench
from tests.sandbox_process import SandboxProcess

PLAN = {"spec": SPEC, "repeats": 2, "parallel": 2, "hours_per_run": 0.5}


def ended(program: Program, bench: Bench, series_id: str) -> dict[str, Any]:
    """The series when its follower has nothing more to do."""
    for _ in range(MOST_TICKS):
        shown: dict[str, Any] = program.get(f"/series/{series_id}").json
        if shown["series"]["state"] in ("completed", "completed with failures", "stopped"):
            return shown
        bench.tick()
    raise AssertionError(shown)


def launched(program: Program, key: str, **changes: Any) -> str:
    reply = program.post("/series", {"plan": {**PLAN, **changes}}, Idempotency_Key=key)
    assert reply.status == 201, reply.content
    return str(reply.json["series"]["series_id"])


def test_a_plan_has_rows_findings_and_an_estimate_and_stores_nothing(program: Program) -> None:
    before = len(program.get("/series").json["items"])

    plan = program.post("/series/plan", {"plan": {**PLAN, "node_counts": [1, 2]}}).json
    wrong = program.post("/series/plan", {"plan": {**PLAN, "spec": {**SPEC, "parameters": {"epochs": -1}}}}).json
    online = program.post("/series/plan", {"plan": PLAN, "online": True}).json

    assert plan["can_launch"] is True
    assert [(row["title"], row["spec"]["node_count"]) for row in plan["rows"]] == [("1 node", 1), ("2 nodes", 2)]
    assert (plan["estimate"]["cells"], plan["estimate"]["node_hours"]) == (4, 3.0)
    assert wrong["can_launch"] is False
    assert {each["finding"]["field"] for each in wrong["findings"]} == {"parameters.epochs"}
    assert online["can_launch"] is True
    assert len(program.get("/series").json["items"]) == before


@pytest.mark.slow
def test_a_series_of_a_program_ends_with_statistics_and_is_compared_with_the_one_before(
    program: Program, api_bench: Bench, sandbox: SandboxProcess
) -> None:
    sandbox.script(by="look", outputs=GOOD)
    series_id = launched(program, "series-1", name="before")
    again = program.post("/series", {"plan": {**PLAN, "name": "before"}}, Idempotency_Key="series-1")
    before = ended(program, api_bench, series_id)
    slower = {**GOOD, "throughput_0.json": "50.5", "throughput_1.json": "49.5"}
    sandbox.script(by="look", outputs=slower)
    later = launched(program, "series-2", name="after")
    ended(program, api_bench, later)
    compared = program.get(f"/series/{later}/comparison", baseline=series_id).json

    assert (again.status, again.json["series"]["series_id"]) == (200, series_id)
    (row,) = before["rows"]
    assert (row["summary"]["count"], row["summary"]["mean"], row["unit"]) == (2, 200.0, "samples/s")
    assert [cell["tries"][0]["run_state"] for cell in row["cells"]] == ["completed", "completed"]
    assert (before["plan"]["repeats"], before["metric"]) == (2, "")
    assert compared["outcome"] == compared["rows"][0]["outcome"]
    assert compared["rows"][0]["difference"]["change"] == pytest.approx(-0.5)
    assert [compared["rows"][0][side]["summary"]["mean"] for side in ("baseline", "candidate")] == [200.0, 100.0]
    require_problem(program.get(f"/series/{later}", metric="nothing"), 422, "spec-error")
    require_problem(program.get(f"/series/{later}/comparison", baseline=series_id, metric="nothing"), 422, "spec-error")
    require_problem(program.get(f"/series/{later}/comparison", baseline=later), 422, "spec-error")
    require_problem(program.get(f"/series/{later}/comparison"), 422, "spec-error")
    require_problem(program.get(f"/series/{later}/comparison", baseline="s-none"), 404, "series-not-found")


@pytest.mark.slow
def test_a_series_that_varies_values_names_its_best_row(
    program: Program, api_bench: Bench, sandbox: SandboxProcess
) -> None:
    sandbox.script(by="look", outputs=GOOD)

    shown = ended(program, api_bench, launched(program, "values", repeats=1, values={"batch_size": [16, 32]}))

    assert [row["parameters"] for row in shown["rows"]] == [{"batch_size": 16}, {"batch_size": 32}]
    assert shown["best"]["value"] == 200.0
    assert shown["best"]["run_id"] in {cell["run_id"] for row in shown["rows"] for cell in row["cells"]}


@pytest.mark.slow
def test_a_search_of_a_program_shows_its_trials(program: Program, api_bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="look", outputs=GOOD)
    search = {"space": {"batch_size": {"low": 1, "high": 256, "log": True, "integer": True}}, "trials": 2}
    plan = {"spec": SPEC, "search": search, "parallel": 2}

    reply = program.post("/series", {"plan": plan}, Idempotency_Key="search")
    shown = ended(program, api_bench, reply.json["series"]["series_id"])

    assert reply.status == 201, reply.content
    assert shown["plan"]["repeats"] == 1
    assert [row["objective"] for row in shown["rows"]] == [200.0, 200.0]
    assert all(1 <= row["parameters"]["batch_size"] <= 256 for row in shown["rows"])


@pytest.mark.slow
def test_lost_cells_run_again_budgets_change_and_a_series_stops(
    program: Program, api_bench: Bench, sandbox: SandboxProcess
) -> None:
    sandbox.script(by="look", exit_code=1, outputs={})
    series_id = launched(program, "lost", repeats=1, budget=5)
    failed = ended(program, api_bench, series_id)
    sandbox.script(by="hold")
    again = program.post(f"/series/{series_id}/rerun").json
    budget = program.send("PUT", f"/series/{series_id}/budget", {"budget": 7.5}).json
    stopped = program.post(f"/series/{series_id}/stop")

    assert failed["series"]["lost"] == 1
    assert [attempt["number"] for attempt in again["rows"][0]["cells"][0]["tries"]] == [1, 2]
    assert budget["series"]["node_hours"]["budget"] == 7.5
    assert stopped.status == 200
    assert ended(program, api_bench, series_id)["series"]["state"] == "stopped"
    require_problem(program.send("PUT", f"/series/{series_id}/budget", {"budget": 0}), 422, "spec-error")
    require_problem(program.post("/series/s-none/stop"), 404, "series-not-found")


def test_a_key_is_of_one_plan_and_a_wrong_plan_launches_nothing(program: Program) -> None:
    launched(program, "one-plan")
    before = len(program.get("/series", limit=500).json["items"])

    other = program.post("/series", {"plan": {**PLAN, "repeats": 5}}, Idempotency_Key="one-plan")
    keyless = program.post("/series", {"plan": PLAN})
    unknown = program.post("/series", {"plan": {**PLAN, "colour": 1}}, Idempotency_Key="wrong")
    refused = program.post("/series", {"plan": {**PLAN, "spec": {"workload": "none"}}}, Idempotency_Key="wrong")

    assert "launched another plan as series" in require_problem(other, 422, "key-reused")["detail"]
    require_problem(keyless, 400, "api-error")
    assert require_problem(unknown, 422, "spec-error")["problems"][0]["field"] == "plan.colour"
    require_problem(refused, 422, "spec-error")
    assert len(program.get("/series", limit=500).json["items"]) == before


# --- schedules --------------------------------------------------------------------------------------------

NIGHTLY = {"plan": PLAN, "cron": "0 2 * * 1-5", "time_zone": "Asia/Shanghai"}


def test_a_schedule_is_added_changed_paused_resumed_and_removed(program: Program) -> None:
    added = program.send("PUT", "/schedules/nightly", NIGHTLY)
    same = program.send("PUT", "/schedules/nightly", NIGHTLY)
    changed = program.send("PUT", "/schedules/nightly", {**NIGHTLY, "cron": "30 3 * * *", "weekly_hours": 40})
    paused = program.post("/schedules/nightly/pause").json
    listed = program.get("/schedules").json
    resumed = program.post("/schedules/nightly/resume").json
    removed = program.send("DELETE", "/schedules/nightly")

    assert (added.status, same.status, changed.status) == (201, 200, 200)
    assert added.headers["Location"] == "/api/v1/schedules/nightly"
    assert added.json["schedule"]["owner"] == "ci"
    assert [time[11:16] for time in added.json["next_times"]] == ["18:00"] * 5  # 02:00 in Shanghai
    assert len(same.json["events"]) == 1
    assert (changed.json["schedule"]["weekly_hours"], changed.json["next_times"][0][11:16]) == (40, "19:30")
    assert changed.json["events"][0]["message"] == "changed: 30 3 * * *, Asia/Shanghai"
    assert (paused["schedule"]["next_at"], paused["next_times"]) == (None, [])
    assert [each["name"] for each in listed["items"]] == ["nightly"]
    assert resumed["schedule"]["next_at"] == resumed["next_times"][0]
    assert (removed.status, removed.content) == (204, b"")
    gone = require_problem(program.get("/schedules/nightly"), 404, "schedule-not-found")
    assert gone["detail"] == "there is no schedule 'nightly'"
    require_problem(program.send("DELETE", "/schedules/nightly"), 404, "schedule-not-found")


def test_a_schedule_of_somebody_else_needs_a_lead(program: Program, api_bench: Bench) -> None:
    theirs = program.with_token(token_of(api_bench, name="nightly-job"))
    lead = program.with_token(token_of(api_bench, name="lead", role=Role.LEAD))
    theirs.send("PUT", "/schedules/theirs", NIGHTLY)

    refused = program.send("PUT", "/schedules/theirs", {**NIGHTLY, "cron": "0 3 * * *"})
    changed = lead.send("PUT", "/schedules/theirs", {**NIGHTLY, "cron": "0 3 * * *"})

    assert "needs the role lead" in require_problem(refused, 403, "not-allowed")["detail"]
    assert (changed.status, changed.json["schedule"]["owner"]) == (200, "nightly-job")
    assert lead.send("DELETE", "/schedules/theirs").status == 204


def test_pages_of_schedules_follow_each_other(program: Program) -> None:
    names = [f"paged-{number}" for number in range(5)]
    for name in names:
        assert program.send("PUT", f"/schedules/{name}", NIGHTLY).status == 201

    first = program.get("/schedules", limit=3).json
    second = program.get("/schedules", limit=3, cursor=first["next"]).json

    assert [each["name"] for each in first["items"] + second["items"]] == names
    assert second["next"] is None
    for name in names:
        program.send("DELETE", f"/schedules/{name}")


@pytest.mark.parametrize(
    ("name", "changes", "field"),
    [
        ("night", {"cron": "sometimes"}, "cron"),
        ("night", {"cron": "* * * * * *"}, "cron"),
        ("night", {"time_zone": "Mars/Olympus"}, "time_zone"),
        ("night", {"weekly_hours": 0}, "weekly_hours"),
        ("UPPER", {}, "name"),
    ],
)
def test_a_wrong_schedule_is_refused_by_its_field(
    program: Program, name: str, changes: dict[str, Any], field: str
) -> None:
    problem = require_problem(program.send("PUT", f"/schedules/{name}", {**NIGHTLY, **changes}), 422, "spec-error")

    assert [one["field"] for one in problem["problems"]] == [field]


def test_the_examples_of_the_document_can_be_sent_as_they_are(program: Program, api_bench: Bench) -> None:
    lead = program.with_token(token_of(api_bench, role=Role.LEAD))
    document = program.get("/openapi.json").json
    names = {"run_id": api_bench.launch().run_id, "series_id": launched(program, "example"), "name": "example"}
    bodies = {
        (method, path): operation["requestBody"]["content"]["application/json"]["example"]
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if "requestBody" in operation and "/commands" not in path
    }

    replies = {
        (method, path): lead.send(
            method.upper(), path.removeprefix("/api/v1").format(**names), body, {"Idempotency-Key": path}
        )
        for (method, path), body in bodies.items()
    }

    refused = {path: reply.json for (_, path), reply in replies.items() if reply.status not in (200, 201)}
    assert {*refused} == {"/api/v1/runs/{run_id}/decline", "/api/v1/series/{series_id}/decline"}  # nothing is held
    assert {problem["code"] for problem in refused.values()} == {"spec-error"}
    assert {problem["detail"][:8] for problem in refused.values()} & {"the body"} == set()
    assert len(replies) >= 12
    program.send("DELETE", "/schedules/example")


@pytest.mark.slow
def test_a_plan_of_a_program_ends_when_it_has_measured_enough(program: Program, api_bench: Bench) -> None:
    wrong = program.post("/series", {"plan": {**PLAN, "until": "soon"}}, Idempotency_Key="until-wrong")
    plan = {**PLAN, "until": "half-width<1%", "repeats": 8}

    made = program.post("/series", {"plan": plan}, Idempotency_Key="until-right").json
    again = program.post("/series", {"plan": plan}, Idempotency_Key="until-right")

    assert wrong.status == 422
    assert "must be half-width<1%, decided or first-slower" in wrong.content.decode()
    assert again.status == 200
    assert made["judgement"] == {
        "is_met": False,
        "finding": "1 node: too few runs; wanted is ± 1 %",
        "probabilities": [],
    }
    done = ended(program, api_bench, made["series"]["series_id"])
    assert done["judgement"]["is_met"] is True
    assert done["series"]["cells"] < 8

"""REST: launches, stops and tokens, by real requests to a real server with the sandbox behind it."""

import io
import json
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import pytest
from pyarrow import ipc, parquet

from aisbench_core.domain.access.operations import Operations
from aisbench_core.interfaces.api.admission import MOST_UNDER_WAY
from aisbench_core.model import Role, RunState
from aisbench_core.model.token import TokenRequest
from aisbench_core.store.audit.audit import AuditQuery
from tests.actors import TESTER
from tests.flow.api_process import SPEC, ApiProcess, Program, require_problem, token_of
from tests.flow.following import GOOD, Bench
from tests.sandbox_process import SandboxProcess

# --- from a launch to the leaderboard -----------------------------------------------------------------------


def test_a_run_that_a_program_launches_ends_in_the_warehouse(
    program: Program, api_bench: Bench, sandbox: SandboxProcess
) -> None:
    sandbox.script(outputs=GOOD, log="step 1\nstep 2\n")

    launched = program.post("/runs", {"spec": SPEC}, Idempotency_Key="story")
    run_id = launched.json["run_id"]
    before = program.get(f"/runs/{run_id}").json
    api_bench.follow(api_bench.core.ledger.get(run_id))
    shown = program.get(f"/runs/{run_id[:-1]}").json

    assert (launched.status, launched.headers["Location"]) == (201, f"/api/v1/runs/{run_id}")
    assert (before["run"]["state"], before["result"]) == ("preparing", None)
    assert (shown["run"]["state"], shown["run"]["created_by"]) == ("completed", "ci")
    assert shown["result"]["validity"] == "valid"
    assert shown["result"]["throughput"] == 200.0
    board = program.get("/leaderboard", rehearsals="true").json
    assert run_id in {row["best_run_id"] for row in board["items"]}
    events = program.get(f"/runs/{run_id}/events").json["items"]
    assert (events[0]["source"], events[0]["actor"]) == ("api", "ci")
    assert [event["number"] for event in events] == sorted(event["number"] for event in events)
    log = program.get(f"/runs/{run_id}/logs/0").content
    assert b"step 2" in log
    assert program.get(f"/runs/{run_id}/logs").json["items"] == [{"node": 0, "size": len(log)}]
    for name, table in exports(program).items():
        assert run_id in table, name


def exports(program: Program) -> dict[str, list[str]]:
    """The ids of the runs in every format that is not a workbook."""
    files = {
        name: program.get("/export", rehearsals="true", format=name) for name in ("csv", "json", "parquet", "arrow")
    }
    assert {reply.status for reply in files.values()} == {200}
    parsed = json.loads(files["json"].content)
    records = parsed["rows"] if isinstance(parsed, dict) else parsed
    return {
        "csv": files["csv"].content.decode().replace("\n", ",").split(","),
        "json": [record["run_id"] for record in records],
        "parquet": parquet.read_table(io.BytesIO(files["parquet"].content))["run_id"].to_pylist(),
        "arrow": ipc.open_stream(files["arrow"].content).read_all()["run_id"].to_pylist(),
    }


def test_one_key_launches_one_job_however_often_and_at_once_it_is_sent(
    program: Program, api_bench: Bench, sandbox: SandboxProcess
) -> None:
    sandbox.script(outputs=GOOD)
    sandbox.forget_requests()
    before = api_bench.core.ledger.count()

    with ThreadPoolExecutor(8) as threads:
        replies = [*threads.map(lambda _: program.post("/runs", {"spec": SPEC}, Idempotency_Key="once"), range(16))]
    (run_id,) = {reply.json["run_id"] for reply in replies}
    api_bench.follow(api_bench.core.ledger.get(run_id))
    again = program.post("/runs", {"spec": SPEC}, Idempotency_Key="once")

    assert {reply.status for reply in replies} <= {200, 201}
    assert (again.status, again.json["run_id"], again.json["state"]) == (200, run_id, "completed")
    assert api_bench.core.ledger.count() == before + 1
    assert sandbox.requests()["modelarts"]["POST training-jobs"] == 1


def test_a_key_is_of_its_owner_and_of_one_spec(program: Program, api_bench: Bench) -> None:
    mine = program.post("/runs", {"spec": SPEC}, Idempotency_Key="k-1")
    nightly = program.with_token(token_of(api_bench, name="nightly"))
    theirs = nightly.post("/runs", {"spec": SPEC}, Idempotency_Key="k-1")
    other = program.post("/runs", {"spec": {**SPEC, "parameters": {"epochs": 2}}}, Idempotency_Key="k-1")

    assert (mine.status, theirs.status) == (201, 201)
    assert mine.json["run_id"] != theirs.json["run_id"]
    assert mine.json["run_id"] in require_problem(other, 422, "key-reused")["detail"]


def test_a_program_stops_its_own_run_and_no_other(program: Program, api_bench: Bench) -> None:
    run_id = program.post("/runs", {"spec": SPEC}, Idempotency_Key="to-stop").json["run_id"]
    theirs = api_bench.launch()

    stopped = program.post(f"/runs/{run_id}/stop")
    refused = program.post(f"/runs/{theirs.run_id}/stop")

    assert (stopped.status, stopped.json["state"]) == (200, "stopping")
    assert "needs the role lead" in require_problem(refused, 403, "not-allowed")["detail"]
    assert api_bench.run(theirs).state is RunState.PREPARING


# --- who may what -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "detail"),
    [
        ({"role": Role.ADMIN, "read_only": True}, "needs more than a read-only token"),
        ({"role": Role.VIEWER}, "needs the role engineer"),
    ],
)
def test_a_token_that_may_not_launch_launches_nothing(
    program: Program, api_bench: Bench, request_: dict[str, Any], detail: str
) -> None:
    before = api_bench.core.ledger.count()
    reader = program.with_token(token_of(api_bench, **request_))

    reply = reader.post("/runs", {"spec": SPEC}, Idempotency_Key="no")

    assert detail in require_problem(reply, 403, "not-allowed")["detail"]
    assert api_bench.core.ledger.count() == before
    assert reader.get("/runs").status == 200


def test_a_revoked_or_expired_token_is_refused(program: Program, api_bench: Bench) -> None:
    text = token_of(api_bench)
    short = api_bench.core.tokens.create(TokenRequest(name="ci", days=1), TESTER)[0]
    api_bench.core.tokens.revoke(text.split("_")[1], TESTER)
    with api_bench.core.ledger.transaction() as con:  # the server's clock is the machine's
        con.execute(
            "update tokens set expires_at = ? where token_id = ?", ["2020-01-01T00:00:00+00:00", short.token_id]
        )
    expired = api_bench.core.tokens.create(TokenRequest(name="ci"), TESTER)
    with api_bench.core.ledger.transaction() as con:
        con.execute(
            "update tokens set expires_at = '2020-01-01T00:00:00+00:00' where token_id = ?", [expired[0].token_id]
        )

    revoked = require_problem(program.with_token(text).get("/runs"), 401, "token-refused")
    over = require_problem(program.with_token(expired[1].plain).get("/runs"), 401, "token-refused")

    assert "revoked by tester" in revoked["detail"]
    assert "expired on 2020-01-01" in over["detail"]


def test_every_endpoint_but_the_open_ones_wants_a_token(api_server: ApiProcess) -> None:
    stranger = Program(api_server.url)
    document = stranger.get("/openapi.json").json

    refused = {
        (method, path): stranger.send(method.upper(), path.removeprefix("/api/v1").replace("{node}", "0"))
        for path, operations in document["paths"].items()
        for method in operations
    }

    assert len(refused) >= 45
    for reply in refused.values():
        require_problem(reply, 401, "token-refused")
        assert reply.headers["WWW-Authenticate"].startswith("Bearer")
    assert stranger.get("//healthz").json == {"status": "ok"}
    assert stranger.get("//readyz").json == {"status": "ready"}


@pytest.mark.parametrize("header", ["", "Bearer", "Basic Y2k6Y2k=", "Bearer aisb_0123456789ab_" + "x" * 43])
def test_what_is_no_token_is_refused(api_server: ApiProcess, header: str) -> None:
    require_problem(Program(api_server.url).get("/runs", {"Authorization": header}), 401, "token-refused")


def test_refused_tokens_and_changes_are_in_the_log_and_the_token_is_not(program: Program, api_bench: Bench) -> None:
    wrong = "aisb_0123456789ab_" + "y" * 43
    reading = token_of(api_bench, read_only=True)
    require_problem(program.with_token(wrong).get("/runs", workload="canary-of-a-query"), 401, "token-refused")
    require_problem(program.with_token(reading).post("/runs", {"spec": SPEC}, Idempotency_Key="k"), 403, "not-allowed")

    log = (api_bench.core.settings.data_dir / "console.log").read_text("utf-8")

    assert "refused GET /api/v1/runs from 127.0.0.1: this token is not valid" in log
    assert "refused POST /api/v1/runs from 127.0.0.1: " in log
    for secret in (wrong, reading, "canary-of-a-query"):
        assert secret not in log


def test_refused_tokens_are_in_the_audit_and_requests_without_one_are_not(program: Program, api_bench: Bench) -> None:
    wrong = "aisb_0123456789ab_" + "z" * 43
    revoked = token_of(api_bench, name="gone")
    api_bench.core.tokens.revoke(revoked.split("_")[1], TESTER)
    for _ in range(3):
        for text in (wrong, revoked):
            require_problem(program.with_token(text).get("/runs"), 401, "token-refused")
    require_problem(program.with_token("").get("/runs"), 401, "token-refused")

    entries = api_bench.core.audit.entries(AuditQuery(change="session.sign_in", via="api"), TESTER)

    assert [(entry.act.who, entry.act.object, entry.act.detail) for entry in reversed(entries)][-2:] == [
        ("", "127.0.0.1", "this token is not valid: it is misspelt, or belongs to another console"),
        ("gone", "127.0.0.1", "this token was revoked by tester"),
    ]
    assert wrong[18:] not in str(entries)


def test_wrong_input_and_what_is_too_much_are_in_the_log_without_what_was_sent(
    program: Program, api_bench: Bench
) -> None:
    require_problem(program.get("/leaderboard", sort="canary-of-a-value"), 422, "spec-error")
    require_problem(program.post("/runs", {"canary-of-a-key": 1}, Idempotency_Key="k"), 422, "spec-error")
    require_problem(program.get("/runs/no-such-run"), 404, "run-not-found")
    with Operations(api_bench.core.settings.data_dir, 1).count_operation("ci"):
        limited = ApiProcess(api_bench.core.settings.data_dir, operations_at_once="1")
        require_problem(Program(limited.url, program.token).get("/export"), 429, "too-many-operations")
        limited.stop()

    log = (api_bench.core.settings.data_dir / "console.log").read_text("utf-8")

    for path, code in {
        "GET /api/v1/leaderboard": "spec-error",
        "POST /api/v1/runs": "spec-error",
        "GET /api/v1/runs/no-such-run": "run-not-found",
        "GET /api/v1/export": "too-many-operations",
    }.items():
        assert f"refused {path} from 127.0.0.1: {code}" in log
    assert "canary" not in log.replace("canary-of-a-query", "")


def test_the_last_use_of_a_token_is_shown(program: Program, api_bench: Bench) -> None:
    program.get("/runs")

    token = api_bench.core.tokens.authenticate(program.token)
    assert program.get("/token").json["token_id"] == token.token_id
    assert next(one for one in api_bench.core.tokens.all() if one.token_id == token.token_id).last_used_at is not None


def test_only_an_admin_names_files_of_the_server(program: Program, api_bench: Bench) -> None:
    body = {"spec": {**SPEC, "code_dir": "/etc", "boot_file": "passwd"}}

    refused = program.post("/runs", body, Idempotency_Key="files")

    assert "code_dir names files on the server" in require_problem(refused, 403, "not-allowed")["detail"]
    admin = program.with_token(token_of(api_bench, role=Role.ADMIN))
    require_problem(admin.post("/runs", body, Idempotency_Key="files"), 422, "spec-error")  # preflight's refusal


def test_the_audit_has_what_programs_did_and_what_they_may_not(program: Program, api_bench: Bench) -> None:
    launched = program.post("/runs", {"spec": SPEC}, Idempotency_Key="audited").json["run_id"]
    reader = program.with_token(token_of(api_bench, name="reader", role=Role.ADMIN, read_only=True))
    reader.post("/runs", {"spec": SPEC}, Idempotency_Key="refused")
    program.post("/runs", {"spec": {**SPEC, "code_dir": "/etc"}}, Idempotency_Key="files")

    files, refused, done = api_bench.core.audit.entries(AuditQuery(change="run.launch"), TESTER)[:3]

    assert (done.act.who, done.act.via, done.act.role, done.act.object) == ("ci", "api", "engineer", launched)
    assert [entry.act.outcome for entry in (done, refused, files)] == ["done", "refused", "refused"]
    assert (refused.act.who, files.act.who) == ("reader", "ci")


def test_no_answer_and_no_file_holds_a_secret(
    program: Program, api_bench: Bench, scripted_sandbox: SandboxProcess
) -> None:
    paths = ("/token", "/runs", "/events", "/series", "/region/flavors", "/region/pools", "/openapi.json", "/nothing")

    answers = [program.get(path) for path in paths]
    answers.append(
        program.post("/runs", {"spec": {**SPEC, "environments": {"API_TOKEN": "canary"}}}, Idempotency_Key="s")
    )

    secrets = [program.token, program.token.split("_", 2)[2], *scripted_sandbox.keys]
    for reply in answers:
        assert not any(secret.encode() in reply.content for secret in secrets)
        assert "Traceback" not in reply.content.decode()
    logged = [file.read_bytes() for file in api_bench.core.settings.data_dir.glob("*") if file.is_file()]
    assert not any(program.token.split("_", 2)[2].encode() in content for content in logged)


def test_who_asks_too_much_at_once_is_told_so_and_nobody_else_notices(
    program: Program, api_bench: Bench, sandbox: SandboxProcess
) -> None:
    sandbox.latency(modelarts_ms=1500)
    ann = program.with_token(token_of(api_bench, name="ann", role=Role.VIEWER))

    with ThreadPoolExecutor(60) as threads:
        asked = [threads.submit(program.get, "/region/flavors") for _ in range(50)]
        refused = next(one.result() for one in as_completed(asked) if one.result().status != 200)
        others = [ann.get("//healthz"), ann.get("//readyz"), ann.get("/runs")]
        waiting = sum(not one.done() for one in asked)
        replies = [one.result() for one in asked]

    problem = require_problem(refused, 429, "too-many-requests")
    assert problem["detail"] == f"ci has {MOST_UNDER_WAY} requests under way, as many as one person may have"
    assert int(refused.headers["Retry-After"]) >= 1
    assert [reply.status for reply in others] == [200, 200, 200]
    assert waiting > 0  # the others were answered while those waited for the region
    assert {reply.status for reply in replies} == {200, 429}
    assert sum(reply.status == 200 for reply in replies) >= MOST_UNDER_WAY
    assert program.get("/runs").status == 200

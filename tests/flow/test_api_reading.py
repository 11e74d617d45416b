"""REST: lists, events, logs and errors, by real requests to a real server."""

import base64
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from aisbench_core.model import Event, Level
from aisbench_core.store.run_folders.run_paths import RunFolder
from tests import records as a
from tests.actors import TESTER
from tests.flow.api_process import SPEC, Program, require_problem
from tests.flow.following import SPEC as RUN_SPEC
from tests.flow.following import Bench
from tests.sandbox_process import SandboxProcess
from tests.stores.test_inference_results import OFFLINE, SERVED


def test_pages_of_runs_hold_every_run_once_while_others_are_launched(program: Program, api_bench: Bench) -> None:
    times = [a.T0 - timedelta(days=400, minutes=number // 3) for number in range(25)]  # several of one moment
    there = [replace(a.run(f"old-{number:02d}"), created_at=at, version=0) for number, at in enumerate(times)]
    for run in there:
        api_bench.core.ledger.add(run)

    seen: list[str] = []
    cursor = ""
    for number in range(1000):
        page = program.get("/runs", text="old-", limit=4, cursor=cursor).json
        seen += [run["run_id"] for run in page["items"]]
        api_bench.core.ledger.add(replace(a.run(f"old-new-{number}"), created_at=a.T0, version=0))
        cursor = page["next"]
        if not cursor:
            break

    assert sorted(seen) == sorted(run.run_id for run in there)
    assert [run["run_id"] for run in program.get("/runs", text="old-0", limit=500).json["items"]] == [
        run_id for run_id in seen if run_id.startswith("old-0")
    ]


@pytest.mark.parametrize("position", [[10**30], [-(10**30)], ["\ud800", "x"], ["a\0", "x"], ["x"], [True], {}])
@pytest.mark.parametrize("path", ["/events", "/runs", "/series", "/runs/old-1/files"])
def test_a_cursor_that_no_list_has_given_is_one_sentence(program: Program, path: str, position: object) -> None:
    cursor = base64.urlsafe_b64encode(json.dumps(position).encode()).decode()

    reply = program.get(path, cursor=cursor)

    assert reply.status in (404, 422), reply.content
    assert b"incident" not in reply.content


def test_numbers_that_nobody_can_read_and_names_that_no_header_has_are_answered(program: Program) -> None:
    log = program.get(f"/runs/x/logs/{'9' * 5000}")
    exported = program.get("/export", region="华北", rehearsals="true")

    require_problem(log, 404, "no-such-path")
    assert exported.status == 200
    assert "filename*=UTF-8''aisbench-runs-%E5%8D%8E%E5%8C%97" in exported.headers["Content-Disposition"]


def test_events_are_followed_by_a_cursor_that_never_ends(program: Program, api_bench: Bench) -> None:
    cursor = program.get("/events", limit=500).json["next"]
    while program.get("/events", cursor=cursor).json["items"]:
        cursor = program.get("/events", cursor=cursor, limit=500).json["next"]
    for number in range(3):
        api_bench.core.ledger.note(Event("run-x", a.T0, "cli", Level.INFO, f"news {number}", "ann"))

    first = program.get("/events", cursor=cursor, limit=2).json
    second = program.get("/events", cursor=first["next"]).json
    third = program.get("/events", cursor=second["next"]).json

    assert [event["message"] for event in first["items"] + second["items"]] == ["news 0", "news 1", "news 2"]
    assert (third["items"], third["next"]) == ([], second["next"])


def test_pages_of_series_follow_each_other(program: Program, api_bench: Bench) -> None:
    plans = [api_bench.core.series.plan(RUN_SPEC, {"name": f"s{number}"}, "sandbox").plan for number in range(5)]
    launched = list[str]()
    for plan in plans:
        api_bench.clock.move(1)
        launched.append(api_bench.core.series.launch(plan, "sandbox", TESTER).series_id)

    seen, page = list[str](), dict[str, Any](next="")
    while page["next"] is not None:
        page = program.get("/series", limit=2, cursor=page["next"]).json
        seen += [series["series_id"] for series in page["items"]]
        if len(seen) == 2:
            api_bench.clock.move(1)
            api_bench.core.series.launch(plans[0], "sandbox", TESTER)

    assert seen == launched[::-1]
    shown = program.get(f"/series/{launched[0]}").json
    assert shown["series"]["name"] == "s0"
    assert [len(row["cells"]) for row in shown["rows"]] == [3]


def test_an_unchanged_answer_is_not_sent_again(program: Program, api_bench: Bench) -> None:
    first = program.get("/runs", text="etag")
    tag = first.headers["ETag"]

    again = program.get("/runs", {"If-None-Match": tag}, text="etag")
    api_bench.core.ledger.add(replace(a.run("etag-1"), version=0))
    changed = program.get("/runs", {"If-None-Match": f'"x", W/{tag}'}, text="etag")

    assert (again.status, again.content, again.headers["ETag"]) == (304, b"", tag)
    assert changed.status == 200
    assert [run["run_id"] for run in changed.json["items"]] == ["etag-1"]


def test_a_log_is_read_by_ranges_while_it_grows(program: Program, api_bench: Bench) -> None:
    run = api_bench.core.ledger.add(replace(a.run("ranges-1"), version=0))
    log = RunFolder(api_bench.core.settings.runs_dir / run.run_id).log(0)
    log.parent.mkdir(parents=True)
    log.write_bytes(b"0123456789")
    path = f"/runs/{run.run_id}/logs"
    (node,) = [one["node"] for one in program.get(path).json["items"]]

    def read(header: str) -> tuple[int, bytes, str | None]:
        reply = program.get(f"{path}/{node}", {"Range": header})
        return reply.status, reply.content, reply.headers.get("Content-Range")

    assert program.get(f"{path}/{node}").content == b"0123456789"
    assert read("bytes=2-4") == (206, b"234", "bytes 2-4/10")
    assert read("bytes=7-99") == (206, b"789", "bytes 7-9/10")
    assert read("bytes=-3") == (206, b"789", "bytes 7-9/10")
    assert read("bytes=10-") == (416, b"", "bytes */10")
    with log.open("ab") as more:
        more.write(b"more")
    assert read("bytes=10-") == (206, b"more", "bytes 10-13/14")
    for wrong in ("bytes=4-2", "bytes=1-2,5-6", "lines=1-2", "bytes=-"):
        require_problem(program.get(f"{path}/{node}", {"Range": wrong}), 422, "spec-error")
    require_problem(program.get(f"{path}/77"), 404, "run-not-found")


def test_what_a_region_offers_is_asked_of_the_region(program: Program, sandbox: SandboxProcess) -> None:
    flavors = program.get("/region/flavors", profile="sandbox").json["items"]
    first = program.get("/region/flavors", limit=1).json
    second = program.get("/region/flavors", limit=1, cursor=first["next"]).json
    sandbox.faults(*[{"service": "modelarts", "status": 503}] * 20)
    down = program.get("/region/engines")

    assert "sandbox.cpu.2cards" in {row["flavor"]["flavor_id"] for row in flavors}
    assert [*first["items"], *second["items"]] == flavors[:2]
    assert require_problem(down, 503, "cloud-unavailable")["cloud"]["status"] == 503
    assert int(down.headers["Retry-After"]) >= 1


# --- wrong requests ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("/runs", {"limit": 0}, "limit"),
        ("/runs", {"limit": [1, 2]}, "limit"),
        ("/runs", {"state": "lost"}, "state.0"),
        ("/runs", {"color": "red"}, "color"),
        ("/runs", {"cursor": "garbage"}, "cursor"),
        ("/events", {"cursor": "WyJhIl0"}, "cursor"),
        ("/leaderboard", {"sort": "luck"}, "sort"),
        ("/compare", {}, "run"),
        ("/export", {"format": "exe"}, "format"),
    ],
)
def test_a_wrong_parameter_is_named(program: Program, path: str, query: dict[str, Any], field: str) -> None:
    problem = require_problem(program.get(path, **query), 422, "spec-error")

    assert [one["field"] for one in problem["problems"]] == [field]


def test_a_wrong_launch_says_what_is_wrong(program: Program, api_bench: Bench) -> None:
    before = api_bench.core.ledger.count()
    key = {"Idempotency-Key": "wrong", "Content-Type": "application/json"}

    unknown = program.send("POST", "/runs", {"spec": {**SPEC, "colour": 1}}, key)
    refused = program.send("POST", "/runs", {"spec": {"workload": "no-such"}}, key)
    keyless = program.post("/runs", {"spec": SPEC})
    not_json = program.send("POST", "/runs", b"{", key)
    a_list = program.send("POST", "/runs", [1], key)
    a_form = program.send("POST", "/runs", b"spec=1", {**key, "Content-Type": "application/x-www-form-urlencoded"})
    too_large = program.send("POST", "/runs", b" " * (1024 * 1024 + 1), key)

    assert require_problem(unknown, 422, "spec-error")["problems"][0]["field"] == "spec.colour"
    assert "no-such" in require_problem(refused, 422, "spec-error")["detail"]
    assert "Idempotency-Key" in require_problem(keyless, 400, "api-error")["detail"]
    require_problem(not_json, 400, "api-error")
    require_problem(a_list, 400, "api-error")
    require_problem(a_form, 415, "wrong-media-type")
    require_problem(too_large, 413, "too-large")
    assert api_bench.core.ledger.count() == before


def test_what_is_not_there_is_a_problem_too(program: Program) -> None:
    require_problem(program.get("/runs/r-nothing"), 404, "run-not-found")
    require_problem(program.get("/series/s-nothing"), 404, "series-not-found")
    require_problem(program.get("/nothing"), 404, "no-such-path")
    require_problem(program.send("DELETE", "/runs"), 405, "wrong-method")


def test_errors_are_in_the_language_of_the_program(program: Program) -> None:
    chinese = program.get("/nothing", {"Accept-Language": "zh-CN,en;q=0.5"})

    assert require_problem(chinese, 404, "no-such-path")["detail"] == "没有端点 /api/v1/nothing"


def test_results_of_inference_are_paged_and_a_file_of_their_own(program: Program, api_bench: Bench) -> None:
    api_bench.core.warehouse.inference.add([SERVED, OFFLINE], "ann", a.T0)

    first = program.get("/inference", limit=1).json
    second = program.get("/inference", limit=1, cursor=first["next"]).json
    file = program.get("/inference/csv")

    assert (first["count"], second["next"]) == (2, None)
    assert [page["items"][0]["result"]["unit"] for page in (first, second)] == ["samples/s", "tokens/s"]
    assert file.content.decode().count("inference,i-") == 2

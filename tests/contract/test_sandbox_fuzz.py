"""Requests that nobody would write: the training service answers each with a documented refusal, never with a 500."""

import copy
import itertools
import json
import re
from typing import Any
from urllib.parse import quote, urlencode

import pytest
import requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aisbench_sandbox.service.routes import LEGACY_ROUTES, ROUTES
from tests.legacy_client import LegacyClient, configuration
from tests.sandbox_process import SandboxProcess
from tests.signed_requests import SignedRequests
from tests.training_client import TrainingClient, channel, job_body

ADDRESSES = sorted(
    {(version, method, path) for version, rows in (("v2", ROUTES), ("v1", LEGACY_ROUTES)) for method, path, _ in rows}
)
CODE = re.compile(r"ModelArts\.\d{4}|APIGW\.0\d{3}|Sandbox\.0501")
MANY = settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

LITTLE = st.sampled_from(
    ["", "0", "1", "-1", "50", "1e9", "desc", "asc", "Error", "worker-0", "a", "9" * 30, "\0", "é", "x" * 300]
)
TEXTS = st.one_of(LITTLE, st.text(max_size=20))
NUMBERS = st.one_of(st.integers(), st.sampled_from([0, 1, -1, 2**31, 10**30]), st.floats())
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=8,
)
PARAMETERS = (
    "limit offset order sort_by sortBy level source pattern start_time end_time lines base_line log_file flavor_type"
    " flavor_id pool_id job_name resource schedule_count per_page page status search_content workspace_id type"
    " experiment_name time_range"
)
QUERIES = st.dictionaries(st.sampled_from(PARAMETERS.split()), TEXTS, max_size=4)
CHANNEL = channel("data", "/sandbox-bench/in/")
TEMPLATES: list[dict[str, Any]] = [
    {
        **job_body("fuzzed", parameters=[("a", "1")], inputs=[CHANNEL], environments={"A": "b"}),
        "endpoints": {"ssh": {"key_pair_names": ["kp"]}},
    },
    {"job_name": "fuzzed", "job_desc": "", "config": configuration(volumes=[], pre_version_id=1)},
    {
        "offset": 0,
        "limit": 10,
        "sort_by": "name",
        "order": "asc",
        "filters": [{"key": "create_time", "operator": "between", "value": ["0", "1"]}],
        "tags": [{"key": "a", "values": ["b"]}],
        "host_ips": ["127.0.0.1"],
    },
    {"description": "d", "spec": {"schedule_policy": {"priority": 1}, "notification": {"topic_urn": "u"}}},
    {"jobs": [{"kind": "job", "metadata": {"id": "x"}}], "tags": [{"key": "a", "value": "b"}], "action_type": "no"},
    {"user_id": "u", "quotas": [{"resource": "job-num", "quota": 100}], "metadata": {"name": "e"}, "name": "e"},
]


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value, itself included."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, entry in inside for place in _places(entry, (*path, key)))]


def _changed(body: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    found = copy.deepcopy(body)
    inside = found
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    return found


def _renamed(body: dict[str, Any], number: int) -> dict[str, Any]:
    """The body of a job that nobody else has the name or the output of."""
    text = json.dumps(body).replace("fuzzed", f"fuzzed-{number}").replace("/out/", f"/out/{number}/")
    renamed: dict[str, Any] = json.loads(text)
    return renamed


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """A body that would be accepted but for one or two places."""
    body: Any = draw(st.sampled_from(TEMPLATES))
    for _ in range(draw(st.integers(1, 2))):
        body = _changed(body, draw(st.sampled_from(_places(body))), draw(VALUES))
    return body


BODIES = st.one_of(mutated(), VALUES).map(lambda body: json.dumps(body).encode()) | st.binary(max_size=60)


@pytest.fixture
def job(sandbox: SandboxProcess) -> str:
    """A job of each API, with a log; the newer one's number."""
    pool = {"name": "a-pool", "flavor": "modelarts.kat1.8xlarge", "nodes": 3, "bad": [2]}
    sandbox.admin("PUT", "capacity", {"pools": [pool]})
    sandbox.script(by="hold", log="line\n")
    client = TrainingClient(sandbox)
    client.put("code/train.py", "")
    job_id = str(client.create(job_body()).metadata.id)
    client.show(job_id)
    LegacyClient(sandbox).create()
    return job_id


def assert_documented(answer: requests.Response) -> None:
    """Success, or a refusal as the documents have it."""
    request = answer.request
    about = f"{request.method} {request.url} {request.body!r}: {answer.status_code} {answer.text[:300]}"
    if answer.status_code < 300:
        return
    assert answer.status_code in (400, 401, 404, 409, 501), about
    body = answer.json()
    assert CODE.fullmatch(body["error_code"]), about
    assert body.get("error_msg") or body.get("error_message"), about


def test_no_request_breaks_the_service(sandbox: SandboxProcess, job: str) -> None:
    signed = SignedRequests(sandbox)

    @MANY
    @given(st.sampled_from(ADDRESSES), QUERIES, BODIES, st.data())
    def ask(address: tuple[str, str, str], query: dict[str, str], body: bytes, data: st.DataObject) -> None:
        version, method, path = address
        for name in re.findall(r"\{(\w+)\}", path):
            known = {"job_id": job if version == "v2" else "1", "version_id": "1", "pool": "a-pool"}.get(
                name, "worker-0"
            )
            value = data.draw(st.one_of(st.just(known), TEXTS))
            path = path.replace(f"{{{name}}}", quote(value, safe="") or "-")
        asked = f"{path}?{urlencode(query)}" if query else path
        assert_documented(signed.send(method, asked, body if method != "GET" else b"", version=version))

    ask()
    assert signed.send("GET", f"training-jobs/{job}").status_code in (200, 400)  # a lucky guess may have deleted it


def test_no_create_request_breaks_the_service(sandbox: SandboxProcess, job: str) -> None:
    signed = SignedRequests(sandbox)
    numbers = itertools.count()
    assert job

    @MANY
    @given(st.sampled_from([("v2", TEMPLATES[0]), ("v1", TEMPLATES[1])]), st.data())
    def ask(start: tuple[str, dict[str, Any]], data: st.DataObject) -> None:
        version, body = start[0], _renamed(start[1], next(numbers))
        place = data.draw(st.sampled_from(_places(body)))
        content = json.dumps(_changed(body, place, data.draw(VALUES))).encode()
        answer = signed.send("POST", "training-jobs", content, version=version)
        assert_documented(answer)
        if version == "v2" and answer.status_code == 201:
            assert signed.send("GET", f"training-jobs/{answer.json()['metadata']['id']}").status_code == 200

    ask()
    assert signed.json("POST", "training-job-searches", {})["total"] > 10


@pytest.mark.parametrize(
    "path", ["/b\0/", "/../", "/./x/", "/sandbox-bench/../", "/sandbox-bench/\0/", "/" + "b" * 5000 + "/"]
)
def test_no_path_breaks_the_service(sandbox: SandboxProcess, job: str, path: str) -> None:
    signed = SignedRequests(sandbox)
    assert job

    for place in [place for place in _places(TEMPLATES[0]) if str(place[-1:]) in ("('obs_url',)", "('code_dir',)")]:
        assert_documented(signed.send("POST", "training-jobs", _changed(TEMPLATES[0], place, path)))
    for key in ("app_url", "boot_file_url", "data_url", "train_url", "log_url"):
        body = _changed(TEMPLATES[1], ("config", key), path)
        assert_documented(signed.send("POST", "training-jobs", body, version="v1"))


def test_no_signature_breaks_the_service(sandbox: SandboxProcess) -> None:
    session = requests.Session()
    session.trust_env = False
    visible = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40)
    scheme = "SDK-HMAC-SHA256 Access={}, SignedHeaders={}, Signature={}"

    @settings(MANY, max_examples=100)
    @given(st.one_of(visible, st.builds(scheme.format, visible, visible, st.just("0" * 64))), visible)
    def ask(authorization: str, date: str) -> None:
        headers = {"Authorization": authorization, "X-Sdk-Date": date}
        answer = session.get(f"{sandbox.modelarts_url}/v2/{sandbox.project_id}/pools", headers=headers, timeout=60)
        assert (answer.status_code, answer.json()["error_code"]) == (401, "APIGW.0301")

    ask()

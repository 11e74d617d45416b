"""The training service accepts only requests that are signed right; the signer here is the tests' own."""

import hashlib
import hmac
import json
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest

from tests.sandbox_process import SandboxProcess

PATH = "/v2/sandbox-project/training-job-searches"
BODY = b'{"limit": 1}'


def sign(
    sandbox: SandboxProcess,
    path: str = PATH,
    body: bytes = BODY,
    *,
    query: tuple[tuple[str, str], ...] = (),
    secret_key: str = "",
    access_key: str = "",
    payload: str = "",
    at: datetime | None = None,
) -> dict[str, str]:
    """The headers of a POST (or of a GET without a body), signed by the published rules."""
    right_access, right_secret = sandbox.keys
    date = (at or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    headers = {"host": urlsplit(sandbox.modelarts_url).netloc, "x-sdk-date": date}
    names = ";".join(headers)
    encoded = "&".join(f"{quote(name, safe='~')}={quote(value, safe='~')}" for name, value in sorted(query))
    canonical = "\n".join(
        [
            "POST" if body else "GET",
            f"{quote(path)}/",
            encoded,
            "".join(f"{name}:{value}\n" for name, value in headers.items()),
            names,
            payload or hashlib.sha256(body).hexdigest(),
        ]
    )
    text = f"SDK-HMAC-SHA256\n{date}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    signature = hmac.new((secret_key or right_secret).encode(), text.encode(), hashlib.sha256).hexdigest()
    access = access_key or right_access
    return {
        **headers,
        "authorization": f"SDK-HMAC-SHA256 Access={access}, SignedHeaders={names}, Signature={signature}",
    }


def ask(sandbox: SandboxProcess, headers: dict[str, str], path: str = PATH, body: bytes = BODY) -> tuple[int, Any]:
    """(status, JSON answer)."""
    request = urllib.request.Request(sandbox.modelarts_url + path, body or None, headers)
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def assert_refused(answer: tuple[int, Any], because: str) -> None:
    status, body = answer
    assert (status, body["error_code"]) == (401, "APIGW.0301")
    assert because in body["error_msg"]
    assert body["request_id"]


def test_a_request_that_is_signed_right_is_answered(sandbox: SandboxProcess) -> None:
    status, body = ask(sandbox, sign(sandbox))

    assert (status, body["limit"]) == (200, 1)


def test_the_signature_covers_a_query_with_any_characters(sandbox: SandboxProcess) -> None:
    path, query = "/v2/sandbox-project/training-job-names", (("job_name", "测试 a+b/c~*"), ("workspace_id", "0"))

    headers = sign(sandbox, path, b"", query=query)

    target = f"{path}?{urlencode(query, quote_via=quote)}"
    assert ask(sandbox, headers, target, b"") == (200, {"is_duplicate": False})
    assert_refused(ask(sandbox, headers, target.replace("=0", "=1"), b""), "signature")


def test_a_wrong_secret_key_is_refused(sandbox: SandboxProcess) -> None:
    assert_refused(ask(sandbox, sign(sandbox, secret_key="wrong")), "verify aksk signature fail")


def test_an_unknown_access_key_is_refused(sandbox: SandboxProcess) -> None:
    assert_refused(ask(sandbox, sign(sandbox, access_key="NOBODY")), "the AK NOBODY does not exist")


def test_a_changed_body_is_refused(sandbox: SandboxProcess) -> None:
    assert_refused(ask(sandbox, sign(sandbox), body=b'{"limit": 2}'), "verify aksk signature fail")


def test_a_changed_path_is_refused(sandbox: SandboxProcess) -> None:
    answer = ask(sandbox, sign(sandbox), path="/v2/sandbox-project/training-jobs")

    assert_refused(answer, "verify aksk signature fail")


@pytest.mark.parametrize("minutes", [-16, 16])
def test_a_clock_that_is_off_by_more_than_15_minutes_is_refused(sandbox: SandboxProcess, minutes: int) -> None:
    headers = sign(sandbox, at=datetime.now(UTC) + timedelta(minutes=minutes))

    assert_refused(ask(sandbox, headers), "15 minutes")


@pytest.mark.parametrize("minutes", [-14, 14])
def test_a_clock_that_is_off_by_less_is_accepted(sandbox: SandboxProcess, minutes: int) -> None:
    headers = sign(sandbox, at=datetime.now(UTC) + timedelta(minutes=minutes))

    assert ask(sandbox, headers)[0] == 200


@pytest.mark.parametrize("name", ["authorization", "x-sdk-date"])
def test_a_request_without_signature_or_date_is_refused(sandbox: SandboxProcess, name: str) -> None:
    headers = sign(sandbox)
    del headers[name]

    assert_refused(ask(sandbox, headers), "Incorrect IAM authentication information")


def test_a_body_hash_that_is_not_the_bodys_does_not_help(sandbox: SandboxProcess) -> None:
    headers = sign(sandbox) | {"x-sdk-content-sha256": hashlib.sha256(BODY).hexdigest()}

    assert_refused(ask(sandbox, headers, body=b'{"limit": 2}'), "verify aksk signature fail")


@pytest.mark.parametrize("body", [BODY, b""])
def test_a_client_may_leave_the_payload_unsigned_with_a_body_and_without(sandbox: SandboxProcess, body: bytes) -> None:
    path = PATH if body else "/v2/sandbox-project/training-job-flavors"
    headers = sign(sandbox, path, body, payload="UNSIGNED-PAYLOAD") | {"x-sdk-content-sha256": "UNSIGNED-PAYLOAD"}

    status, answer = ask(sandbox, headers, path, body)

    assert status == 200, answer


def test_the_sandbox_says_what_it_is(sandbox: SandboxProcess) -> None:
    for address in (sandbox.modelarts_url, sandbox.obs_url):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                f"{address}/nobody/signed/this", timeout=60
            )

        assert refused.value.headers["Server"] == "AISBench sandbox"
        refused.value.close()

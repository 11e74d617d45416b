"""Sign-in with OpenID Connect over HTTP: who is let in, and what is said when a provider errs or somebody cheats."""

import logging
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import OctKey, RSAKey
from pydantic import SecretStr
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from aisbench_core.access.identity import Identity
from aisbench_core.model import Role
from aisbench_core.settings import Settings
from aisbench_core.web.oidc.provider import Provider, Registration
from aisbench_core.web.oidc.sign_in import AT_ONCE, SignInDoor, SignInMiddleware
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER
from tests.oidc.browser import Answer, Browser, query_of
from tests.oidc.own_provider import ACCESS, CLIENT_ID, CODE, SECRET, SUBJECT, OwnProvider

Start = Callable[..., Browser]


@pytest.fixture
def provider() -> Iterator[OwnProvider]:
    own = OwnProvider()
    own.claims = {"preferred_username": "ann", "groups": ["perf", "unknown"]}
    yield own
    own.stop()


@pytest.fixture
def settings(tmp_path: Path, provider: OwnProvider) -> Settings:
    return Settings(
        data_dir=tmp_path / "data", identity=Identity.OIDC, oidc_issuer=provider.issuer, oidc_client_id=CLIENT_ID,
        group_roles="perf=engineer",
    )  # fmt: skip


@pytest.fixture
def core(settings: Settings) -> Core:
    return open_core(settings)


@pytest.fixture
def start(core: Core, settings: Settings) -> Start:
    """A browser in front of a console of these settings, which says `in` to whoever is let in."""

    async def console(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse("in")(scope, receive, send)

    def started(scheme: str = "http", **changes: Any) -> Browser:
        changed = settings.model_copy(update=changes)
        registration = Registration(changed.oidc_issuer, CLIENT_ID, SecretStr(SECRET), changed.oidc_scopes)
        door = SignInDoor(changed, Provider(registration), core.sign_ins)
        return Browser(SignInMiddleware(console, lambda: door), scheme)

    return started


@pytest.fixture
def browser(start: Start) -> Browser:
    return start()


def sign_in(browser: Browser, provider: OwnProvider, page: str = "/runs", **changes: str) -> Answer:
    """The answer to the provider's redirect, which `changes` alters."""
    asked = query_of(browser.get(f"/sign-in?page={page}").header("location"))
    provider.nonce = asked["nonce"]
    answer = {"code": CODE, "state": asked["state"], **changes}
    return browser.get("/oauth2callback?" + "&".join(f"{name}={value}" for name, value in answer.items() if value))


# --- who is let in ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "kind", "status"),
    [
        ("/_stcore/health", "http", 200),
        ("/", "http", 401),
        ("/runs", "http", 401),
        ("/static/index.js", "http", 401),
        ("/_stcore/health/more", "http", 401),
        ("/_stcore/host-config", "http", 401),
        ("/_stcore/upload_file/a/b", "http", 401),
        ("/media/0123.csv", "http", 401),
        ("/run-logs/r/log", "http", 401),
        ("/tensorboard/token/", "http", 401),
        ("/sign-in/", "http", 401),
        ("/_stcore/stream", "websocket", 403),
    ],
)
def test_without_sign_in_only_health_answers(browser: Browser, address: str, kind: str, status: int) -> None:
    assert browser.get(address, kind=kind, accept="*/*").status == status


@pytest.mark.parametrize("stolen", ["", "x", "a" * 43])
def test_an_id_that_nobody_was_given_opens_nothing(browser: Browser, stolen: str) -> None:
    browser.cookies["aisbench_session"] = stolen

    assert browser.get("/runs").status == 401
    assert browser.get("/_stcore/stream", kind="websocket").status == 403


def test_whoever_signs_in_is_let_in_with_the_role_of_the_groups(
    browser: Browser, provider: OwnProvider, core: Core
) -> None:
    answer = sign_in(browser, provider, "/runs?run=7%26x")

    assert (answer.status, answer.header("location")) == (303, "/runs?run=7&x")
    assert browser.get("/_stcore/stream", kind="websocket").text == "in"
    assert browser.get("/tensorboard/token/").text == "in"
    assert core.people.current("ann").role is Role.ENGINEER
    (request,) = provider.requests
    assert request["code"] == [CODE]
    assert len(request["code_verifier"][0]) >= 43
    assert provider.passwords[0].startswith("Basic ")


def test_claims_may_come_from_the_other_endpoint(browser: Browser, provider: OwnProvider, core: Core) -> None:
    provider.claims = {}
    provider.user_info = {"sub": SUBJECT, "preferred_username": "eve", "groups": "perf"}

    assert sign_in(browser, provider).status == 303
    assert core.people.current("eve").role is Role.ENGINEER


def test_the_claims_are_settings(start: Start, provider: OwnProvider, core: Core) -> None:
    provider.claims = {"upn": "eve", "roles": ["perf"]}
    browser = start(oidc_name_claim="upn", oidc_groups_claim="roles")

    assert sign_in(browser, provider).status == 303
    assert core.people.current("eve").role is Role.ENGINEER


def test_over_tls_no_other_server_can_set_or_read_the_cookies(start: Start, provider: OwnProvider) -> None:
    browser = start("https")
    begun = browser.get("/sign-in?page=/runs")
    browser.cookies.clear()

    cookies = [*begun.cookies, *sign_in(browser, provider).cookies]

    assert len(cookies) == 3
    for cookie in cookies:
        assert cookie.startswith("__Host-aisbench_")
        assert {"secure", "httponly", "samesite=lax", "path=/"} <= {part.strip().lower() for part in cookie.split(";")}
    session = browser.cookies.pop("__Host-aisbench_session")
    browser.cookies["aisbench_session"] = session  # as a server of a sibling name could set it

    assert browser.get("/runs").status == 401


def test_each_sign_in_has_a_new_id_and_ends_the_one_before(browser: Browser, provider: OwnProvider) -> None:
    sign_in(browser, provider)
    first = browser.cookies["aisbench_session"]
    sign_in(browser, provider)
    second = browser.cookies["aisbench_session"]

    assert first != second
    assert min(len(first), len(second)) >= 43
    browser.cookies["aisbench_session"] = first
    assert browser.get("/runs").status == 401


def test_a_revoked_person_is_out_and_cannot_sign_in_again(browser: Browser, provider: OwnProvider, core: Core) -> None:
    sign_in(browser, provider)
    core.people.revoke("ann", TESTER)

    assert browser.get("/runs").status == 403
    assert "your access to this console was revoked" not in browser.get("/runs").text  # the session is gone
    answer = sign_in(browser, provider)
    assert (answer.status, "the access of ann was revoked" in answer.text) == (403, True)


def test_no_token_reaches_the_browser_or_a_file(browser: Browser, provider: OwnProvider, settings: Settings) -> None:
    answer = sign_in(browser, provider)

    kept = b"".join(file.read_bytes() for file in settings.data_dir.rglob("*") if file.is_file())
    for secret in (ACCESS, SECRET, CODE):
        assert secret not in str(answer)
        assert secret.encode() not in kept
    assert b"s-1" in kept  # the subject, by which the person is known


# --- where it leads ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page",
    [
        "https://evil.example/", "//evil.example", "/\\evil.example", "\\\\evil.example", "/%09/evil.example",
        "javascript:alert(1)", "evil.example", "", "/" + "a" * 3000, "/%0d%0aSet-Cookie:x=1", "/%E4%BD%A0",
    ],
)  # fmt: skip
def test_a_sign_in_leads_to_no_other_host(browser: Browser, provider: OwnProvider, page: str) -> None:
    assert sign_in(browser, provider, page).header("location") == "/"


def test_the_link_of_the_sign_in_page_names_the_page_that_was_asked_for(browser: Browser) -> None:
    page = browser.get('/runs?run=7&name="><script>alert(1)</script>').text

    assert 'href="/sign-in?page=%2Fruns%3Frun%3D7%26name%3D%22%3E%3Cscript%3E' in page
    assert "<script" not in page


def test_the_page_is_in_the_language_of_the_address(browser: Browser) -> None:
    assert "登录 AISBench 控制台" in browser.get("/runs?lang=zh").text
    assert "Sign in to AISBench Console" in browser.get("/runs?lang=en").text
    assert query_of(browser.get("/sign-in?page=/runs?lang=zh").header("location"))["ui_locales"] == "zh-CN"


# --- what is refused --------------------------------------------------------------------------------------------


def failed(answer: Answer) -> str:
    """What a failed sign-in says."""
    assert answer.status in (403, 502), answer
    assert not any("aisbench_session" in cookie for cookie in answer.cookies)
    return answer.text.partition('<p role="alert">')[2].partition("</p>")[0]


LONG_AGO, LATER = int(time.time()) - 3600, int(time.time()) + 3600


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"iss": "https://evil.example"}, "cannot be trusted: invalid_claim iss"),
        ({"aud": "another-client"}, "cannot be trusted: invalid_claim aud"),
        ({"aud": [CLIENT_ID, "another-client"], "azp": "another-client"}, "cannot be trusted: invalid_claim azp"),
        ({"nonce": "of-another-sign-in"}, "cannot be trusted: invalid_claim nonce"),
        ({"nonce": None}, "cannot be trusted: missing_claim nonce"),
        ({"sub": None}, "cannot be trusted: missing_claim sub"),
        ({"at_hash": "of-another-token"}, "cannot be trusted: invalid_claim at_hash"),
        ({"iat": LONG_AGO, "exp": LONG_AGO + 300}, "its clock and the console&#x27;s differ"),
        ({"iat": LATER, "exp": LATER + 300}, "its clock and the console&#x27;s differ"),
        ({"preferred_username": None}, "the claim preferred_username is missing"),
        ({"preferred_username": ["ann"]}, "the claim preferred_username is missing"),
        ({"preferred_username": "an\nn"}, "the person: name: must have 1 to 100 printable characters"),
    ],
)
def test_a_token_that_says_something_else_is_refused(
    browser: Browser, provider: OwnProvider, claims: dict[str, Any], said: str
) -> None:
    provider.claims |= claims

    assert said in failed(sign_in(browser, provider))


def test_a_skew_of_less_than_a_minute_is_none(browser: Browser, provider: OwnProvider) -> None:
    provider.claims |= {"iat": int(time.time()) + 40}

    assert sign_in(browser, provider).status == 303


def test_a_token_that_somebody_else_signed_is_refused(browser: Browser, provider: OwnProvider) -> None:
    provider.signing = RSAKey.generate_key(2048, {"kid": "k-1"})

    assert "bad_signature" in failed(sign_in(browser, provider))


def test_a_token_signed_with_the_client_secret_is_refused(browser: Browser, provider: OwnProvider) -> None:
    provider.signing, provider.algorithm = OctKey.import_key(SECRET), "HS256"
    provider.metadata = {"id_token_signing_alg_values_supported": ["HS256", "RS256", "none"]}

    assert "unsupported_algorithm" in failed(sign_in(browser, provider))


def test_new_keys_of_the_provider_are_fetched(browser: Browser, provider: OwnProvider) -> None:
    sign_in(browser, provider)
    provider.keys = [RSAKey.generate_key(2048, {"kid": "k-2"})]
    provider.signing = provider.keys[0]

    assert sign_in(browser, provider).status == 303


def test_the_other_endpoint_must_speak_of_the_same_person(browser: Browser, provider: OwnProvider) -> None:
    provider.claims = {}
    provider.user_info = {"sub": "s-2", "preferred_username": "root"}

    assert "named two people" in failed(sign_in(browser, provider))


@pytest.mark.parametrize("verified", [None, False, "true"])
def test_an_address_that_is_not_verified_is_nobodys_name(start: Start, provider: OwnProvider, verified: object) -> None:
    provider.claims = {"email": "root@example.org", "email_verified": verified, "groups": []}

    assert "has not verified your e-mail address" in failed(sign_in(start(oidc_name_claim="email"), provider))
    provider.claims |= {"email_verified": True}
    assert sign_in(start(oidc_name_claim="email"), provider).status == 303


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"state": "of-another-browser"}, "this sign-in was not begun in this browser"),
        ({"state": ""}, "this sign-in was not begun in this browser"),
        ({"code": ""}, "this is no answer of the provider"),
        ({"iss": "https://evil.example"}, "this is no answer of the provider"),
        ({"error": "access_denied"}, "access was denied at the provider"),
        ({"error": "login_required"}, "the provider did not sign you in: login_required"),
        ({"error": "Call+0900-1234"}, "the provider did not sign you in: an unknown error"),
    ],
)
def test_another_answer_than_the_providers_is_refused(
    browser: Browser, provider: OwnProvider, changes: dict[str, str], said: str
) -> None:
    assert said in failed(sign_in(browser, provider, **changes))
    assert provider.requests == []  # nobody was asked about it


def test_an_answer_counts_once_and_in_the_browser_that_asked(
    browser: Browser, provider: OwnProvider, start: Start
) -> None:
    asked = query_of(browser.get("/sign-in?page=/runs").header("location"))
    provider.nonce, address = asked["nonce"], f"/oauth2callback?code={CODE}&state={asked['state']}"

    assert "not begun in this browser" in failed(start().get(address))
    assert browser.get(address).status == 303
    assert "not begun in this browser" in failed(browser.get(address))


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (
            (401, {"error": "invalid_client", "error_description": SECRET}),
            "does not accept the console&#x27;s client id",
        ),
        ((400, {"error": "invalid_grant"}), "did not complete the sign-in: invalid_grant"),
        ((503, {}), "does not answer as it should"),
        ((200, b"<html>"), "does not answer as it should"),
        ((200, {"access_token": ACCESS, "token_type": "Bearer"}), "cannot be trusted"),
    ],
)
def test_what_goes_wrong_at_the_provider_is_a_sentence(
    browser: Browser, provider: OwnProvider, refusal: tuple[int, object], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    provider.refusal = refusal

    with caplog.at_level(logging.DEBUG, "aisbench_core"):
        answer = sign_in(browser, provider)

    assert said in failed(answer)
    for secret in (SECRET, ACCESS, CODE, "Traceback"):
        assert secret not in caplog.text
        assert secret not in answer.text
    assert "a sign-in failed" in caplog.text


@pytest.mark.parametrize(
    "metadata",
    [{"issuer": "https://evil.example"}, {"token_endpoint": None}, {"token_endpoint": "http://evil.example/token"}],
)
def test_metadata_of_another_provider_is_refused(
    browser: Browser, provider: OwnProvider, metadata: dict[str, Any]
) -> None:
    provider.metadata = metadata

    assert "does not describe itself as the issuer" in failed(browser.get("/sign-in?page=/runs"))


def test_a_provider_that_is_down_is_told_and_asked_again(browser: Browser, provider: OwnProvider) -> None:
    provider.stop()

    answer = browser.get("/sign-in?page=/runs")

    assert "does not answer as it should" in failed(answer)
    assert 'href="/sign-in?page=%2Fruns"' in answer.text


def test_a_provider_that_is_silent_keeps_only_a_few_waiting(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(AT_ONCE) as pool:
        browser = start(oidc_issuer=f"http://127.0.0.1:{silent.getsockname()[1]}")
        waiting = [pool.submit(browser.get, "/sign-in?page=/runs") for _ in range(AT_ONCE)]
        connections = [silent.accept()[0] for _ in waiting]

        answer = browser.get("/sign-in?page=/runs")

        for connection in connections:
            connection.close()
    assert (answer.status, "too many people sign in" in answer.text) == (503, True)
    assert {"does not answer as it should" in each.result().text for each in waiting} == {True}


# --- after the end of a session ---------------------------------------------------------------------------------


def test_after_a_session_ended_the_provider_has_to_ask_again(
    browser: Browser, provider: OwnProvider, core: Core
) -> None:
    first = query_of(browser.get("/sign-in?page=/runs").header("location"))
    sign_in(browser, provider)
    core.sign_ins.end(browser.cookies["aisbench_session"])
    provider.claims |= {"auth_time": LONG_AGO}

    again = query_of(browser.get("/sign-in?page=/runs").header("location"))

    assert "prompt" not in first
    assert (again["prompt"], again["max_age"]) == ("login", "0")
    assert browser.get("/runs").status == 401
    assert "without asking who you are" in failed(sign_in(browser, provider))
    provider.claims |= {"auth_time": int(time.time())}
    assert sign_in(browser, provider).status == 303

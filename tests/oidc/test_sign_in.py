"""Sign-in with OpenID Connect over HTTP: who is let in, with which role, and where it leads."""

import pytest

from aisbench_core.config.settings import Settings
from aisbench_core.model import Role
from aisbench_core.wiring import Core
from tests.actors import TESTER
from tests.oidc.browser import Browser, query_of, sign_in
from tests.oidc.conftest import Start
from tests.oidc.own_provider import ACCESS, CODE, SECRET, SUBJECT, OwnProvider

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


def test_the_page_says_that_a_session_has_ended(browser: Browser, provider: OwnProvider, core: Core) -> None:
    before = browser.get("/runs").text
    sign_in(browser, provider)
    core.sign_ins.end(browser.cookies["aisbench_session"])

    answer = browser.get("/runs")

    assert '<p role="alert">you are signed out</p><p>You sign in at' in answer.text
    assert "signed out" not in before
    assert '<p role="alert">您已退出登录</p>' in browser.get("/runs?lang=zh").text


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

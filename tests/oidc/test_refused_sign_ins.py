"""What is said when a provider errs, somebody cheats, or a session has ended."""

import logging
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from joserfc.jwk import OctKey, RSAKey

from aisbench_core.interfaces.web.oidc.sign_in import AT_ONCE
from aisbench_core.store.audit.audit import AuditQuery
from aisbench_core.wiring import Core
from tests.actors import TESTER
from tests.oidc.browser import Answer, Browser, query_of, sign_in
from tests.oidc.conftest import Start
from tests.oidc.own_provider import ACCESS, CLIENT_ID, CODE, SECRET, OwnProvider

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


def test_what_is_refused_is_in_the_audit_with_its_reason_and_without_what_was_sent(
    browser: Browser, provider: OwnProvider, core: Core
) -> None:
    provider.claims |= {"nonce": "of-another-sign-in"}
    for _ in range(3):
        failed(sign_in(browser, provider, error="access_denied"))
    failed(sign_in(browser, provider))

    entries = core.audit.entries(AuditQuery(change="session."), TESTER)

    assert [(entry.act.object, entry.act.outcome, entry.act.detail) for entry in reversed(entries)] == [
        ("127.0.0.1", "refused", "access was denied at the provider"),
        ("127.0.0.1", "refused", "the provider's ID token cannot be trusted: invalid_claim nonce"),
    ]
    assert CODE not in str(entries)


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"acr": "high", "amr": ["pwd", "otp"]}, ""),
        ({"acr": "high", "amr": ["otp", "mfa", "pwd"]}, ""),
        ({"amr": ["pwd", "otp"]}, "with acr none, but this console requires gold, high"),
        ({"acr": "low", "amr": ["pwd", "otp"]}, "with acr low, but this console requires gold, high"),
        ({"acr": ["high"], "amr": ["pwd", "otp"]}, "requires gold, high"),
        ({"acr": "high", "amr": ["pwd"]}, "with amr pwd, but this console requires otp"),
        ({"acr": "high", "amr": "pwd otp"}, "cannot be trusted: invalid_claim amr"),
        ({"acr": "high"}, "with amr none, but this console requires pwd, otp"),
    ],
)
def test_a_sign_in_that_is_not_strong_enough_is_refused(
    start: Start, provider: OwnProvider, claims: dict[str, Any], said: str
) -> None:
    browser = start(oidc_acr_values="gold high", oidc_amr_values="pwd otp")
    asked = query_of(browser.get("/sign-in?page=/runs").header("location"))
    provider.claims |= claims
    provider.user_info |= {"acr": "high", "amr": ["pwd", "otp"]}  # nobody signed these

    answer = sign_in(browser, provider)

    assert asked["acr_values"] == "gold high"
    if said:
        assert said in failed(answer)
    else:
        assert answer.status == 303


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


ODD_KEYS: list[object] = [
    {"kty": "EC", "crv": "P-999", "x": "AA", "y": "AA", "kid": "odd"},
    {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "kid": "odd"},
    {"kty": "OKP", "crv": "Future", "x": "AA", "kid": "odd"},
    {"kty": "RSA", "n": "%%", "e": "AQAB"},
    {"kty": ["RSA"]},
    {"kty": "of-the-future", "kid": "odd"},
    {},
    "no key",
    None,
]


def test_keys_of_kinds_that_nobody_knows_keep_nobody_out(browser: Browser, provider: OwnProvider) -> None:
    provider.odd_keys = ODD_KEYS

    assert sign_in(browser, provider).status == 303


@pytest.mark.parametrize("odd", [*ODD_KEYS, []])
def test_a_provider_without_a_key_that_fits_is_refused_with_a_sentence(
    browser: Browser, provider: OwnProvider, odd: object
) -> None:
    provider.keys, provider.odd_keys = [], [odd] if odd != [] else []

    assert "cannot be trusted" in failed(sign_in(browser, provider))


def test_the_other_endpoint_must_speak_of_the_same_person(browser: Browser, provider: OwnProvider) -> None:
    provider.claims = {}
    provider.user_info = {"sub": "s-2", "preferred_username": "root"}

    assert "returned two different users" in failed(sign_in(browser, provider))


@pytest.mark.parametrize("verified", [None, False, "true"])
def test_an_address_that_is_not_verified_is_nobodys_name(start: Start, provider: OwnProvider, verified: object) -> None:
    provider.claims = {"email": "root@example.org", "email_verified": verified, "groups": []}

    assert "has not verified your e-mail address" in failed(sign_in(start(oidc_name_claim="email"), provider))
    provider.claims |= {"email_verified": True}
    assert sign_in(start(oidc_name_claim="email"), provider).status == 303


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"state": "of-another-browser"}, "this sign-in was started in another browser"),
        ({"state": ""}, "this sign-in was started in another browser"),
        ({"code": ""}, "this answer does not come from the provider"),
        ({"iss": "https://evil.example"}, "this answer does not come from the provider"),
        ({"error": "access_denied"}, "access was denied at the provider"),
        ({"error": "login_required"}, "the provider refused the sign-in: login_required"),
        ({"error": "Call+0900-1234"}, "the provider refused the sign-in: an unknown error"),
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

    assert "started in another browser" in failed(start().get(address))
    assert browser.get(address).status == 303
    assert "started in another browser" in failed(browser.get(address))


def test_a_copied_cookie_does_not_complete_a_sign_in_again(browser: Browser, provider: OwnProvider) -> None:
    asked = query_of(browser.get("/sign-in?page=/runs").header("location"))
    provider.nonce, address = asked["nonce"], f"/oauth2callback?code={CODE}&state={asked['state']}"
    copied = dict(browser.cookies)
    assert browser.get(address).status == 303

    browser.cookies = copied

    assert "was completed before" in failed(browser.get(address))


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (
            (401, {"error": "invalid_client", "error_description": SECRET}),
            "does not accept the console&#x27;s client id",
        ),
        ((400, {"error": "invalid_grant"}), "did not complete the sign-in: invalid_grant"),
        ((503, {}), "unexpected answer from the identity provider"),
        ((200, b"<html>"), "unexpected answer from the identity provider"),
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

    assert "does not name the issuer" in failed(browser.get("/sign-in?page=/runs"))


def test_a_provider_that_is_down_is_told_and_asked_again(browser: Browser, provider: OwnProvider) -> None:
    provider.stop()

    answer = browser.get("/sign-in?page=/runs")

    assert "unexpected answer from the identity provider" in failed(answer)
    assert 'href="/sign-in?page=%2Fruns"' in answer.text


def test_a_provider_that_is_silent_keeps_only_a_few_waiting(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(AT_ONCE) as pool:
        browser = start(oidc_issuer=f"http://127.0.0.1:{silent.getsockname()[1]}")
        waiting = [pool.submit(browser.get, "/sign-in?page=/runs") for _ in range(AT_ONCE)]
        connections = [silent.accept()[0] for _ in waiting]

        answer = browser.get("/sign-in?page=/runs")

        for connection in connections:
            connection.close()
    assert (answer.status, "too many people are signing in" in answer.text) == (503, True)
    assert {"unexpected answer from the identity provider" in each.result().text for each in waiting} == {True}


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
    assert "the provider did not authenticate you again" in failed(sign_in(browser, provider))
    provider.claims |= {"auth_time": int(time.time())}
    assert sign_in(browser, provider).status == 303

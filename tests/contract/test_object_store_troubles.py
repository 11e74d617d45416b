"""How the ObjectStore tells a person what went wrong, and what it gets over by itself."""

import logging
import time
import traceback
from pathlib import Path

import pytest

from aisbench_core.base.errors import AccessDenied, AuthFailed, CloudError, CloudUnavailable
from aisbench_core.cloud.obs.objects import ObsStore
from aisbench_core.config.credentials import Credentials
from tests.contract.answering import answering
from tests.contract.region import Region, sandbox_region
from tests.sandbox_process import SandboxProcess

WRONG = "a-secret-that-is-wrong-0123456789"
WEB_PAGE = "<html><head><title>502 Bad\nGateway</title></head><body>" + "<p>squid</p>" * 500 + "</body></html>"


def obs(**fault: object) -> dict[str, object]:
    return {"service": "obs", "times": 99, **fault}


def store_with(place: Region, access_key: str = "", secret_key: str = "") -> ObsStore:
    keys = place.credentials
    credentials = Credentials.model_validate(
        {"access_key": access_key or keys.access_key, "secret_key": secret_key or keys.secret_key}
    )
    return ObsStore(place.profile, credentials, 4, 5.0)


def text_of(error: BaseException) -> str:
    """All that could be shown of an error: its text, its representation, its traceback and its causes."""
    return f"{error} {error!r} {''.join(traceback.format_exception(error))} {error.__context__!r}"


def test_a_wrong_secret_is_one_sentence_without_a_key(place: Region) -> None:
    with pytest.raises(AuthFailed) as raised:
        store_with(place, secret_key=WRONG).read(place.path("a"))

    assert (raised.value.status, raised.value.code) == (403, "SignatureDoesNotMatch")
    assert raised.value.request_id
    assert "check AISBENCH_AK and AISBENCH_SK" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert WRONG not in text_of(raised.value)
    assert place.credentials.access_key.get_secret_value() not in text_of(raised.value)


def test_an_unknown_access_key_is_not_repeated(place: Region) -> None:
    with pytest.raises(AuthFailed) as raised:
        store_with(place, access_key=WRONG).list(place.folder)

    assert raised.value.code == "InvalidAccessKeyId"
    assert WRONG not in text_of(raised.value)


def test_a_head_with_wrong_keys_is_refused_and_not_none(place: Region) -> None:
    with pytest.raises(AuthFailed, match="forbidden"):
        store_with(place, secret_key=WRONG).head(place.path("a"))


def test_one_hiccup_goes_unnoticed(place: Region, sandbox: SandboxProcess) -> None:
    place.objects.put(place.path("a"), b"content")

    for hiccup in ({"status": 503}, {"drop": "before"}, {"drop": "after"}):
        sandbox.faults(obs(**hiccup, times=1))
        assert place.objects.read(place.path("a")) == b"content"
        sandbox.faults(obs(**hiccup, times=1))
        place.objects.put(place.path("b"), b"more")
        assert place.objects.read(place.path("b")) == b"more"


@pytest.mark.parametrize("status", [500, 502, 503, 429, 408])
def test_a_service_in_trouble_is_unavailable(place: Region, sandbox: SandboxProcess, status: int) -> None:
    sandbox.faults(obs(status=status, code="SlowDown", message="Please reduce your request rate."))

    with pytest.raises(CloudUnavailable, match=r"Please reduce your request rate\.") as raised:
        place.objects.put(place.path("a"), b"")

    assert (raised.value.status, raised.value.code) == (status, "SlowDown")
    assert raised.value.request_id


@pytest.mark.parametrize("drop", ["before", "after"])
def test_a_connection_that_breaks_is_unavailable(place: Region, sandbox: SandboxProcess, drop: str) -> None:
    place.objects.put(place.path("a"), b"content")
    sandbox.faults(obs(drop=drop))

    for attempt in (
        lambda: place.objects.read(place.path("a")),
        lambda: place.objects.list(place.folder),
        lambda: place.objects.put(place.path("b"), b""),
        lambda: place.objects.head(place.path("a")),
    ):
        with pytest.raises(CloudUnavailable, match=r"the connection to .* failed"):
            attempt()


def test_a_content_that_changes_on_the_way_is_tried_again(place: Region, sandbox: SandboxProcess) -> None:
    sandbox.faults(obs(status=400, code="BadDigest", message="The Content-MD5 you specified did not match."))

    with pytest.raises(CloudUnavailable, match="the data was damaged in transit, or changed while it was read"):
        place.objects.put(place.path("a"), b"content")


def test_an_answer_that_takes_too_long_is_unavailable(sandbox: SandboxProcess) -> None:
    place = sandbox_region(sandbox, request_seconds=0.3)
    sandbox.faults(obs(delay_s=60))
    begun = time.monotonic()

    with pytest.raises(CloudUnavailable, match="no answer in time"):
        place.objects.read(place.path("a"))

    assert time.monotonic() - begun < 30


def test_a_web_page_is_shortened_to_a_sentence(place: Region, sandbox: SandboxProcess) -> None:
    sandbox.faults(obs(status=502, body=WEB_PAGE))

    with pytest.raises(CloudUnavailable, match="bad gateway") as raised:
        place.objects.list(place.folder)

    assert len(str(raised.value)) < 400
    assert "<" not in str(raised.value)


def test_a_web_page_is_never_taken_for_an_object(place: Region, sandbox: SandboxProcess, tmp_path: Path) -> None:
    sandbox.faults(obs(status=200, body=WEB_PAGE))

    for attempt in (
        lambda: place.objects.read(place.path("a")),
        lambda: place.objects.get(place.path("a"), tmp_path / "a"),
        lambda: place.objects.list(place.folder),
        lambda: place.objects.put(place.path("a"), b"content"),
        lambda: place.objects.head(place.path("a")),
        lambda: place.objects.delete_many([place.path("a")]),
    ):
        with pytest.raises(CloudUnavailable, match="sent an unexpected answer"):
            attempt()
    assert not list(tmp_path.iterdir())


def test_a_deletion_that_is_answered_for_some_objects_only_is_not_taken_for_done(
    place: Region, sandbox: SandboxProcess
) -> None:
    some = "<DeleteResult><Deleted><Key>a</Key></Deleted></DeleteResult>"
    sandbox.faults(obs(method="POST", status=200, body=some))

    with pytest.raises(CloudUnavailable, match="some objects are not confirmed"):
        place.objects.delete_many([place.path("a"), place.path("b")])


def test_an_object_that_obs_keeps_is_named(place: Region, sandbox: SandboxProcess) -> None:
    kept = "<Error><Key>dir/kept</Key><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
    answer = f"<DeleteResult><Deleted><Key>a</Key></Deleted>{kept}</DeleteResult>"
    sandbox.faults(obs(method="POST", status=200, body=answer))

    with pytest.raises(AccessDenied, match=f"delete /{place.profile.bucket}/dir/kept"):
        place.objects.delete_many([place.path("a"), place.path("kept")])


def test_nobody_at_the_address_is_said_with_the_address(place: Region) -> None:
    with answering(lambda _asked, _sent: (200, b"")) as gone:
        pass
    profile = place.profile.model_copy(update={"obs_server": gone.url})

    with pytest.raises(CloudUnavailable, match=f"OBS at {gone.url} cannot be reached: nothing is listening there"):
        ObsStore(profile, place.credentials, 4, 5.0).list(place.folder)


def test_an_address_that_does_not_exist_is_said(place: Region) -> None:
    profile = place.profile.model_copy(update={"obs_server": "https://obs.nowhere.invalid"})

    with pytest.raises(CloudUnavailable, match="the name is unknown"):
        ObsStore(profile, place.credentials, 4, 5.0).list(place.folder)


def test_after_the_first_failure_of_many_nothing_more_is_sent(
    place: Region, sandbox: SandboxProcess, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"x")
    sandbox.faults(obs(status=403, code="AccessDenied", message="Access Denied"))
    pairs = [(place.path(f"{number:03}"), tmp_path / "file") for number in range(2000)]

    with pytest.raises(AuthFailed):
        place.objects.put_many(pairs, lambda _done, _total: None)

    assert sandbox.requests()["obs"]["PUT"] < 400  # what is under way when the first answer is read, on a busy machine


def test_connections_that_were_closed_meanwhile_are_opened_again(place: Region, sandbox: SandboxProcess) -> None:
    paths = [place.path(f"{number}") for number in range(64)]
    for path in paths:
        place.objects.put(path, b"x")
    place.objects.read_many(paths)
    sandbox.restart()

    found = place.objects.read_many(paths)

    assert len(found) == 64


def test_a_proxy_does_not_come_between_this_machine_and_itself(place: Region, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    by_name = place.profile.obs_server.replace("127.0.0.1", "localhost")
    named = ObsStore(place.profile.model_copy(update={"obs_server": by_name}), place.credentials, 4, 5.0)

    named.put(place.path("a"), b"content")

    assert place.objects.read(place.path("a")) == b"content"


def test_a_real_region_is_reached_through_the_proxy(place: Region, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = place.profile.model_copy(update={"obs_server": "https://obs.nowhere.invalid"})

    with answering(lambda _asked, _sent: (403, b"")) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        with pytest.raises(CloudUnavailable, match="the proxy refused the connection"):
            ObsStore(profile, place.credentials, 4, 5.0).list(place.folder)

    assert proxy.asked
    assert set(proxy.asked) == {"CONNECT sandbox-bench.obs.nowhere.invalid:443"}


def test_a_certificate_is_checked_against_the_name_unless_the_profile_says_otherwise(place: Region) -> None:
    strict = place.profile.model_copy(update={"obs_server": "https://obs.nowhere.invalid"})
    loose = strict.model_copy(update={"verify_tls": False})

    checks = [ObsStore(profile, place.credentials, 1, 5.0)._client.context for profile in (strict, loose)]

    assert [context.check_hostname for context in checks] == [True, False]
    assert [bool(context.verify_mode) for context in checks] == [True, False]
    assert checks[0].cert_store_stats()["x509_ca"] > 0


def test_the_sdk_keeps_quiet(
    place: Region, sandbox: SandboxProcess, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    place.objects.put(place.path("a"), b"content")
    sandbox.faults(obs(status=503))

    with pytest.raises(CloudError):
        place.objects.read(place.path("a"))

    assert capfd.readouterr() == ("", "")
    assert not caplog.records

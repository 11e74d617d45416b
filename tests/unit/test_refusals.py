"""What the cloud's codes mean to a person."""

import itertools
from pathlib import Path

import pytest

from aisbench_core.base.errors import (
    AccessDenied,
    AuthFailed,
    CloudError,
    CloudNotFound,
    CloudRejected,
    CloudUnavailable,
    JobGone,
    JobNameTaken,
    QuotaExceeded,
)
from aisbench_core.cloud.refusals import TABLE, Refusals, row_for
from aisbench_core.config.credentials import Credentials

ACCESS, SECRET, TOKEN = "ACCESSKEY0123456789", "secret/key+0123456789", "a-token-0123456789"


@pytest.fixture
def refusals() -> Refusals:
    keys = {"access_key": ACCESS, "secret_key": SECRET, "security_token": TOKEN}
    return Refusals("OBS", "https://obs.example", Credentials.model_validate(keys))


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, "APIGW.0301", AuthFailed),
        (401, "", AuthFailed),
        (403, "RequestTimeTooSkewed", AuthFailed),
        (403, "SignatureDoesNotMatch", AuthFailed),
        (403, "never heard of", AccessDenied),
        (404, "ModelArts.2786", AuthFailed),
        (400, "ModelArts.2775", JobGone),
        (400, "ModelArts.0103", JobNameTaken),
        (404, "NoSuchKey", CloudNotFound),
        (404, "", CloudNotFound),
        (400, "ModelArts.0118", QuotaExceeded),
        (403, "InsufficientStorageSpace", QuotaExceeded),
        (429, "ModelArts.2799", CloudUnavailable),
        (429, "", CloudUnavailable),
        (400, "RequestTimeout", CloudUnavailable),
        (409, "OperationAborted", CloudUnavailable),
        (500, "ModelArts.2950", CloudUnavailable),
        (503, "", CloudUnavailable),
        (599, "", CloudUnavailable),
        (400, "ModelArts.2763", CloudRejected),
        (409, "ModelArts.2796", CloudRejected),
        (301, "", CloudRejected),
        (400, "", CloudRejected),
        (None, "", CloudRejected),
    ],
)
def test_a_code_tells_more_than_a_status_and_a_status_more_than_nothing(
    refusals: Refusals, status: int | None, code: str, kind: type[CloudError]
) -> None:
    assert type(refusals.make_refusal("do it", status, code, "", "")) is kind


def test_every_row_says_what_to_do_and_no_code_stands_twice() -> None:
    codes = [code for row in TABLE for code in row.codes.split()]
    statuses = [status for row in TABLE for status in row.statuses]

    assert len(codes) == len(set(codes))
    assert len(statuses) == len(set(statuses))
    assert all(row.hint and (row.codes or row.statuses) for row in TABLE)


def test_the_clock_has_a_hint_of_its_own() -> None:
    assert "clock" in row_for(403, "RequestTimeTooSkewed").hint


def test_the_sentence_holds_all_that_support_will_ask_for(refusals: Refusals) -> None:
    error = refusals.make_refusal("read /b/k", 404, "NoSuchKey", "The specified key\n does not exist.", "REQ-1")

    assert str(error) == (
        "read /b/k: OBS at https://obs.example refused it: The specified key does not exist. "
        "[HTTP 404, NoSuchKey, request REQ-1] (check the path; names are case-sensitive)"
    )


def test_no_text_of_ours_repeats_a_key(refusals: Refusals) -> None:
    said = f"ak:{ACCESS} sk:{SECRET} token:{TOKEN}"

    for error in (
        refusals.make_refusal("do it", 403, "AccessDenied", said, ""),
        refusals.unreachable("do it", OSError(said)),
        refusals.make_unavailable("do it", 200, said),
    ):
        assert "ak:… sk:… token:…" in str(error)


def test_a_long_story_is_cut(refusals: Refusals) -> None:
    assert len(refusals.make_refusal("do it", 400, "", "word " * 1000, "").message) < 400


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("<html><head><title>Sign\nin</title></head><body>x</body></html>", 'a web page titled "Sign in"'),
        ("<!DOCTYPE html><html><body><h1>504 <b>Gateway</b></h1></body>", 'a web page titled "504 Gateway"'),
        ("<HTML><BODY>nothing</BODY></HTML>", "a web page"),
        ("a < b and c > d", "a < b and c > d"),
    ],
)
def test_a_web_page_becomes_a_few_words(refusals: Refusals, page: str, said: str) -> None:
    assert refusals.make_unavailable("do it", 200, page).message.endswith(f": {said}")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "nothing is listening there"),
        (TimeoutError("timed out"), "no answer in time"),
        (OSError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"), "its certificate is not trusted"),
        (OSError("Temporary failure in name resolution"), "the name is unknown"),
        (OSError("Network is unreachable"), "there is no route to it"),
        (
            OSError("Connection reset by peer"),
            "the connection to OBS at https://obs.example failed: Connection reset by peer",
        ),
        (OSError(), "failed: OSError"),
    ],
)
def test_what_stands_in_the_way_is_said_in_a_few_words(refusals: Refusals, error: OSError, said: str) -> None:
    assert said in refusals.unreachable("do it", error).message


def test_the_documentation_tells_every_row() -> None:
    written = (Path(__file__).parents[2] / "docs" / "cloud.md").read_text("utf-8")

    assert _documented() in written, f"to be pasted into docs/cloud.md:\n{_documented()}"


def _documented() -> str:
    """A list for each error: codes and statuses with their hint."""
    lines = []
    for error, rows in itertools.groupby(TABLE, key=lambda row: row.error):
        lines.append(f"\n**{error.__name__}**\n\n")
        for row in rows:
            statuses = f"{row.statuses[0]}–{row.statuses[-1]}" if len(row.statuses) > 9 else row.statuses
            shown = [statuses] if isinstance(statuses, str) else [str(status) for status in statuses]
            lines.append(f"* {', '.join([*(f'`{code}`' for code in row.codes.split()), *shown])}: {row.hint}\n")
    return "".join(lines)

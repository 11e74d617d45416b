"""Translates the cloud's codes and statuses to our errors, with a hint for each."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

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
from aisbench_core.base.messages import Hint, Message, join_parts
from aisbench_core.config.credentials import Credentials

LONGEST_MESSAGE = 300
LONGEST_TITLE = 250

ENDED_ALREADY = frozenset({"ModelArts.2796"})
# No log or metric exists yet, or the log was deleted.
NOTHING_YET = frozenset({"ModelArts.2776", "ModelArts.2777", "ModelArts.2818", "ModelArts.2819"})


class Ignoring:
    """A context manager that suppresses refusals with one of these codes."""

    def __init__(self, codes: Collection[str]) -> None:
        self._codes = codes

    def __enter__(self) -> None:
        pass

    # Not @contextmanager: only `-> bool` tells mypy that the code after the block is reached.
    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> bool:
        return isinstance(error, CloudRejected) and error.code in self._codes


@dataclass(frozen=True, slots=True)
class Refusal:
    """The error and hint for some codes (OBS: words, ModelArts: numbers) or HTTP statuses."""

    error: type[CloudError]
    hint: Hint
    codes: str = ""
    statuses: tuple[int, ...] = ()


MOST_HTML = 64 * 1024  # characters of a web page in which to look for its title

_TITLE = re.compile(r"<(title|h1)[^<>]*+>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]++>")

_KEYS = Message("check AISBENCH_AK and AISBENCH_SK (or the profile's credentials file) and this machine's clock")
_RIGHTS = Message(
    "the keys are valid but lack a permission: ask the account's administrator, and check "
    "that the account is not in arrears"
)
_CLOCK = Message("this machine's clock is more than 15 minutes off: set it")
_AGAIN = Message("runs retry automatically; try anything else again later")


def _add_retry_hint(reason: Message) -> Message:
    return join_parts("; ", [reason, _AGAIN])


_INTERNAL_ERROR = _add_retry_hint(Message("the service has an internal error"))

# By error: the hint, the codes that it is for, and the statuses.
_ROWS: Mapping[type[CloudError], Sequence[tuple[Hint, str, Iterable[int]]]] = {
    AuthFailed: [
        (_CLOCK, "RequestTimeTooSkewed", ()),
        (_KEYS, "InvalidAccessKeyId SignatureDoesNotMatch InvalidSecurity InvalidToken ExpiredToken", ()),
        (_KEYS, "APIGW.0301 APIG.0301 0201 0202 0203 0206 5001 5002", (401,)),
        (Message("check project_id in the profile: it is not the keys' project in that region"), "0210 2786", ()),
    ],
    AccessDenied: [(_RIGHTS, "AccessDenied AllAccessDisabled AccountProblem NotSignedUp 0108 0112 2784 2785", (403,))],
    CloudNotFound: [
        (Message("check `bucket` and `obs_server` in the profile: is the bucket in that region?"), "NoSuchBucket", ()),
        (Message("check the path; names are case-sensitive"), "NoSuchKey NoSuchUpload", ()),
        (Message("check pool_id: there is no such pool in this project"), "2890", ()),
        (Message("check the name and the profile's region"), "", (404, 410)),
    ],
    JobGone: [(Message("the job was deleted, or it is in another project or region"), "2775 0105", ())],
    JobNameTaken: [(Message("another job has this name: choose a different one"), "2751 0103", ())],
    QuotaExceeded: [
        (
            Message("delete what is not needed, or ask for a higher quota"),
            "InsufficientStorageSpace TooManyBuckets",
            (),
        ),
        (Message("wait for other jobs to end, delete old ones, or ask for a higher quota"), "0118 2815", ()),
    ],
    CloudUnavailable: [
        (_add_retry_hint(Message("too many requests")), "SlowDown 2799", (429,)),
        (_INTERNAL_ERROR, "2950 2951 2952 2953 2954 2955 2956 2957 2958 2959", ()),
        (
            _add_retry_hint(Message("the data was damaged in transit, or changed while it was read")),
            "BadDigest IncompleteBody",
            (),
        ),
        (_add_retry_hint(Message("another operation was in progress")), "OperationAborted 2878", ()),
        (_AGAIN, "RequestTimeout ServiceUnavailable InternalError", (408, 425)),
        (Message("a proxy requires authentication: check HTTPS_PROXY and NO_PROXY"), "", (407,)),
    ],
    # Mostly invalid jobs: the cloud's messages are often generic, so the hints say what to check.
    CloudRejected: [
        (Message("the account or the resource is frozen: check its bills in the cloud's console"), "2837", ()),
        (Message("check the inputs and outputs: each needs a unique name and an OBS directory"), "2753 2854", ()),
        (
            Message("check that code_dir and boot_file are in OBS, and the boot file is inside code_dir"),
            "2757 2758 2792",
            (),
        ),
        (Message("code is limited to 1,000 files, 5 GB and 32 levels: move data to an input"), "2759 2760 2761", ()),
        (Message("choose a flavor of this region, and at most as many nodes as it offers"), "2763 2781 2793", ()),
        (Message("choose an engine of this region that runs on the flavor"), "2780 2840 2839", ()),
        (Message("two parameters have the same name"), "2767", ()),
        (Message("an OBS path must exist and directories end with /"), "2791", ()),
        (Message("the job has ended or is ending already"), "2796", ()),
        (
            Message("a custom image needs an SWR address that this account can pull, and a command"),
            "2806 2810 2845",
            (),
        ),
        (Message("set log_path to an OBS directory"), "2822", ()),
        (Message("check pool_id: the pool must be running and support training"), "2886 2887 2889", ()),
        (Message("check workspace_id in the profile"), "0102 2891", ()),
        (Message("it is elsewhere: check the addresses and the region in the profile"), "", range(300, 400)),
    ],
}
TABLE = tuple(
    Refusal(error, hint, codes, tuple(statuses)) for error, rows in _ROWS.items() for hint, codes, statuses in rows
)
_BY_CODE = {code: row for row in TABLE for code in row.codes.split()}
_BY_STATUS = {status: row for row in TABLE for status in row.statuses}
_SERVER_ERROR = Refusal(CloudUnavailable, _INTERNAL_ERROR)
_OTHER = Refusal(CloudRejected, "")

_UNKNOWN_NAME = (Message("the name is unknown"), Message("check the profile's addresses, the network and the proxy"))
_PROXY = (Message("the proxy refused the connection"), Message("check HTTPS_PROXY and NO_PROXY"))
_UNREACHABLE = (
    (
        "refused",
        Message("nothing is listening there"),
        Message("check the profile's addresses; is the sandbox running?"),
    ),
    ("timed out", Message("no answer in time"), Message("check the network and the proxy, or raise request_seconds")),
    (
        "certificate",
        Message("its certificate is not trusted"),
        Message("check the address, or verify_tls for a private cloud"),
    ),
    # of Linux, macOS and musl
    ("Name or service not known", *_UNKNOWN_NAME),
    ("nodename nor servname", *_UNKNOWN_NAME),
    ("name resolution", *_UNKNOWN_NAME),
    ("unreachable", Message("there is no route to it"), Message("check the network and the proxy")),
    ("Tunnel connection failed", *_PROXY),
    ("proxy", *_PROXY),
)


def row_for(status: int | None, code: str) -> Refusal:
    """The row by code, else by status, else by class of status."""
    row = _BY_CODE.get(code.removeprefix("ModelArts.")) or _BY_STATUS.get(status or 0)
    if row:
        return row
    return _SERVER_ERROR if status and status >= HTTPStatus.INTERNAL_SERVER_ERROR else _OTHER


class Refusals:
    """Creates errors for one service at one address. Their texts contain no keys, even where the cloud repeats them."""

    def __init__(self, service: str, address: str, credentials: Credentials) -> None:
        self._service = Message("{service} at {address}", service=service, address=address)
        self._secrets = tuple(
            secret.get_secret_value()
            for secret in (credentials.access_key, credentials.secret_key, credentials.security_token)
            if secret and secret.get_secret_value()
        )

    def make_refusal(self, operation: str, status: int | None, code: str, message: str, request_id: str) -> CloudError:
        row = row_for(status, code)
        reason = self._clean_text(message) or _get_phrase(status)
        sentence = Message("{place} refused it: {reason}", place=self._service, reason=reason)
        return row.error(sentence, operation=operation, status=status, code=code, request_id=request_id, hint=row.hint)

    def unreachable(self, operation: str, error: BaseException) -> CloudUnavailable:
        text = str(error)
        for pattern, reason, hint in _UNREACHABLE:
            if pattern.casefold() in text.casefold():
                message = Message("{place} cannot be reached: {reason}", place=self._service, reason=reason)
                return CloudUnavailable(message, operation=operation, hint=hint)
        ours = next((arg for arg in error.args if isinstance(arg, Message)), None)
        message = Message(
            "the connection to {place} failed: {reason}",
            place=self._service,
            reason=ours or self._clean_text(text) or type(error).__name__,
        )
        return CloudUnavailable(message, operation=operation, hint=_AGAIN)

    def make_unavailable(self, operation: str, status: int | None, text: str) -> CloudUnavailable:
        """The error for an answer that is not the cloud's, but often a proxy's or a sign-in page.

        It counts as unavailable, so that a running job is not given up because of it."""
        answer = text if isinstance(text, Message) else self._clean_text(text)
        message = Message(
            "{place} sent an unexpected answer: {found}", place=self._service, found=answer or Message("nothing")
        )
        hint = Message("check the profile's addresses and the proxy")
        return CloudUnavailable(message, operation=operation, status=status, hint=hint)

    def _clean_text(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return _web_page(text) or _shorten_text(text, LONGEST_MESSAGE)


def _web_page(text: str) -> Message | None:
    """A description of a web page; None if the text is none."""
    if not re.search(r"<(!doctype )?html|<body|<head", text[:2000], re.IGNORECASE):
        return None
    opened = _TITLE.search(text[:MOST_HTML])
    title, closed, _ = text[opened.end() : MOST_HTML].partition("</") if opened else ("", "", "")
    if not closed:
        return Message("a web page")
    return Message('a web page titled "{title}"', title=_shorten_text(_TAG.sub("", title), LONGEST_TITLE))


def _shorten_text(text: str, most: int) -> str:
    words = " ".join(text.split())
    return words if len(words) <= most else words[: most - 1] + "…"


def _get_phrase(status: int | None) -> str:
    try:
        return HTTPStatus(status or 0).phrase.lower()
    except ValueError:
        return Message("without a reason")

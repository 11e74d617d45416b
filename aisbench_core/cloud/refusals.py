"""What the cloud's refusals mean: one table from its codes and statuses to our errors, with a hint for a person."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus

from aisbench_core.errors import (
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
from aisbench_core.messages import Message, joined
from aisbench_core.settings import Credentials

LONGEST_MESSAGE = 300
LONGEST_TITLE = 250


@dataclass(frozen=True, slots=True)
class Refusal:
    """One row: the codes (OBS: words, ModelArts: numbers) or statuses that mean the same to a person."""

    error: type[CloudError]
    hint: str
    codes: str = ""
    statuses: tuple[int, ...] = ()


MOST_HTML = 64 * 1024
"""What is looked at of a web page that came in place of an answer, in characters; its title stands at its beginning."""

_TITLE = re.compile(r"<(title|h1)[^<>]*+>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]++>")

_KEYS = Message("check AISBENCH_AK and AISBENCH_SK (or the profile's credentials file) and this machine's clock")
_RIGHTS = Message(
    "the keys are known but lack a right: ask the account's administrator, and check that the account is paid up"
)
_CLOCK = Message("this machine's clock is more than 15 minutes off: set it")
_AGAIN = Message("it is tried again by itself")

TABLE = (
    # OBS and ModelArts say who we are
    Refusal(AuthFailed, _CLOCK, "RequestTimeTooSkewed"),
    Refusal(AuthFailed, _KEYS, "InvalidAccessKeyId SignatureDoesNotMatch InvalidSecurity InvalidToken ExpiredToken"),
    Refusal(AuthFailed, _KEYS, "APIGW.0301 APIG.0301 0201 0202 0203 0206 5001 5002", (401,)),
    Refusal(
        AuthFailed, Message("check project_id in the profile: it is not the keys' project in that region"), "0210 2786"
    ),
    Refusal(
        AccessDenied, _RIGHTS, "AccessDenied AllAccessDisabled AccountProblem NotSignedUp 0108 0112 2784 2785", (403,)
    ),
    Refusal(
        CloudRejected,
        Message("the account or the resource is frozen: look at its bills in the cloud's console"),
        "2837",
    ),
    # what we speak of
    Refusal(
        CloudNotFound,
        Message("check `bucket` and `obs_server` in the profile: is the bucket in that region?"),
        "NoSuchBucket",
    ),
    Refusal(CloudNotFound, Message("check the path; names are case-sensitive"), "NoSuchKey NoSuchUpload"),
    Refusal(JobGone, Message("the job was deleted, or it lies in another project or region"), "2775 0105"),
    Refusal(CloudNotFound, Message("check pool_id: there is no such pool in this project"), "2890"),
    Refusal(CloudNotFound, Message("check the name and the profile's region"), statuses=(404, 410)),
    # too much
    Refusal(
        QuotaExceeded,
        Message("delete what is not needed, or ask for a higher quota"),
        "InsufficientStorageSpace TooManyBuckets",
    ),
    Refusal(QuotaExceeded, Message("let other jobs end, delete old ones, or ask for a higher quota"), "0118 2815"),
    # what passes by itself
    Refusal(CloudUnavailable, joined("; ", [Message("too many requests"), _AGAIN]), "SlowDown 2799", (429,)),
    Refusal(
        CloudUnavailable,
        joined("; ", [Message("the service has trouble of its own"), _AGAIN]),
        "2950 2951 2952 2953 2954 2955 2956 2957 2958 2959",
    ),
    Refusal(
        CloudUnavailable,
        joined("; ", [Message("it changed on the way or while it was read"), _AGAIN]),
        "BadDigest IncompleteBody",
    ),
    Refusal(
        CloudUnavailable,
        joined("; ", [Message("something else happened at the same time"), _AGAIN]),
        "OperationAborted 2878",
    ),
    Refusal(CloudUnavailable, _AGAIN, "RequestTimeout ServiceUnavailable InternalError", (408, 425)),
    Refusal(
        CloudUnavailable,
        Message("a proxy stands between here and the cloud: check HTTPS_PROXY and NO_PROXY"),
        statuses=(407,),
    ),
    # what a job must be like
    Refusal(JobNameTaken, Message("another job has this name: choose a different one"), "2751 0103"),
    Refusal(
        CloudRejected,
        Message("check the inputs and outputs: each needs a name of its own and an OBS directory"),
        "2753 2854",
    ),
    Refusal(
        CloudRejected,
        Message("check that code_dir and boot_file are in OBS and the boot file lies inside"),
        "2757 2758 2792",
    ),
    Refusal(
        CloudRejected, Message("code may hold 1,000 files, 5 GB and 32 levels: move data to an input"), "2759 2760 2761"
    ),
    Refusal(
        CloudRejected,
        Message("choose a flavor of this region, and no more nodes than it has"),
        "2763 2781 2793",
    ),
    Refusal(CloudRejected, Message("choose an engine of this region that runs on the flavor"), "2780 2840 2839"),
    Refusal(CloudRejected, Message("two parameters have the same name"), "2767"),
    Refusal(CloudRejected, Message("an OBS path must exist and directories end with /"), "2791"),
    Refusal(CloudRejected, Message("the job has ended or is ending already"), "2796"),
    Refusal(
        CloudRejected,
        Message("a custom image needs an SWR address that this account can pull, and a command"),
        "2806 2810 2845",
    ),
    Refusal(CloudRejected, Message("set log_path to an OBS directory"), "2822"),
    Refusal(CloudRejected, Message("check pool_id: the pool must be running and made for training"), "2886 2887 2889"),
    Refusal(CloudRejected, Message("check workspace_id in the profile"), "0102 2891"),
    Refusal(
        CloudRejected,
        Message("it lies elsewhere: check the addresses and the region in the profile"),
        statuses=tuple(range(300, 400)),
    ),
)
_BY_CODE = {code: row for row in TABLE for code in row.codes.split()}
_BY_STATUS = {status: row for row in TABLE for status in row.statuses}
_SERVER_TROUBLE = Refusal(CloudUnavailable, joined("; ", [Message("the service has trouble of its own"), _AGAIN]))
_OTHERWISE = Refusal(CloudRejected, "")

_OBSTACLES = (
    ("refused", Message("nothing listens there"), Message("check the profile's addresses; is the sandbox running?")),
    ("timed out", Message("no answer in time"), Message("check the network and the proxy, or raise request_seconds")),
    (
        "certificate",
        Message("its certificate is not trusted"),
        Message("check the address, or verify_tls for a private cloud"),
    ),
    (
        "Name or service not known",
        Message("the name is unknown"),
        Message("check the profile's addresses, the network and the proxy"),
    ),
    (
        "nodename nor servname",
        Message("the name is unknown"),
        Message("check the profile's addresses, the network and the proxy"),
    ),
    (
        "name resolution",
        Message("the name is unknown"),
        Message("check the profile's addresses, the network and the proxy"),
    ),
    ("unreachable", Message("there is no way to it"), Message("check the network and the proxy")),
    (
        "Tunnel connection failed",
        Message("the proxy does not let us through"),
        Message("check HTTPS_PROXY and NO_PROXY"),
    ),
    ("proxy", Message("the proxy does not let us through"), Message("check HTTPS_PROXY and NO_PROXY")),
)


def row_for(status: int | None, code: str) -> Refusal:
    """The table's row: by code, else by status, else by the kind of status."""
    known = _BY_CODE.get(code.removeprefix("ModelArts.")) or _BY_STATUS.get(status or 0)
    if known:
        return known
    return _SERVER_TROUBLE if status and status >= HTTPStatus.INTERNAL_SERVER_ERROR else _OTHERWISE


class Refusals:
    """Makes our errors for one service at one address; no text of theirs holds a key."""

    def __init__(self, service: str, address: str, credentials: Credentials) -> None:
        self._place = Message("{service} at {address}", service=service, address=address)
        self._secrets = tuple(_secrets(credentials))

    def refused(self, operation: str, status: int | None, code: str, message: str, request_id: str) -> CloudError:
        """The cloud answered, and said no."""
        row = row_for(status, code)
        said = self._sentence(message) or _phrase(status)
        return row.error(
            Message("{place} refused it: {reason}", place=self._place, reason=said),
            operation=operation,
            status=status,
            code=code,
            request_id=request_id,
            hint=row.hint,
        )

    def unreachable(self, operation: str, error: BaseException) -> CloudUnavailable:
        """The cloud did not answer."""
        text = str(error)
        for sign, sentence, hint in _OBSTACLES:
            if sign.casefold() in text.casefold():
                what = Message("{place} cannot be reached: {reason}", place=self._place, reason=sentence)
                return CloudUnavailable(what, operation=operation, hint=hint)
        ours = next((arg for arg in error.args if isinstance(arg, Message)), None)
        reason = ours or self._sentence(text) or type(error).__name__
        what = Message("{place} broke off: {reason}", place=self._place, reason=reason)
        return CloudUnavailable(what, operation=operation, hint=_AGAIN)

    def garbled(self, operation: str, status: int | None, text: str) -> CloudUnavailable:
        """Something answered that does not speak as the cloud does: often a proxy or a sign-in page.

        It counts as unavailable: a job that runs is never given up because a page came between."""
        found = text if isinstance(text, Message) else self._sentence(text)
        found = found or Message("nothing")
        return CloudUnavailable(
            Message("{place} answered in a form that it never uses: {found}", place=self._place, found=found),
            operation=operation,
            status=status,
            hint=Message("check the profile's addresses and the proxy"),
        )

    def _sentence(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return _web_page(text) or _shortened(text, LONGEST_MESSAGE)


def _secrets(credentials: Credentials) -> Iterable[str]:
    for secret in (credentials.access_key, credentials.secret_key, credentials.security_token):
        if secret and secret.get_secret_value():
            yield secret.get_secret_value()


def _web_page(text: str) -> Message | None:
    """What is told of a web page in place of its text; None where the text is none."""
    if not re.search(r"<(!doctype )?html|<body|<head", text[:2000], re.IGNORECASE):
        return None
    opened = _TITLE.search(text[:MOST_HTML])
    title, closed, _ = text[opened.end() : MOST_HTML].partition("</") if opened else ("", "", "")
    if not closed:
        return Message("a web page")
    return Message('a web page titled "{title}"', title=_shortened(_TAG.sub("", title), LONGEST_TITLE))


def _shortened(text: str, most: int) -> str:
    words = " ".join(text.split())
    return words if len(words) <= most else words[: most - 1] + "…"


def _phrase(status: int | None) -> str:
    try:
        return HTTPStatus(status or 0).phrase.lower()
    except ValueError:
        return Message("without a reason")

"""Calls of the package `modelarts`: our values or our errors back, whichever way it fails."""

import json
import re
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, TypeVar

from aisbench_core.cloud.modelarts_package.sdk_process import SdkProcess
from aisbench_core.cloud.refusals import Refusals
from aisbench_core.errors import AisbenchError, CloudRejected, ConfigError
from aisbench_core.messages import Message
from aisbench_core.sdk_package import INSTALL, is_installed, place_of, python_of
from aisbench_core.settings import Credentials, Profile

PROCESSES = 4
"""Calls at once; each has a process of its own, because the package keeps the account and addresses in globals."""

START_SECONDS = 30.0
"""How long the package may take to load; it brings much along."""

_CODE = re.compile(r"\b(?:ModelArts|APIGW|APIG)\.[0-9]+\b")
_STATUS = re.compile(r"\(([45][0-9]{2})\)|\b(?:status|code)\W{1,3}([45][0-9]{2})\b", re.IGNORECASE)

Value = TypeVar("Value")


class MissingFeature(CloudRejected):
    """The installed package does not have what the documents say."""


class SdkCalls:
    """Lends processes to threads. None is started before the first call."""

    def __init__(self, profile: Profile, credentials: Credentials, request_seconds: float) -> None:
        """`request_seconds`: time-out of one call."""
        self._profile = profile
        self._credentials = credentials
        self._seconds = request_seconds
        self._refusals = Refusals("ModelArts", profile.training_endpoint, credentials)
        self._room = threading.BoundedSemaphore(PROCESSES)
        self._guard = threading.Lock()
        self._idle: list[SdkProcess] = []
        weakref.finalize(self, _end, self._idle)

    def ask(self, operation: Message, call: str, parse: Callable[[Any], Value], **arguments: Any) -> Value:
        """What `parse` makes of the answer to a call of `sdk_worker.Sdk`. It is tried once.

        Raises ConfigError when the package cannot be used here, Lacking when it has no such call."""
        with self._lent(operation) as process:
            reply = self._answer(operation, process, {"call": call, **arguments}, self._seconds)
        if isinstance(reply, Mapping) and _says_no(reply):
            message = str(reply.get("error_msg") or reply.get("error_message") or "")
            code = str(reply.get("error_code") or "")
            raise self._refusals.refused(operation, None, code, message, "")
        try:
            return parse(reply)
        except (AttributeError, KeyError, OverflowError, OSError, TypeError, ValueError) as error:
            raise self._refusals.garbled(operation, None, f"{type(error).__name__}: {error}") from error

    @contextmanager
    def _lent(self, operation: Message) -> Iterator[SdkProcess]:
        """A process that works; it goes back when nothing was raised, or when it answered."""
        if not self._room.acquire(timeout=self._seconds):
            raise self._refusals.unreachable(operation, TimeoutError("timed out: too many calls at once"))
        try:
            process = self._taken() or self._started(operation)
            try:
                yield process
            finally:
                if process.is_alive:
                    with self._guard:
                        self._idle.append(process)
        finally:
            self._room.release()

    def _taken(self) -> SdkProcess | None:
        with self._guard:
            while self._idle:
                process = self._idle.pop()
                if process.is_alive:
                    return process
                process.end()
        return None

    def _started(self, operation: Message) -> SdkProcess:
        opening = self._opening()
        python = python_of(self._profile)
        try:
            process = SdkProcess(python)
        except OSError as error:
            what = Message("{program} cannot be started: {reason}", program=python, reason=error.strerror)
            raise ConfigError(what, Message("check sdk_venv in the profile")) from None
        try:
            self._answer(operation, process, opening, max(self._seconds, START_SECONDS))
        except AisbenchError:
            process.end()
            raise
        return process

    def _opening(self) -> Mapping[str, Any]:
        profile, keys = self._profile, self._credentials
        if not is_installed(profile):
            place = place_of(profile)
            raise ConfigError(
                Message("api sdk needs the package modelarts, which is not in {place}", place=place), INSTALL
            )
        if keys.security_token:
            raise ConfigError(
                Message("api sdk takes no temporary keys: the package's Session has no security token"),
                Message("use permanent keys, or set api: v2"),
            )
        session = {
            "access_key": keys.access_key.get_secret_value(),
            "secret_key": keys.secret_key.get_secret_value(),
            "project_id": profile.project_id,
            "region_name": profile.region,
        }
        return {"keys": session, "endpoints": _endpoints(profile)}

    def _answer(self, operation: Message, process: SdkProcess, request: Mapping[str, Any], seconds: float) -> Any:
        try:
            reply = process.ask(request, seconds)
        except OSError as error:
            raise self._refusals.unreachable(operation, error) from error
        if "failure" in reply:
            raise self._trouble(operation, reply["failure"])
        return reply["value"]

    def _trouble(self, operation: Message, failure: Mapping[str, Any]) -> AisbenchError:
        """Our error for what the package raised."""
        said = f"{failure['text']} {failure['body']}".strip()
        if failure["unloadable"]:
            what = Message(
                "the package modelarts in {place} cannot be loaded: {reason}",
                place=place_of(self._profile),
                reason=failure["text"],
            )
            return ConfigError(what, INSTALL)
        if failure["lacking"]:
            return MissingFeature(
                Message("the installed package modelarts is not as documented: {reason}", reason=failure["text"]),
                operation=operation,
                hint=Message("install a newer wheel, or set api: v2"),
            )
        code, status = _CODE.search(said), failure["status"] or _status(said)
        if code or (status or 0) >= HTTPStatus.MULTIPLE_CHOICES:
            return self._refusals.refused(operation, status, code[0] if code else "", _message(failure), "")
        if failure["network"]:
            return self._refusals.unreachable(operation, OSError(failure["text"]))
        return self._refusals.garbled(operation, None, f"{failure['kind']}: {said}")


def _says_no(reply: Mapping[str, Any]) -> bool:
    told = reply.get("error_code") or reply.get("error_msg") or reply.get("error_message")
    return bool(told) or reply.get("is_success") is False


def _end(processes: list[SdkProcess]) -> None:
    for process in processes:
        process.end()


def _endpoints(profile: Profile) -> Mapping[str, str]:
    """The addresses of a private cloud; nothing for the public one, whose addresses the package knows."""
    if not profile.modelarts_endpoint:
        return {}
    return {
        "iam_endpoint": profile.iam_endpoint or f"https://iam.{profile.region}.myhuaweicloud.com",
        "obs_endpoint": profile.obs_endpoint or profile.obs_server,
        "modelarts_endpoint": profile.modelarts_endpoint,
        "region_name": profile.region,
    }


def _status(text: str) -> int | None:
    found = _STATUS.search(text)
    return int(found[1] or found[2]) if found else None


def _message(failure: Mapping[str, Any]) -> str:
    """The cloud's sentence, where the package kept the answer, else its own."""
    try:
        told = json.loads(failure["body"])
        return str(told.get("error_msg") or told["error_message"])
    except (AttributeError, KeyError, ValueError):
        return str(failure["body"] or failure["text"])

"""Calls the package `modelarts` in worker processes, and translates its replies and errors."""

import json
import re
import socket
import subprocess
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

from aisbench_core.base.errors import AisbenchError, CloudRejected, ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.cloud.refusals import Refusals
from aisbench_core.config.credentials import Credentials
from aisbench_core.config.sdk_package import INSTALL, PACKAGE, is_installed, package_path, python_of
from aisbench_core.config.settings import Profile
from aisbench_core.model import Api

PROCESSES = 4  # concurrent calls; the package keeps account and addresses in globals, so each needs a process

WORKER = Path(__file__).with_name("sdk_worker.py")
END_SECONDS = 5.0
START_SECONDS = 30.0  # to import the package and its many dependencies

_CODE = re.compile(r"\b(?:ModelArts|APIGW|APIG)\.[0-9]+\b")
_STATUS = re.compile(r"\(([45][0-9]{2})\)|\b(?:status|code)\W{1,3}([45][0-9]{2})\b", re.IGNORECASE)

Value = TypeVar("Value")


class SdkProcess:
    """A process that calls the package, which isolates its prints, globals and hanging calls.

    It answers one request at a time. An error of `ask` ends it."""

    def __init__(self, python: str) -> None:
        """`python`: the interpreter that has the package. Raises OSError if it cannot be started."""
        self._socket, theirs = socket.socketpair()
        self._replies = self._socket.makefile("rb")
        try:
            self._process = subprocess.Popen(
                [python, str(WORKER), str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the console; the worker ends when its socket closes
            )
        except OSError:
            self._close_streams()
            raise
        finally:
            theirs.close()

    @property
    def is_alive(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def ask(self, request: Mapping[str, Any], seconds: float) -> Any:
        """The reply. Raises TimeoutError after `seconds`, ConnectionError if the process has ended."""
        try:
            self._socket.settimeout(seconds)
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            text = self._replies.readline()
        except OSError:
            self.end()  # a late reply would be taken for that of the next request
            raise
        if not text.endswith(b"\n"):
            self.end()
            raise ConnectionError(Message("the process of the SDK has ended"))
        return json.loads(text)

    def end(self) -> None:
        """Close the socket, which ends the process; kill it if it does not."""
        self._close_streams()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _close_streams(self) -> None:
        self._replies.close()
        self._socket.close()


class MissingFeature(CloudRejected):
    """The installed version of the package lacks a documented call."""


class SdkCalls:
    """A pool of worker processes for threads. None is started before the first call."""

    def __init__(self, profile: Profile, credentials: Credentials, request_seconds: float) -> None:
        """`request_seconds`: timeout of one call."""
        self._profile = profile
        self._credentials = credentials
        self._seconds = request_seconds
        self._refusals = Refusals("ModelArts", profile.training_endpoint, credentials)
        self._slots = threading.BoundedSemaphore(PROCESSES)
        self._lock = threading.Lock()
        self._idle: list[SdkProcess] = []
        weakref.finalize(self, _end_processes, self._idle)

    def ask(self, operation: Message, call: str, parse: Callable[[Any], Value], **arguments: Any) -> Value:
        """The parsed reply of a method of `sdk_worker.Sdk`, without retries.

        Raises ConfigError if the package cannot be used here, MissingFeature if it has no such call."""
        with self._borrow_process(operation) as process:
            reply = self._read_answer(operation, process, {"call": call, **arguments}, self._seconds)
        if isinstance(reply, Mapping):
            message = str(reply.get("error_msg") or reply.get("error_message") or "")
            code = str(reply.get("error_code") or "")
            if code or message or reply.get("is_success") is False:
                raise self._refusals.make_refusal(operation, None, code, message, "")
        try:
            return parse(reply)
        except (AttributeError, KeyError, OverflowError, OSError, TypeError, ValueError) as error:
            raise self._refusals.make_unavailable(operation, None, f"{type(error).__name__}: {error}") from error

    @contextmanager
    def _borrow_process(self, operation: Message) -> Iterator[SdkProcess]:
        """A process, which returns to the pool if it is still alive afterwards."""
        if not self._slots.acquire(timeout=self._seconds):
            raise self._refusals.unreachable(operation, TimeoutError("timed out: too many calls at once"))
        try:
            process = self._idle_process() or self._new_process(operation)
            try:
                yield process
            finally:
                if process.is_alive:
                    with self._lock:
                        self._idle.append(process)
        finally:
            self._slots.release()

    def _idle_process(self) -> SdkProcess | None:
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.is_alive:
                    return process
                process.end()
        return None

    def _new_process(self, operation: Message) -> SdkProcess:
        opening = self._build_opening()
        python = python_of(self._profile)
        try:
            process = SdkProcess(python)
        except OSError as error:
            message = Message("{program} cannot be started: {reason}", program=python, reason=error.strerror)
            raise ConfigError(message, Message("check sdk_venv in the profile")) from None
        try:
            self._read_answer(operation, process, opening, max(self._seconds, START_SECONDS))
        except AisbenchError:
            process.end()
            raise
        return process

    def _build_opening(self) -> Mapping[str, Any]:
        profile, keys = self._profile, self._credentials
        if not is_installed(profile):
            message = Message(
                "api {api} needs the package {package}, which is not installed in {environment}",
                api=Api.SDK,
                package=PACKAGE,
                environment=package_path(profile),
            )
            raise ConfigError(message, INSTALL)
        if keys.security_token:
            message = Message("api sdk does not support temporary keys: the package's Session has no security token")
            raise ConfigError(message, Message("use permanent keys, or set api: v2"))
        session = {
            "access_key": keys.access_key.get_secret_value(),
            "secret_key": keys.secret_key.get_secret_value(),
            "project_id": profile.project_id,
            "region_name": profile.region,
        }
        return {"keys": session, "endpoints": _get_endpoints(profile)}

    def _read_answer(self, operation: Message, process: SdkProcess, request: Mapping[str, Any], seconds: float) -> Any:
        try:
            reply = process.ask(request, seconds)
        except OSError as error:
            raise self._refusals.unreachable(operation, error) from error
        if "failure" in reply:
            raise self._make_error(operation, reply["failure"])
        return reply["value"]

    def _make_error(self, operation: Message, failure: Mapping[str, Any]) -> AisbenchError:
        """The error for an exception of the package, which often has code and status only in its text."""
        text = f"{failure['text']} {failure['body']}".strip()
        if failure["unloadable"]:
            message = Message(
                "the package modelarts in {place} cannot be loaded: {reason}",
                place=package_path(self._profile),
                reason=failure["text"],
            )
            return ConfigError(message, INSTALL)
        if failure["lacking"]:
            message = Message(
                "the installed package modelarts differs from its documentation: {reason}", reason=failure["text"]
            )
            return MissingFeature(message, operation=operation, hint=Message("install a newer wheel, or set api: v2"))
        code, number = _CODE.search(text), _STATUS.search(text)
        status = failure["status"] or (int(number[1] or number[2]) if number else None)
        if code or (status or 0) >= HTTPStatus.MULTIPLE_CHOICES:
            return self._refusals.make_refusal(operation, status, code[0] if code else "", _get_message(failure), "")
        if failure["network"]:
            return self._refusals.unreachable(operation, OSError(failure["text"]))
        return self._refusals.make_unavailable(operation, None, f"{failure['kind']}: {text}")


def _end_processes(processes: list[SdkProcess]) -> None:
    for process in processes:
        process.end()


def _get_endpoints(profile: Profile) -> Mapping[str, str]:
    """The addresses of a private cloud; empty for the public one, which the package knows."""
    if not profile.modelarts_endpoint:
        return {}
    return {
        "iam_endpoint": profile.iam_endpoint or f"https://iam.{profile.region}.myhuaweicloud.com",
        "obs_endpoint": profile.obs_endpoint or profile.obs_server,
        "modelarts_endpoint": profile.modelarts_endpoint,
        "region_name": profile.region,
    }


def _get_message(failure: Mapping[str, Any]) -> str:
    """The cloud's message if the package kept the reply, else the package's own text."""
    try:
        body = json.loads(failure["body"])
        return str(body.get("error_msg") or body["error_message"])
    except (AttributeError, KeyError, ValueError):
        return str(failure["body"] or failure["text"])

"""The ModelArts SDK's client: signed requests out, our values or our errors back."""

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import urllib3
from huaweicloudsdkcore.auth.credentials import BasicCredentials
from huaweicloudsdkcore.client import ClientBuilder
from huaweicloudsdkcore.exceptions.exceptions import ConnectionException, SdkException, ServiceResponseException
from huaweicloudsdkcore.http.http_config import HttpConfig
from huaweicloudsdkcore.invoker.invoker import SyncInvoker
from huaweicloudsdkcore.retry.backoff_strategy import BackoffStrategy
from huaweicloudsdkmodelarts.v1 import ModelArtsClient

from aisbench_core.cloud.addresses import is_loopback, split
from aisbench_core.cloud.refusals import Refusals
from aisbench_core.errors import CloudError
from aisbench_core.messages import Message
from aisbench_core.settings import Credentials, Profile

CONNECT_SECONDS = 10.0
READ_RETRIES = 1
PAUSE_MS = 300
CONNECTIONS = 64
"""Kept open for threads that ask at the same time; more threads would open and close theirs."""

Value = TypeVar("Value")


class Caller:
    """Sends calls to one region's ModelArts. Threads may share it."""

    def __init__(self, profile: Profile, credentials: Credentials, request_seconds: float) -> None:
        """`request_seconds`: time-out of one request. Nothing is sent yet."""
        self.sdk = _open(profile, credentials, request_seconds)
        self._refusals = Refusals("ModelArts", profile.training_endpoint, credentials)

    def request(
        self,
        method: str,
        path: str,
        numbers: Mapping[str, str],
        query: Mapping[str, object] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Any:
        """An invoker for an address that the SDK has no method for. `numbers` fill the places `{…}` of the path."""
        asked = {
            "method": method,
            "resource_path": path,
            "path_params": dict(numbers),
            "query_params": [(name, value) for name, value in (query or {}).items() if value is not None],
            "header_params": {"Content-Type": "application/json"},
            "body": body,
        }
        return SyncInvoker(self.sdk, asked)

    def read(self, operation: Message, call: Any, parse: Callable[[Any], Value]) -> Value:
        """What `parse` makes of the JSON that a call (an SDK invoker) answers with. It only reads: tried twice."""
        return self.write(operation, call.with_retry(_passes, READ_RETRIES, _Pause()), parse)

    def write(self, operation: Message, call: Any, parse: Callable[[Any], Value]) -> Value:
        """The same for a call that changes something: tried once. An empty answer is parsed as {}."""
        try:
            reply = call.invoke()
        except ServiceResponseException as error:
            refusal = self._refused(operation, error)
        except (SdkException, OSError) as error:  # requests' errors are OSErrors, and it lets others through
            raise self._refusals.unreachable(operation, error) from error
        else:
            return self._parsed(operation, reply, parse)
        raise refusal  # outside: what the SDK raised may repeat the access key, and no traceback shall show it

    def refused(self, operation: Message, status: int | None, code: object, message: object) -> CloudError:
        """Our error for an answer that says no, though its status does not."""
        return self._refusals.refused(operation, status, str(code or ""), str(message or ""), "")

    def _refused(self, operation: Message, error: Any) -> Exception:
        code, message = error.error_code, error.error_msg or ""
        if code == str(error.status_code):  # the SDK found none; the older API has a spelling of its own
            code, message = _told_by_v1(message)
        return self._refusals.refused(operation, error.status_code, code, message, error.request_id or "")

    def _parsed(self, operation: Message, reply: Any, parse: Callable[[Any], Value]) -> Value:
        text = reply.raw_content.decode("utf-8", "replace")
        try:
            content = json.loads(text) if text.strip() else {}
        except ValueError:
            raise self._refusals.garbled(operation, reply.status_code, text) from None
        try:
            return parse(content)
        except (AttributeError, KeyError, OverflowError, OSError, TypeError, ValueError) as error:
            found = f"{type(error).__name__}: {error}"
            raise self._refusals.garbled(operation, reply.status_code, found) from error


def _told_by_v1(text: str) -> tuple[str, str]:
    """Code and message of a refusal as the older API (v1) writes it; of any other, no code and the text itself."""
    try:
        told = json.loads(text)
        return str(told["error_code"] or ""), str(told.get("error_message") or told["error_msg"])
    except (KeyError, TypeError, ValueError):
        return "", text


class JsonClient(ModelArtsClient):  # type: ignore[misc]  # the SDK has no types
    """Leaves replies as they came: the SDK's classes drop fields, and fail on an empty text for a number."""

    def deserialize(self, response: Any, response_type: Any, progress_callback: Any) -> None:
        """Nothing: the SDK then makes an empty reply that carries the raw content."""


class _StraightConfig(HttpConfig):  # type: ignore[misc]  # the SDK has no types
    """HTTP_PROXY is for the world outside, and the sandbox is on this machine."""

    host = ""

    def get_proxy(self) -> dict[str, str]:
        """As the environment's NO_PROXY would say it, for this client only."""
        return {"no_proxy": self.host}


class _Pause(BackoffStrategy):  # type: ignore[misc]  # the SDK has no types
    def calculate_retry_delay_millis(self, retries: int) -> int:  # noqa: ARG002  # there is only one
        return PAUSE_MS


def _open(profile: Profile, credentials: Credentials, request_seconds: float) -> JsonClient:
    logger = logging.getLogger(f"HuaweiCloud-SDK-{JsonClient.__name__}")
    if not logger.handlers:  # without one, Python prints the SDK's complaints, which we raise already
        logger.addHandler(logging.NullHandler())
    keys = BasicCredentials(
        credentials.access_key.get_secret_value(), credentials.secret_key.get_secret_value(), profile.project_id
    )
    if credentials.security_token:
        keys = keys.with_security_token(credentials.security_token.get_secret_value())
    config = _StraightConfig() if is_loopback(profile.training_endpoint) else HttpConfig()
    config.host = split(profile.training_endpoint).hostname or ""
    config.timeout = (min(CONNECT_SECONDS, request_seconds), request_seconds)
    config.ignore_ssl_verification = not profile.verify_tls
    if not profile.verify_tls:  # the profile says so, and `aisbench doctor` warns: not at every request
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    config.pool_maxsize = CONNECTIONS
    config.user_agent = "aisbench-console"
    builder = ClientBuilder(JsonClient).with_http_config(config).with_credentials(keys)
    client: JsonClient = builder.with_endpoint(profile.training_endpoint).build()
    return client


def _passes(_reply: object, error: SdkException | None) -> bool:
    """Whether trying a read again at once may help: not after a time-out, which has taken long enough."""
    if isinstance(error, ConnectionException):
        return "timed out" not in str(error)
    return isinstance(error, ServiceResponseException) and error.status_code >= 500

"""Sends requests with the ModelArts SDK, and translates its replies and errors."""

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

from aisbench_core.base.errors import CloudError
from aisbench_core.base.messages import Message
from aisbench_core.cloud.addresses import is_loopback, split_address
from aisbench_core.cloud.refusals import Refusals
from aisbench_core.config.credentials import Credentials
from aisbench_core.config.settings import Profile

CONNECT_SECONDS = 10.0
READ_RETRIES = 1
PAUSE_MS = 300
CONNECTIONS = 64  # kept open; a thread beyond these opens one per request

Value = TypeVar("Value")


class Caller:
    """Sends calls to a service of one region, ModelArts unless another is named. Threads may share it."""

    def __init__(
        self,
        profile: Profile,
        credentials: Credentials,
        request_seconds: float,
        service: str = "ModelArts",
        endpoint: str = "",
    ) -> None:
        """`request_seconds`: timeout of one request. Sends nothing yet.

        `service` and `endpoint`: of another service of the cloud, which is signed and sent alike."""
        address = endpoint or profile.training_endpoint
        self.sdk = _open_client(profile, credentials, request_seconds, address)
        self._refusals = Refusals(service, address, credentials)

    def request(
        self,
        method: str,
        path: str,
        numbers: Mapping[str, str],
        query: Mapping[str, object] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Any:
        """An invoker for a path that the SDK has no method for. `numbers` replace the `{…}` in the path."""
        arguments = {
            "method": method,
            "resource_path": path,
            "path_params": dict(numbers),
            "query_params": [(name, value) for name, value in (query or {}).items() if value is not None],
            "header_params": {"Content-Type": "application/json"},
            "body": body,
        }
        return SyncInvoker(self.sdk, arguments)

    def read(self, operation: Message, call: Any, parse: Callable[[Any], Value]) -> Value:
        """The parsed JSON reply of a call (an SDK invoker) that only reads, and is therefore retried once."""
        return self.write(operation, call.with_retry(_is_transient, READ_RETRIES, _Pause()), parse)

    def write(self, operation: Message, call: Any, parse: Callable[[Any], Value]) -> Value:
        """The same for a call that changes something, and is not retried. An empty reply is parsed as {}."""
        try:
            reply = call.invoke()
        except ServiceResponseException as error:
            code, message = error.error_code, error.error_msg or ""
            if code == str(error.status_code):  # the SDK's fallback: it does not know the body of API v1
                code, message = _v1_refusal(message)
            status, request_id = error.status_code, error.request_id or ""
            refusal = self._refusals.make_refusal(operation, status, code, message, request_id)
        except (SdkException, OSError) as error:  # the SDK lets some errors of `requests` through; they are OSErrors
            raise self._refusals.unreachable(operation, error) from error
        else:
            return self._parse_reply(operation, reply, parse)
        raise refusal  # outside `except`: the SDK's error may contain the access key, so no traceback may show it

    def make_refusal(self, operation: Message, status: int | None, code: object, message: object) -> CloudError:
        """The error for a refusal with a status of success."""
        return self._refusals.make_refusal(operation, status, str(code or ""), str(message or ""), "")

    def _parse_reply(self, operation: Message, reply: Any, parse: Callable[[Any], Value]) -> Value:
        text = reply.raw_content.decode("utf-8", "replace")
        try:
            content = json.loads(text) if text.strip() else {}
        except ValueError:
            raise self._refusals.make_unavailable(operation, reply.status_code, text) from None
        try:
            return parse(content)
        except (AttributeError, KeyError, OverflowError, OSError, TypeError, ValueError) as error:
            problem = f"{type(error).__name__}: {error}"
            raise self._refusals.make_unavailable(operation, reply.status_code, problem) from error


def ignore_reply(_reply: Any) -> None:
    """The parser for replies without content."""


def _v1_refusal(text: str) -> tuple[str, str]:
    """Code and message of a refusal by API v1; for other text, no code and the text itself."""
    try:
        body = json.loads(text)
        return str(body["error_code"] or ""), str(body.get("error_message") or body["error_msg"])
    except (KeyError, TypeError, ValueError):
        return "", text


class JsonClient(ModelArtsClient):  # type: ignore[misc]  # the SDK has no types
    """Does not parse replies: the SDK's classes drop fields, and fail on an empty text instead of a number."""

    def deserialize(self, response: Any, response_type: Any, progress_callback: Any) -> None:
        """None, for which the SDK returns an empty reply with the raw content."""


class _LoopbackConfig(HttpConfig):  # type: ignore[misc]  # the SDK has no types
    """Ignores HTTP_PROXY, which `requests` would use for the sandbox on this machine as well."""

    host = ""

    def get_proxy(self) -> dict[str, str]:
        """The same as NO_PROXY, for this client only."""
        return {"no_proxy": self.host}


class _Pause(BackoffStrategy):  # type: ignore[misc]  # the SDK has no types
    def calculate_retry_delay_millis(self, retries: int) -> int:  # noqa: ARG002  # there is only one
        return PAUSE_MS


def _open_client(profile: Profile, credentials: Credentials, request_seconds: float, address: str) -> JsonClient:
    logger = logging.getLogger(f"HuaweiCloud-SDK-{JsonClient.__name__}")
    if not logger.handlers:  # otherwise Python prints the SDK's log messages, about errors that we raise anyway
        logger.addHandler(logging.NullHandler())
    keys = BasicCredentials(
        credentials.access_key.get_secret_value(), credentials.secret_key.get_secret_value(), profile.project_id
    )
    if credentials.security_token:
        keys = keys.with_security_token(credentials.security_token.get_secret_value())
    config = _LoopbackConfig() if is_loopback(address) else HttpConfig()
    config.host = split_address(address).hostname or ""
    # Connecting has a limit of its own: `request_seconds` is for slow answers.
    config.timeout = (min(CONNECT_SECONDS, request_seconds), request_seconds)
    config.ignore_ssl_verification = not profile.verify_tls
    if not profile.verify_tls:  # `aisbench doctor` warns about it once, so not at every request
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    config.pool_maxsize = CONNECTIONS
    config.user_agent = "aisbench-console"
    builder = ClientBuilder(JsonClient).with_http_config(config).with_credentials(keys)
    client: JsonClient = builder.with_endpoint(address).build()
    return client


def _is_transient(_reply: object, error: SdkException | None) -> bool:
    """Whether an immediate retry may help; after a timeout it would only double the wait."""
    if isinstance(error, ConnectionException):
        return "timed out" not in str(error)
    return isinstance(error, ServiceResponseException) and error.status_code >= 500

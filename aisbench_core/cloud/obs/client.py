"""The OBS SDK's client, fixed for long use by many threads."""

import socket
import ssl
from http import HTTPStatus
from typing import Any, NamedTuple

from obs import ObsClient
from obs.client import funcCache
from obs.util import do_close
from urllib3.util import wait_for_read

from aisbench_core.cloud.addresses import is_loopback, proxy_for, split_address
from aisbench_core.config.credentials import Credentials
from aisbench_core.config.settings import Profile

CONNECT_SECONDS = 10.0
RETRIES = 1  # after a broken connection or a 5xx; all our requests are idempotent


class Answer(NamedTuple):
    """The reply to `fetch`. The ETag is None if the server is not OBS."""

    status: int
    etag: str | None
    content: bytes


class SharedClient(ObsClient):  # type: ignore[misc]  # the SDK has no types
    """Keeps connections open, and fixes the SDK's handling of them.

    The SDK's connection pool is a queue, which threads can share; its signature is thread-local. `store` and `fetch`
    are putContent and getObject without their overhead per small object (0.3 and 0.6 ms of CPU, measured: the content
    as text for a log, validation by model classes, a checksum table). Arguments have the SDK's names, because its
    decorator looks for them."""

    @funcCache  # type: ignore[untyped-decorator]  # the SDK has no types
    def store(self, bucketName: str, objectKey: str, content: bytes, md5: str) -> Any:  # noqa: N803  # the SDK's name
        """PUT from memory; `md5` is base64. Returns an SDK result."""
        headers = {"Content-MD5": md5, "Content-Length": str(len(content))}
        return self._make_put_request(
            bucketName, objectKey, headers=headers, entity=lambda connection: connection.send(content)
        )

    @funcCache  # type: ignore[untyped-decorator]  # the SDK has no types
    def fetch(self, bucketName: str, objectKey: str, start: int, size: int | None) -> Any:  # noqa: N803  # the SDK's name
        """GET into memory, `size` bytes or all from `start` on. Returns an Answer, or an SDK result if OBS refuses."""
        end = "" if size is None else start + size - 1
        headers = {"Range": f"bytes={start}-{end}"} if start or size is not None else {}
        return self._make_get_request(bucketName, objectKey, headers=headers, parseMethod=self._parse_answer)

    def _parse_answer(self, connection: Any) -> Any:
        try:
            response = connection.getresponse()
            if response.status >= HTTPStatus.MULTIPLE_CHOICES:
                answer = self._parse_xml_internal(response)
            else:
                answer = Answer(response.status, response.getheader("ETag"), response.read())
        except Exception:
            connection.close()  # not back to the pool: half a reply may still be unread
            raise
        do_close(response, connection, self.connHolder)
        return answer

    def _init_ssl_context(self, custom_ciphers: object) -> None:  # noqa: ARG002  # the SDK's signature
        """The SDK's own context trusts no CA when it should verify, and never checks the host name."""
        self.context = ssl.create_default_context()
        if not self.ssl_verify:
            self.context.check_hostname = False
            self.context.verify_mode = ssl.CERT_NONE

    def _get_server_connection(self, *args: Any, **kwargs: Any) -> Any:
        """Reopens a connection that the server closed while it was idle, before a request fails on it."""
        connection = super()._get_server_connection(*args, **kwargs)
        if connection.sock is not None and wait_for_read(connection.sock, timeout=0):
            connection.close()
        return connection

    def _get_server_connection_use_http1x(self, *args: Any) -> Any:
        connection = super()._get_server_connection_use_http1x(*args)
        connection._create_connection = _connect_socket
        return connection


def open_client(profile: Profile, credentials: Credentials, request_seconds: float) -> SharedClient:
    """A client for the profile's OBS address. Connects to nothing yet."""
    address = split_address(profile.obs_server)
    proxy = proxy_for(profile.obs_server) if address.scheme == "https" else None
    token = credentials.security_token
    client = SharedClient(
        access_key_id=credentials.access_key.get_secret_value(),
        secret_access_key=credentials.secret_key.get_secret_value(),
        security_token=token.get_secret_value() if token else None,
        server=profile.obs_server,
        region=profile.region,
        ssl_verify=profile.verify_tls,
        # bucket.host needs DNS entries for buckets, which plain http and local servers do not have
        path_style=address.scheme != "https" or is_loopback(profile.obs_server),
        timeout=request_seconds,
        max_retry_count=RETRIES,
        # the SDK opens a tunnel per request, which fails on an open connection
        long_conn_mode=proxy is None,
        proxy_host=proxy.host if proxy else None,
        proxy_port=proxy.port if proxy else None,
        proxy_username=proxy.username if proxy else None,
        proxy_password=proxy.password if proxy else None,
    )
    if ":" in (address.hostname or ""):  # the SDK splits an IPv6 address at its first colon
        client.server = f"[{address.hostname}]"
        client.port = address.port or client.port
    return client


def _connect_socket(address: tuple[str, int], timeout: float, source: Any) -> socket.socket:
    """Connects with a short timeout of its own: the request's is for servers that work on a reply."""
    host, port = address
    connection = socket.create_connection((host.strip("[]"), port), min(timeout, CONNECT_SECONDS), source)
    connection.settimeout(timeout)
    return connection

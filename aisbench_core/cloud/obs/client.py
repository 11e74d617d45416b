"""The OBS SDK's client, made fit to be shared by many threads for days."""

import socket
import ssl
from http import HTTPStatus
from typing import Any, NamedTuple

from obs import ObsClient
from obs.client import funcCache
from obs.util import do_close
from urllib3.util import wait_for_read

from aisbench_core.cloud.addresses import is_loopback, proxy_for, split
from aisbench_core.settings import Credentials, Profile

CONNECT_SECONDS = 10.0
RETRIES = 1
"""After a broken connection or a 5xx; all our requests can be repeated: a PUT replaces what it put."""


class Answer(NamedTuple):
    """What a small request brought. The ETag is None if something else than OBS answered."""

    status: int
    etag: str | None
    content: bytes


class SharedClient(ObsClient):  # type: ignore[misc]  # the SDK has no types
    """Keeps connections open, and repairs what the SDK does about them.

    The SDK's pool of connections is a queue, which threads can share; its signature is thread-local.
    `store` and `fetch` are putContent and getObject without what these add for each small object (0.3 and 0.6 ms of
    CPU, measured: the content as text for a log, checked model classes, a checksum table). Names are the SDK's,
    because its decorator looks for them."""

    @funcCache  # type: ignore[untyped-decorator]  # the SDK has no types
    def store(self, bucketName: str, objectKey: str, content: bytes, md5: str) -> Any:  # noqa: N803  # the SDK's name
        """One PUT from memory; `md5` is base64. An SDK result."""
        headers = {"Content-MD5": md5, "Content-Length": str(len(content))}
        return self._make_put_request(
            bucketName, objectKey, headers=headers, entity=lambda connection: connection.send(content)
        )

    @funcCache  # type: ignore[untyped-decorator]  # the SDK has no types
    def fetch(self, bucketName: str, objectKey: str, start: int) -> Any:  # noqa: N803  # the SDK's name
        """One GET into memory, from byte `start` on. An Answer, or an SDK result when OBS refuses."""
        headers = {"Range": f"bytes={start}-"} if start else {}
        return self._make_get_request(bucketName, objectKey, headers=headers, parseMethod=self._take)

    def _take(self, connection: Any) -> Any:
        try:
            response = connection.getresponse()
            if response.status >= HTTPStatus.MULTIPLE_CHOICES:
                answer = self._parse_xml_internal(response)
            else:
                answer = Answer(response.status, response.getheader("ETag"), response.read())
        except Exception:
            connection.close()  # and never lent again: half an answer may still wait in it
            raise
        do_close(response, connection, self.connHolder)
        return answer

    def _init_ssl_context(self, custom_ciphers: object) -> None:  # noqa: ARG002  # the SDK's signature
        """The SDK's own context trusts no authority when it is told to verify, and never looks at the host's name."""
        self.context = ssl.create_default_context()
        if not self.ssl_verify:
            self.context.check_hostname = False
            self.context.verify_mode = ssl.CERT_NONE

    def _get_server_connection(self, *args: Any, **kwargs: Any) -> Any:
        """A connection that the server closed while it was idle is opened again, not found broken by a request."""
        connection = super()._get_server_connection(*args, **kwargs)
        if connection.sock is not None and wait_for_read(connection.sock, timeout=0):
            connection.close()
        return connection

    def _get_server_connection_use_http1x(self, *args: Any) -> Any:
        connection = super()._get_server_connection_use_http1x(*args)
        connection._create_connection = _connect
        return connection


def open_client(profile: Profile, credentials: Credentials, request_seconds: float) -> SharedClient:
    """A client for the profile's OBS address. Opens no connection yet."""
    address = split(profile.obs_server)
    proxy = proxy_for(profile.obs_server) if address.scheme == "https" else None
    token = credentials.security_token
    client = SharedClient(
        access_key_id=credentials.access_key.get_secret_value(),
        secret_access_key=credentials.secret_key.get_secret_value(),
        security_token=token.get_secret_value() if token else None,
        server=profile.obs_server,
        region=profile.region,
        ssl_verify=profile.verify_tls,
        # bucket.host needs a name server that knows every bucket, which plain or local servers have not
        path_style=address.scheme != "https" or is_loopback(profile.obs_server),
        timeout=request_seconds,
        max_retry_count=RETRIES,
        # the SDK opens a tunnel for each request, which a connection that is open already refuses
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


def _connect(address: tuple[str, int], timeout: float, source: Any) -> socket.socket:
    """A host that does not answer is noticed soon; one that works on its answer has its time."""
    host, port = address
    connection = socket.create_connection((host.strip("[]"), port), min(timeout, CONNECT_SECONDS), source)
    connection.settimeout(timeout)
    return connection

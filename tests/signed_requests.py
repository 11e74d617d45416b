"""Requests to a sandbox's training service that the SDK would not send: signed by the SDK's own signer."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import requests
from huaweicloudsdkcore.auth.credentials import BasicCredentials
from huaweicloudsdkcore.sdk_request import SdkRequest
from huaweicloudsdkcore.signer.signer import Signer

from tests.sandbox_process import SandboxProcess


class SignedRequests:
    """Sends any bytes to any address below /{version}/{project_id}/, properly signed."""

    def __init__(self, sandbox: SandboxProcess, keys: tuple[str, str] | None = None) -> None:
        self._base = sandbox.modelarts_url
        self._project = sandbox.project_id
        access_key, secret_key = keys or sandbox.keys
        self._credentials = BasicCredentials(access_key, secret_key, self._project)
        self._session = requests.Session()
        self._session.trust_env = False

    def send(
        self,
        method: str,
        path: str,
        body: bytes | Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        version: str = "v2",
    ) -> requests.Response:
        """The answer to one request; `path` may hold a query."""
        content = json.dumps(body).encode() if isinstance(body, Mapping) else body or b""
        address = urlsplit(f"{self._base}/{version}/{self._project}/{path}")
        pairs = parse_qsl(address.query, keep_blank_values=True)
        asked = SdkRequest(
            method=method,
            schema=address.scheme,
            host=address.netloc,
            resource_path=address.path,
            query_params=pairs,
            header_params={"Content-Type": "application/json", **(headers or {})},
            body=content,
        )
        signed = Signer(self._credentials).sign(asked)
        target = f"{self._base}{signed.uri}"
        return self._session.request(method, target, data=content, headers=signed.header_params, timeout=60)

    def json(self, method: str, path: str, body: Mapping[str, Any] | None = None, version: str = "v2") -> Any:
        """The JSON of an answer that is no refusal."""
        answer = self.send(method, path, body, version=version)
        assert answer.status_code < 300, answer.text
        return answer.json()

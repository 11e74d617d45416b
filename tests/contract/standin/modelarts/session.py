"""Who asks, and where: the account's keys, and the addresses of private clouds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from modelarts.obs_files import ObsFiles
from modelarts.signing import signed_request

ENDPOINTS: dict[str, str] = {}
"""By region; every session of a process shares them."""
OBS_ENDPOINTS: dict[str, str] = {}


class ApiException(Exception):
    """An answer that is no JSON, or one of the gateway."""

    def __init__(self, status: int, reason: str, body: str) -> None:
        super().__init__(f"({status})\nReason: {reason}\nHTTP response body: {body}\n")
        self.status = status
        self.reason = reason
        self.body = body


class Session:
    """Keys given here, or those of a file in the home directory."""

    def __init__(
        self,
        access_key: str | None = None,
        secret_key: str | None = None,
        project_id: str | None = None,
        region_name: str | None = None,
        username: str | None = None,
        password: str | None = None,
        account: str | None = None,
    ) -> None:
        if access_key is None:
            stored = json.loads((Path.home() / ".modelarts" / "config.json").read_text("utf-8"))
            access_key, secret_key = stored["access_key"], stored["secret_key"]
        self.access_key, self.secret_key = access_key, secret_key
        self.project_id = project_id
        self.region_name = region_name
        public = f"https://obs.{region_name}.myhuaweicloud.com"
        endpoint = OBS_ENDPOINTS.get(str(region_name), public)
        self.obs = ObsFiles(endpoint, str(access_key), str(secret_key), str(project_id))
        print(f"Session of {access_key} in {region_name}, {username or account or 'no user'}: {password or 'AK/SK'}")

    @classmethod
    def set_endpoint(
        cls,
        iam_endpoint: str | None = None,
        obs_endpoint: str | None = None,
        modelarts_endpoint: str | None = None,
        region_name: str | None = None,
    ) -> None:
        """All four are wanted."""
        if not (iam_endpoint and obs_endpoint and modelarts_endpoint and region_name):
            raise ValueError("iam_endpoint, obs_endpoint, modelarts_endpoint and region_name are needed")
        ENDPOINTS[region_name] = modelarts_endpoint
        OBS_ENDPOINTS[region_name] = obs_endpoint

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None, version: str = "v2") -> Any:
        """The JSON of an answer; one that says no is told as the API's own words. Not a call of the package."""
        public = f"https://modelarts.{self.region_name}.myhuaweicloud.com"
        base = ENDPOINTS.get(str(self.region_name), public)
        keys = (str(self.access_key), str(self.secret_key))
        status, reason, text = signed_request(base, method, f"/{version}/{self.project_id}/{path}", body, keys)
        if status == 204 or not text:
            return None
        try:
            answer = json.loads(text)
        except ValueError:
            raise ApiException(status, reason, text) from None
        if status >= 400 and not {"error_solution", "is_success"} & answer.keys():
            raise ApiException(status, reason, text)
        if status >= 400:
            print(f"{method} {path} failed: {answer}")
        return answer

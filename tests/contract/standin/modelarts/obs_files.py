"""`Session.obs`: objects by signed requests (OBS's own signature), with Python's own library."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, urlsplit

FORMAT = "%a, %d %b %Y %H:%M:%S GMT"


class ObsFiles:
    """The files of an account. Paths are obs://bucket/key."""

    def __init__(self, endpoint: str, access_key: str, secret_key: str, project_id: str) -> None:
        self._endpoint, self._keys, self._project_id = endpoint, (access_key, secret_key), project_id

    def is_obs_path_exists(self, obs_path: str) -> bool:
        return self._ask("HEAD", obs_path)[0] == http.client.OK

    def download_file(self, src_obs_file: str, dst_local_dir: str) -> None:
        """Into a directory, or to a path that is none yet."""
        target = Path(dst_local_dir)
        target = target / src_obs_file.rpartition("/")[2] if target.is_dir() else target
        status, content = self._ask("GET", src_obs_file)
        if status != http.client.OK:
            raise FileNotFoundError(f"{src_obs_file}: {status}")
        target.write_bytes(content)

    def upload_file(self, src_local_file: str, dst_obs_dir: str) -> None:
        file = Path(src_local_file)
        status, answer = self._ask("PUT", dst_obs_dir.rstrip("/") + "/" + file.name, file.read_bytes())
        if status != http.client.OK:
            raise OSError(f"{file}: {status} {answer!r}")

    def upload_dir(self, src_local_dir: str, dst_obs_dir: str) -> None:
        """The directory's files below a directory of its name."""
        source = Path(src_local_dir)
        for file in sorted(source.rglob("*")):
            if file.is_file():
                inner = file.parent.relative_to(source.parent).as_posix()
                self.upload_file(str(file), f"{dst_obs_dir.rstrip('/')}/{inner}")

    def get_default_bucket(self) -> str:
        return f"modelarts-{self._project_id}"

    def _ask(self, method: str, path: str, content: bytes = b"") -> tuple[int, bytes]:
        if not path.startswith("obs://"):
            raise ValueError(f"{path} is no OBS path, which begins with obs://")
        target = quote(path[len("obs:/") :], safe="/")
        now = datetime.now(UTC).strftime(FORMAT)
        signed = "\n".join([method, "", "", now, target]).encode()
        signature = base64.b64encode(hmac.new(self._keys[1].encode(), signed, hashlib.sha1).digest()).decode()
        headers = {"Date": now, "Authorization": f"OBS {self._keys[0]}:{signature}"}
        place = urlsplit(self._endpoint if "://" in self._endpoint else f"https://{self._endpoint}")
        kind = http.client.HTTPConnection if place.scheme == "http" else http.client.HTTPSConnection
        connection = kind(place.hostname or "", place.port, timeout=60)
        try:
            connection.request(method, target, content, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

"""A browser session as far as uploads need one: a web socket, its id, and requests with what Streamlit asks for."""

import http.client
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

SECONDS = 120
BOUNDARY = "a-boundary-of-tests"


class UploadSession:
    """One open page of a console."""

    def __init__(self, url: str, session: str) -> None:
        self.id = session
        self._url = url
        self._host = urlsplit(url).netloc
        self._xsrf = self._cookie()

    @classmethod
    @contextmanager
    def open(cls, url: str) -> Iterator["UploadSession"]:
        """A session whose browser leaves at the end."""
        asked = BackMsg()
        asked.rerun_script.page_name = "health"
        with connect(
            url.replace("http", "ws") + "/_stcore/stream",
            origin=Origin(url),
            subprotocols=[Subprotocol("streamlit")],
            max_size=None,
            proxy=None,
        ) as line:
            line.send(asked.SerializeToString())
            session = ""
            while True:
                message = ForwardMsg.FromString(line.recv(SECONDS, decode=False))
                session = session or message.new_session.initialize.session_id
                if message.WhichOneof("type") == "script_finished":
                    break
            yield cls(url, session)

    def put(self, pieces: Iterable[bytes], size: int, file: str = "", name: str = "a.log") -> int:
        """Upload a file of this size; the answer's status."""
        head = (
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
            "Content-Type: text/plain\r\n\r\n"
        ).encode()
        tail = f"\r\n--{BOUNDARY}--\r\n".encode()
        return self._send("PUT", file or str(uuid.uuid4()), [head, *pieces, tail], len(head) + size + len(tail))

    def delete(self, file: str) -> int:
        """What a browser asks when a file is removed; the answer's status."""
        return self._send("DELETE", file, [], 0)

    def announce(self, size: int) -> int:
        """Begin to upload a file of this size and wait for the answer before the first byte."""
        return self._send("PUT", str(uuid.uuid4()), [], size)

    def put_in_chunks(self, content: bytes, announced: int) -> int:
        """Upload a file in chunks, with the length of another one; the answer's status."""
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="a"; filename="a"\r\n\r\n'.encode()
        body = head + content + f"\r\n--{BOUNDARY}--\r\n".encode()
        chunk = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        return self._send("PUT", str(uuid.uuid4()), [chunk], announced, {"Transfer-Encoding": "chunked"})

    def _send(
        self, method: str, file: str, pieces: Iterable[bytes], size: int, more: Mapping[str, str] | None = None
    ) -> int:
        line = http.client.HTTPConnection(self._host, timeout=SECONDS)
        try:
            line.putrequest(method, f"/_stcore/upload_file/{self.id}/{file}")
            for name, value in {**self._headers(size), **(more or {})}.items():
                line.putheader(name, value)
            line.endheaders()
            for piece in pieces:
                line.send(piece)
            return line.getresponse().status
        finally:
            line.close()

    def _headers(self, size: int) -> dict[str, str]:
        return {
            "Origin": self._url,
            "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
            "Content-Length": str(size),
            "Cookie": f"_streamlit_xsrf={self._xsrf}",
            "X-Xsrftoken": self._xsrf,
        }

    def _cookie(self) -> str:
        line = http.client.HTTPConnection(self._host, timeout=SECONDS)
        line.request("GET", "/_stcore/health")
        cookie = line.getresponse().headers["Set-Cookie"]
        line.close()
        [token] = re.findall(r"_streamlit_xsrf=([^;]+)", cookie)
        return str(token)

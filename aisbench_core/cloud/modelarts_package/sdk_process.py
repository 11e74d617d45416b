"""A process that calls the package `modelarts`, which isolates its prints, globals and hanging calls."""

import json
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aisbench_core.messages import Message

WORKER = Path(__file__).with_name("sdk_worker.py")
END_SECONDS = 5.0


class SdkProcess:
    """Answers one request at a time. An error of `ask` ends it."""

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
            self._close()
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
        self._close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _close(self) -> None:
        self._replies.close()
        self._socket.close()

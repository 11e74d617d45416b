"""One process that calls the package `modelarts`: its prints, globals and hanging calls stay in there."""

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
    """Answers one request after the other. After an error it is of no more use, and has been ended."""

    def __init__(self, python: str) -> None:
        """`python`: the program to run it with. Raises OSError if that cannot be started."""
        self._line, theirs = socket.socketpair()
        self._replies = self._line.makefile("rb")
        try:
            self._process = subprocess.Popen(
                [python, str(WORKER), str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is the console's; this ends when the console hangs up
            )
        except OSError:
            self._hang_up()
            raise
        finally:
            theirs.close()

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def ask(self, request: Mapping[str, Any], seconds: float) -> Any:
        """The reply. Raises TimeoutError after so many seconds, ConnectionError if the process has ended."""
        try:
            self._line.settimeout(seconds)
            self._line.sendall(json.dumps(request).encode() + b"\n")
            text = self._replies.readline()
        except OSError:
            self.end()
            raise
        if not text.endswith(b"\n"):
            self.end()
            raise ConnectionError(Message("the process of the SDK has ended"))
        return json.loads(text)

    def end(self) -> None:
        """Hang up, which ends it; kill it if that does not."""
        self._hang_up()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _hang_up(self) -> None:
        self._replies.close()
        self._line.close()

"""Standard streams of a served command: what it prints becomes records, what it reads is asked for."""

import io
from typing import TYPE_CHECKING, Literal

from aisbench_core.interfaces.cli.served import ServedCommand
from aisbench_core.interfaces.commands.records import PIECE_BYTES

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class RecordStream(io.RawIOBase):
    """Bytes that go to a stream of the client."""

    def __init__(self, served: ServedCommand, kind: Literal["stdout", "stderr"]) -> None:
        self._served = served
        self._kind: Literal["stdout", "stderr"] = kind

    def writable(self) -> bool:
        """Always."""
        return True

    def isatty(self) -> bool:
        """Whether the client's stream is a terminal."""
        return self._kind in self._served.request.terminal

    def write(self, data: "ReadableBuffer", /) -> int:
        """Send them all."""
        content = bytes(data)
        for start in range(0, len(content), PIECE_BYTES):
            self._served.channel.send(self._kind, data=content[start : start + PIECE_BYTES])
        return len(content)


class NamedText(io.TextIOWrapper):
    """Text in which files have the names that the client gave them."""

    def __init__(self, served: ServedCommand, kind: Literal["stdout", "stderr"]) -> None:
        errors = "backslashreplace" if kind == "stderr" else "strict"  # as Python's own
        super().__init__(io.BufferedWriter(RecordStream(served, kind)), "utf-8", errors, line_buffering=True)
        self._served = served

    def write(self, text: str, /) -> int:
        """Write the text with the client's names."""
        super().write(self._served.restore_names(text))
        return len(text)


class ClientInput(io.TextIOBase):
    """Input that is read on the client's machine when the command reads it."""

    def __init__(self, served: ServedCommand) -> None:
        self._served = served

    def isatty(self) -> bool:
        """Whether it is a terminal there."""
        return "stdin" in self._served.request.terminal

    def read(self, size: int | None = -1, /) -> str:  # noqa: ARG002  # commands read all of it
        """All of it."""
        try:
            return self._served.channel.ask("", "all")
        except EOFError:
            return ""

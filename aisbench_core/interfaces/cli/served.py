"""A command that somebody on another machine typed, as it runs on this server."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from aisbench_core.interfaces.commands.records import PIECE_BYTES, Kind, encode_record, parse_record
from aisbench_core.interfaces.commands.request import ClientPath, CommandRequest, ServedBy
from aisbench_core.model import Actor, WayIn


@dataclass(frozen=True, slots=True)
class RecordChannel:
    """The way to the client: records go out, answers to questions come in. Threads may share it."""

    records: IO[bytes]
    answers: IO[bytes]
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def send(self, kind: Kind, **fields: Any) -> None:
        """One record."""
        with self._guard:
            self.records.write(encode_record(kind, **fields))
            self.records.flush()

    def ask(self, prompt: str, how: str, *, to_stderr: bool = False) -> str:
        """What the client enters. Raises EOFError where its input has ended."""
        self.send("ask", prompt=prompt, how=how, to_stderr=to_stderr)
        text = parse_record(self.answers.readline()).get("text")
        if text is None:
            raise EOFError
        return str(text)


class ServedCommand:
    """Who typed it, the copies of its files, and how they are named in what it prints."""

    def __init__(self, by: ServedBy, request: CommandRequest, channel: RecordChannel) -> None:
        self.key = by.key
        self.request = request
        self.channel = channel
        self._token_id = by.token_id
        self._folder = Path(by.folder)
        self._names: dict[str, str] = {}
        self._paths: Mapping[str, tuple[int, ClientPath]] = {
            path.typed: (index, path) for index, path in enumerate(request.paths)
        }

    @cached_property
    def actor(self) -> Actor:
        """The owner of the token, with the token's role. Raises TokenRefused."""
        from aisbench_core.wiring import open_core

        return open_core().tokens.active(self._token_id).actor_by(WayIn.CLI)

    def store_files(self) -> None:
        """Write the copies of what was sent."""
        for index, path in self._paths.values():
            copy = self._get_copy_path(index, path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if path.kind == "folder":
                copy.mkdir(exist_ok=True)
            elif path.kind == "file":
                copy.touch()
            for file in path.files:
                target = copy / file.path if file.path else copy
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(file.data)

    def copy_of(self, typed: str, shown: str) -> str:
        """Where the copy of a file is, or where one is written; `shown`: its name in what the command prints."""
        found = self._paths.get(typed)
        copy = str(self._get_copy_path(*found) if found else self._folder / "unknown" / Path(typed).name)
        self._names[copy] = shown
        return copy

    def restore_names(self, text: str) -> str:
        """The text with the client's names of its files."""
        if str(self._folder) in text:
            for copy, name in sorted(self._names.items(), key=lambda each: -len(each[0])):
                below = "" if name in (".", "") else f"{name.rstrip('/')}/"
                text = text.replace(f"{copy}/", below).replace(copy, name)
        return text

    def deliver(self, copy: Path) -> None:
        """Send a file that the command has written."""
        typed = next(path.typed for index, path in self._paths.values() if self._get_copy_path(index, path) == copy)
        with copy.open("rb") as content:
            while piece := content.read(PIECE_BYTES):
                self.channel.send("file", name=typed, data=piece, complete=False)
        self.channel.send("file", name=typed, data=b"", complete=True)

    def _get_copy_path(self, index: int, path: ClientPath) -> Path:
        return self._folder / str(index) / path.absolute.lstrip("/")

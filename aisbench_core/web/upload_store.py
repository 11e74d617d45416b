"""Uploaded files on disk, in a folder for each browser session, for as long as the session is open.

Streamlit keeps uploads in memory, and lets go of them only when another session ends minutes after theirs. Here it is
given a short ticket in the place of each file, and pages open the file by it.
"""

import contextlib
import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message, from_json, message_of, to_json
from aisbench_core.read_only import is_read_only

UPLOADS = "uploads"
"""The folder below the data folder; each console process has one of its own in there."""

MOST_FILE_BYTES = 200 * 1024**2
MOST_SESSION_BYTES = 500 * 1024**2
MOST_SESSION_FILES = 1000
MOST_TEXT_BYTES = 5 * 1024**2
MOST_FORM_BYTES = 64 * 1024
"""What the form around a file may add to its size."""

_LET_GO = Message("remove files from the page, or reload it, and upload the file again")

_REFUSAL = b"aisbench-upload-refused "
"""Begins what stands for a file that was not stored. No file can say so: the content of files is never handed on."""

_TICKET = re.compile(rb"aisbench-upload (?P<path>[0-9]+-\w+/[0-9a-f-]{36}/[0-9a-f-]{36})")


class UploadRefusedError(Exception):
    """An upload that nobody can be shown on a page: with the status that says so in HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class UploadLimitError(Exception):
    """A file that is not stored, and why, as a sentence after its name and with what to do: its page says so."""

    def __init__(self, reason: Message, hint: Message) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint

    def ticket(self) -> bytes:
        """What stands for the file in the place of its content."""
        said = {"reason": self.reason, "hint": self.hint}
        return _REFUSAL + json.dumps({name: (text, to_json(text)) for name, text in said.items()}).encode()


@dataclass(frozen=True, slots=True)
class UploadStore:
    """The uploads of one console process; `is_open` says whether a session still has its browser."""

    folder: Path
    is_open: Callable[[str], bool]

    @classmethod
    def create(cls, data_dir: Path, is_open: Callable[[str], bool]) -> "UploadStore":
        """An empty one; what consoles left that were killed is removed. Without a folder while none can be made."""
        parent = data_dir / UPLOADS
        if is_read_only(data_dir):
            return cls(parent / f"{os.getpid()}-later", is_open)
        parent.mkdir(mode=0o700, exist_ok=True)
        for folder in parent.iterdir():
            if not _is_alive(folder.name.partition("-")[0]):
                shutil.rmtree(folder, ignore_errors=True)
        return cls(Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=parent)), is_open)

    def reserve(self, session: str, file: str, size: int) -> Path:
        """A place for a file of this size. Raises UploadRefusedError, and UploadLimitError where there is no room."""
        if not self.is_open(session):
            raise UploadRefusedError(400, "The page is no longer connected: reload it.")
        if size > MOST_FILE_BYTES + MOST_FORM_BYTES:  # browsers refuse such a file themselves, and name both sizes
            raise UploadRefusedError(413, f"The file has {size_text(size)}; allowed: {size_text(MOST_FILE_BYTES)}.")
        if is_read_only(self.folder.parent.parent):
            raise UploadRefusedError(403, "The data folder is read-only: nothing can be stored in it.")
        path = self.folder / session / file
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        others = [file.stat().st_size for file in path.parent.iterdir() if file != path]
        if sum(others) + size > MOST_SESSION_BYTES:
            held, most = size_text(sum(others)), size_text(MOST_SESSION_BYTES)
            reason = Message(
                "it has {size}, and the page holds {held} of at most {most} already",
                size=size_text(size),
                held=held,
                most=most,
            )
            raise UploadLimitError(reason, _LET_GO)
        if len(others) >= MOST_SESSION_FILES:
            reason = Message("the page holds {count} files already, and may hold no more", count=len(others))
            raise UploadLimitError(reason, _LET_GO)
        with path.open("wb") as reserved:
            os.truncate(reserved.fileno(), size)  # counts from now on, and is written while it arrives
        return path

    def ticket(self, session: str, file: str) -> bytes:
        """What stands for the file from here on."""
        return f"aisbench-upload {self.folder.name}/{session}/{file}".encode()

    def remove(self, session: str, file: str) -> None:
        """Let go of one file."""
        (self.folder / session / file).unlink(missing_ok=True)

    def remove_closed(self) -> None:
        """Let go of the files of sessions whose browser has left."""
        with contextlib.suppress(FileNotFoundError):
            for folder in self.folder.iterdir():
                if not self.is_open(folder.name):
                    shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Let go of everything."""
        shutil.rmtree(self.folder, ignore_errors=True)


def size_text(size: int) -> str:
    """A size with its unit, as people read it."""
    number, unit = (size / 1024**2, "MB") if size >= 1024**2 else (size / 1024, "KB")
    return f"{number:.1f}".removesuffix(".0") + f" {unit}"


def refusal_of(name: str, content: bytes) -> ConfigError | None:
    """Why the file is not here for which a ticket stands; None when it was stored."""
    if not content.startswith(_REFUSAL):
        return None
    refused = json.loads(content.removeprefix(_REFUSAL))
    reason, hint = (message_of(from_json(*refused[part])) for part in ("reason", "hint"))
    return ConfigError(Message("{file} was not uploaded: {reason}", file=name, reason=reason), hint)


def open_upload(data_dir: Path, name: str, content: bytes) -> BinaryIO:
    """The uploaded file for which a ticket stands; other content stands for itself.

    Raises ConfigError when the file has gone, or was not stored."""
    if refusal := refusal_of(name, content):
        raise refusal
    path = _path_of(data_dir, content)
    try:
        return path.open("rb") if path else io.BytesIO(content)
    except FileNotFoundError:
        raise ConfigError(Message("the uploaded file is no longer on the server"), Message("upload it again")) from None


def read_upload(data_dir: Path, name: str, content: bytes) -> bytes:
    """A small uploaded file as a whole. Raises ConfigError when it has gone, or is too large for that."""
    with open_upload(data_dir, name, content) as file:
        size = file.seek(0, os.SEEK_END)
        if size > MOST_TEXT_BYTES:
            found, most = size_text(size), size_text(MOST_TEXT_BYTES)
            raise ConfigError(
                Message("{file} is too large: it has {found}; allowed: {most}", file=name, found=found, most=most),
                Message("choose the file with the settings"),
            )
        file.seek(0)
        return file.read(MOST_TEXT_BYTES)


def discard_upload(data_dir: Path, content: bytes) -> None:
    """Let go of an uploaded file that is not needed any more."""
    path = _path_of(data_dir, content)
    if path:
        path.unlink(missing_ok=True)


def _path_of(data_dir: Path, content: bytes) -> Path | None:
    ticket = _TICKET.fullmatch(content)
    return data_dir / UPLOADS / ticket["path"].decode() if ticket else None


def _is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except PermissionError:  # somebody else's
        return True
    except (ValueError, ProcessLookupError, OverflowError):
        return False
    return True

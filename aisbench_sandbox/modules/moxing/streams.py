"""An OBS object as a file: read into memory or a temporary file when opened, stored when closed."""

import io
import os
import tempfile
from typing import IO, Any

from moxing.client import NotFoundError, Obs

_IN_MEMORY = 8 << 20


class ObsFile:
    """What `open` returns for an object. `mode` is r, w or a, with b for binary and + for read and write."""

    def __init__(self, obs: Obs, bucket: str, key: str, mode: str, encoding: str | None = None) -> None:
        self.name = f"obs://{bucket}/{key}"
        self.mode = mode
        self._obs, self._bucket, self._key = obs, bucket, key
        self._writes = any(letter in mode for letter in "wa+")
        self._dirty = "w" in mode
        # Checkpoints may be larger than the memory that a job has left.
        self._bytes: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed in close
        self._load_object()
        self._stream: Any = self._bytes if "b" in mode else io.TextIOWrapper(self._bytes, encoding or "utf-8")

    def read(self, size: int = -1) -> Any:
        """Text or bytes: everything, or `size` characters or bytes."""
        return self._stream.read(size)

    def readline(self) -> Any:
        """One line with its line end; empty at the end."""
        return self._stream.readline()

    def readlines(self) -> list[Any]:
        """All lines with their line ends."""
        return list(self._stream.readlines())

    def write(self, content: Any) -> int:
        """Write text or bytes; they are stored at the next flush."""
        if not self._writes:
            raise io.UnsupportedOperation("not writable")
        self._dirty = True
        return int(self._stream.write(content))

    def writelines(self, lines: Any) -> None:
        """Write many lines, which include their line ends."""
        for line in lines:
            self.write(line)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Change the position."""
        return int(self._stream.seek(offset, whence))

    def tell(self) -> int:
        """The current position."""
        return int(self._stream.tell())

    def size(self) -> int:
        """The size in bytes."""
        self._stream.flush()
        here = self._bytes.tell()
        end = self._bytes.seek(0, os.SEEK_END)
        self._bytes.seek(here)
        return end

    def flush(self) -> None:
        """Store what was written so far."""
        self._stream.flush()
        if self._dirty:
            here = self._bytes.tell()
            # As a whole: a part of an object cannot be replaced in OBS.
            self._obs.put(self._bucket, self._key, self._bytes)
            self._bytes.seek(here)
            self._dirty = False

    def close(self) -> None:
        """Store what was written, and free the buffer."""
        if not self.closed:
            self.flush()
            self._stream.close()

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return bool(self._stream.closed)

    def __enter__(self) -> "ObsFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Any:
        return iter(self._stream)

    def __getattr__(self, name: str) -> Any:  # whatever else readers of a file use
        # Missing when __init__ has failed, and then looked up by itself without end.
        if name == "_stream":
            raise AttributeError(name)
        return getattr(self._stream, name)

    def _load_object(self) -> None:
        if "w" in self.mode:
            return
        try:
            self._obs.get(self._bucket, self._key, self._bytes)
        except NotFoundError:
            if "a" not in self.mode:
                self._bytes.close()
                raise
        if "a" not in self.mode:
            self._bytes.seek(0)

"""The file data/console.log: private, of limited size, one line per entry whatever its values hold, times in UTC."""

import logging
import os
import re
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.private_files import open_private

NAME = "console.log"
BYTES = 5 * 1024 * 1024
OLDER_FILES = 3
CONTINUED = "    "

# Whatever ends a line for some reader, what a terminal would obey, and bytes of names that are not UTF-8.
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class ConsoleLogFormatter(logging.Formatter):
    """Control characters in a message are escaped, and the lines of a traceback indented: no value forges an entry."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802, ARG002  # logging's
        """The moment of an entry, such as 2026-11-25T09:30:00.123Z."""
        moment = datetime.fromtimestamp(record.created, UTC)
        return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # logging's name
        """The line of an entry."""
        return _escape_controls(super().formatMessage(record))

    def formatException(self, ei: "logging._SysExcInfoType") -> str:  # noqa: N802  # logging's name
        """The lines of a traceback below their entry; of an error of ours, such as a full disk, what it says."""
        if isinstance(ei[1], AisbenchError):
            return CONTINUED + _escape_controls(str(ei[1]))
        return "\n".join(CONTINUED + _escape_controls(line) for line in super().formatException(ei).split("\n"))


class ConsoleLogFile(RotatingFileHandler):
    """Appends to the file, and begins a new one when it is full; the oldest is deleted."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir / NAME, maxBytes=BYTES, backupCount=OLDER_FILES, delay=True)
        self.setFormatter(ConsoleLogFormatter())

    def _open(self) -> TextIOWrapper:
        handle = open_private(Path(self.baseFilename), os.O_WRONLY | os.O_APPEND)
        return TextIOWrapper(os.fdopen(handle, "ab"), "utf-8")  # logging closes it

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # logging's name
        """Drop lines that a full disk has no room for: reading must still work."""


def _escape_controls(text: str) -> str:
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def start_console_log(data_dir: Path) -> None:
    """Log to the file in this folder, unless this process logs to one already."""
    log = logging.getLogger("aisbench_core")
    if any(isinstance(handler, ConsoleLogFile) for handler in log.handlers):
        return
    log.addHandler(ConsoleLogFile(data_dir))
    log.setLevel(logging.INFO)

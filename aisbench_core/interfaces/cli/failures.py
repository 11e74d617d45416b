"""How a command's errors are reported: what a person can act on as a sentence, a bug as a line of the log file."""

import logging
import os
import sys
from pathlib import Path

from aisbench_core.base.console_log import NAME, ConsoleLogFormatter
from aisbench_core.base.errors import AisbenchError, disk_error
from aisbench_core.base.private_files import make_private_folder
from aisbench_core.config.settings import load_settings
from aisbench_core.interfaces.cli.display import print_message
from aisbench_core.interfaces.cli.exit_codes import OUR_ERROR, exit_code

TRACEBACK_HINT = "set AISBENCH_DEBUG=1 to see the traceback"


def report_failure(error: Exception) -> int:
    """Print the error that is being handled; returns the exit code."""
    if isinstance(error, AisbenchError):
        print_message(f"error: {error}")
        return exit_code(error)
    if isinstance(error, OSError) and (full := disk_error(error, Path("the answer"))):
        print_message(f"error: {full}")
        _discard_stdout()
        return OUR_ERROR
    print_message(f"internal error: {type(error).__name__}; {_log_traceback()}")
    return OUR_ERROR


def _discard_stdout() -> None:
    """Python flushes stdout again when it exits; on a full disk that would fail with a traceback of its own."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _log_traceback() -> str:
    """Append the traceback to the log file, and say where. It may hold private values, so it is not printed."""
    try:
        folder = load_settings().data_dir
        make_private_folder(folder)
        file = folder / NAME
        handler = logging.FileHandler(file, encoding="utf-8")
    except Exception:  # whatever keeps us from writing must not hide the bug
        return TRACEBACK_HINT
    handler.setFormatter(ConsoleLogFormatter())
    logger = logging.getLogger("aisbench.cli")
    logger.propagate = False  # the root logger would print the traceback to stderr
    logger.addHandler(handler)
    # Only the command: arguments may hold private values.
    logger.error("aisbench %s failed", " ".join(sys.argv[1:2]), exc_info=True)
    logger.removeHandler(handler)
    try:
        handler.close()
    except OSError:  # a full disk is noticed only when the file is closed
        return TRACEBACK_HINT
    return f"the traceback is in {file}"

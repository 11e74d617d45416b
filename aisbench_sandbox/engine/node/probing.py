"""Tries the launcher with a harmless program, to find out what this machine allows."""

import os
import subprocess
import sys
from collections.abc import Sequence

from aisbench_sandbox.engine.node import launcher

# -I and -S leave out site-packages and PYTHON… variables; a start takes half as long.
# The sandbox's interpreter, as the start of a command.
PYTHON = (sys.executable, "-I", "-S")
_TIMEOUT_SECONDS = 60


def find_failure(arguments: Sequence[str]) -> str:
    """Empty if the launcher succeeds with these arguments, else its last line on stderr.

    Raises OSError if it does not run or takes too long."""
    command = [*PYTHON, launcher.__file__, str(os.getpid()), *arguments]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False, env={"PATH": os.defpath}
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(str(error)) from error
    return (ended.stderr.strip().splitlines() or ["no reason was given"])[-1] if ended.returncode else ""

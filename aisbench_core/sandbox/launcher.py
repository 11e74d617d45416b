"""Starts one process of a job so that it dies with the sandbox: `python -I -S launcher.py PARENT PROGRAM ARGS…`."""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    """Become `command`, to be killed by the system as soon as the parent is gone (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked
        sys.exit(1)
    os.execv(command[0], command)  # noqa: S606 - becoming another program is the purpose


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])

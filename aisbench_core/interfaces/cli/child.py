"""A child process of `aisbench serve` that ends when serve is gone, even after `kill -9`.

`python -m aisbench_core.interfaces.cli.child <pid of serve> <module> <arguments>` runs the module like
`python -m <module>`.
"""

import os
import runpy
import signal
import sys
import threading
import time

CHECK_SECONDS = 0.5
END_SECONDS = 15.0


def main() -> None:
    """Run the module, and end it with the parent process."""
    parent, module, *arguments = sys.argv[1:]
    # Must not keep the module from ending by itself.
    threading.Thread(target=_end_with, args=(int(parent),), daemon=True).start()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _end_with(parent: int) -> None:
    # An orphan gets another parent. Only Linux can send a signal then (PR_SET_PDEATHSIG), so poll.
    while os.getppid() == parent:
        time.sleep(CHECK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)  # the module may still clean up
    time.sleep(END_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)  # it may be stuck in C code


if __name__ == "__main__":
    main()

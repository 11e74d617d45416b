"""A program that `aisbench serve` starts: it ends by itself once serve is gone, also after a `kill -9`.

`python -m aisbench_core.cli.child <pid of serve> <module> <arguments>` runs the module like `python -m <module>`.
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
    """Run the module, and watch the parent meanwhile."""
    parent, module, *arguments = sys.argv[1:]
    threading.Thread(target=_end_with, args=(int(parent),), daemon=True).start()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _end_with(parent: int) -> None:
    """An orphan gets another parent; no signal tells it so on every system."""
    while os.getppid() == parent:
        time.sleep(CHECK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(END_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()

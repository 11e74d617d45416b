"""A process that has loaded what a console needs, and forks one when it is asked: loading takes seconds each time.

It reads one request per line, each a JSON object, and answers with the new process's id. No thread runs in it, no
setting is read and no file is opened, so what it forks begins as `streamlit run app.py` does."""

import ctypes
import importlib
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from aisbench_sandbox.engine.node.launcher import PR_SET_PDEATHSIG

ROOT = Path(__file__).parents[2]
SCRIPTS = {"entry.py", "empty_warehouse.py"}
"""What Streamlit runs itself."""


def main() -> None:
    """Load, then answer requests until nobody is left to ask; each fork goes on as a console."""
    load_console()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets consoles that have ended
    while line := sys.stdin.readline():
        host = os.getpid()
        assert threading.active_count() == 1
        if console := os.fork():
            print(console, flush=True)
        else:
            become_console(json.loads(line), host)


def load_console() -> None:
    """Import the server, the modules of all pages, and what the first page would load."""
    for module in ("streamlit.web.cli", "streamlit.web.server.starlette.starlette_server", "app", "scipy.special"):
        importlib.import_module(module)
    for file in sorted((ROOT / "pages" / "_ui").rglob("*.py")):
        if file.name not in SCRIPTS:
            importlib.import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))


def become_console(request: dict[str, Any], host: int) -> None:
    """Be the program with these arguments and variables that writes to this log, until it is ended."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != host:
        os._exit(1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(request["environment"])
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    sys.argv = ["streamlit", *request["arguments"]]
    from streamlit.web.cli import main as run_streamlit  # loaded above

    run_streamlit()
    sys.exit()


if __name__ == "__main__":
    main()

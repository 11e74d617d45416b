"""Installs locked packages with pip: shows how far it is, and says in one sentence what is needed if no index answers.

`python requirements/install.py --requirement run.lock` passes its arguments to `pip install` of the same Python.
Uses the standard library only: it runs before anything is installed."""

import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

# An isolated build would fetch setuptools without asking for its hash.
PIP = (sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-build-isolation",
       "--progress-bar", "off")  # fmt: skip

# How pip of any version names a requirement, or the file that has it.
SEEN = re.compile(
    r"(?:Collecting|Ignoring|Requirement already satisfied:) ([\w.-]+)"
    r"|Processing (?:\S*/)?([\w.-]+?)-\d\S*\.(?:whl|gz|zip)"
)
UNREACHABLE = re.compile(
    r"Retrying \(Retry|connection broken by|Could not fetch URL|Max retries exceeded|HTTPSConnectionPool"
)
CAUSE = re.compile(r"\[Errno -?\d+\] ([\w ]+)|(Tunnel connection failed: [\w ]+|certificate verify failed|timed out)")

UNPACKING = "unpacking them"

# Seconds between lines where the last one cannot be overwritten.
LINE_EVERY = 10


class Progress:
    """What pip's lines say: how many packages it has, what it does, what went wrong."""

    def __init__(self, arguments: Sequence[str]) -> None:
        locks = [value for name, value in pairwise(arguments) if name == "--requirement"]
        self.total = sum(len(re.findall(r"^[\w.-]+==", Path(lock).read_text("utf-8"), re.M)) for lock in locks)
        self.packages: set[str] = set()
        self.phase = "looking for packages"
        self.problems: list[str] = []

    def read(self, line: str) -> None:
        text = line.strip()
        if seen := SEEN.match(text):
            self.packages.add(re.sub(r"[-_.]+", "-", seen[1] or seen[2]).lower())
            self.phase = "fetching" if text.startswith(("Collecting", "Processing")) else "checking"
        elif text.startswith("Installing collected packages"):
            self.phase = UNPACKING
        elif UNREACHABLE.search(text):
            self.phase = "the package index does not answer, trying again"
        if not text.startswith(
            ("Collecting", "Processing", "Downloading", "Using", "Looking", "Requirement", "Ignoring")
        ):
            self.problems.append(line.rstrip())

    def describe(self, seconds: float) -> str:
        return f"{min(len(self.packages), self.total)} of {self.total} packages, {seconds:.0f} s: {self.phase}"

    def failure(self) -> str:
        text = "\n".join(self.problems)
        if not UNREACHABLE.search(text):  # a wrong hash, a full disk: pip says it well
            return "\n".join(self.problems[-20:])
        found = CAUSE.findall(text)
        why = f" ({next(filter(None, found[-1]))})" if found else ""
        missing = re.search(r"No matching distribution found for (\S+)", text)
        return (
            f"cannot fetch {missing[1] if missing else 'packages'}: no package index answers{why}; pip's configuration "
            f"decides which is asked (see {sys.executable} -m pip config list): connect to it, or set another, a proxy "
            "or a folder of wheels there, then run make again"
        )


def install(arguments: Sequence[str]) -> int:
    """Returns pip's exit code."""
    progress, started = Progress(arguments), time.monotonic()
    pip = subprocess.Popen(
        [*PIP, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_read_lines, args=(pip, lines), daemon=True).start()
    shown, is_terminal = started, sys.stdout.isatty()
    while True:
        try:
            line = lines.get(timeout=1)
            if line is None:
                break
            progress.read(line)
        except queue.Empty:
            pass
        now = time.monotonic()
        if now - shown >= (0.2 if is_terminal else LINE_EVERY):
            shown = now
            _show(progress.describe(now - started), is_terminal)
    code = pip.wait()
    if is_terminal:
        _show("", is_terminal)
    if code:
        print(progress.failure(), file=sys.stderr)
    elif progress.phase == UNPACKING:
        progress.phase = "installed"
        print(f"  {progress.describe(time.monotonic() - started)}")
    return code


def _read_lines(pip: "subprocess.Popen[str]", lines: "queue.Queue[str | None]") -> None:
    for line in pip.stdout or ():
        lines.put(line)
    lines.put(None)


def _show(text: str, is_terminal: bool) -> None:
    # A terminal's line is overwritten, and cleared to its end.
    print(f"\r\033[K  {text[:76]}" if is_terminal and text else "\r\033[K" if is_terminal else f"  {text}",
          end="" if is_terminal else "\n", flush=True)  # fmt: skip


if __name__ == "__main__":
    try:
        sys.exit(install(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)

"""A job's processes: started without a shell in sessions of their own, ended as whole groups, never orphaned."""

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from aisbench_sandbox.engine.node import launcher
from aisbench_sandbox.engine.node.container import ContainerView
from aisbench_sandbox.engine.node.job_user import JobUser
from aisbench_sandbox.engine.node.probing import PYTHON

PROC = Path("/proc")
# The umask of a job in the cloud; the sandbox's own is stricter.
_JOB_UMASK = 0o022


@dataclass(frozen=True, slots=True)
class Process:
    """One started program of a task: `label` identifies it in messages, e.g. "rank 3".

    One that `serves` is not waited for: it is ended when all others have ended."""

    task: str
    label: str
    popen: "subprocess.Popen[bytes]"
    serves: bool = False

    @property
    def exit_code(self) -> int | None:
        """None while it runs; death by signal N is 128 + N, as a container reports it."""
        code = self.popen.poll()
        return 128 - code if code is not None and code < 0 else code


def start(
    task: str,
    label: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    output: Path,
    view: ContainerView | None = None,
    *,
    user: JobUser | None = None,
    serves: bool = False,
) -> Process:
    """Run a program with exactly this environment; stdout and stderr are appended to the file `output`.

    With a view it runs in a container, else as the user. The calling thread has to outlive the program: the system
    kills it when the thread ends."""
    other = ["--user", str(user.uid), str(user.gid)] if user else []
    arguments = view.command(folder, command) if view else [*other, *command]
    read = view.inside if view else str
    # In a nameless file: as its own environment they would affect the launcher, and arguments can be read by
    # everybody.
    with output.open("ab") as stream, tempfile.TemporaryFile() as variables:
        variables.write(json.dumps({name: read(value) for name, value in environment.items()}).encode())
        variables.seek(0)
        own = ["--variables", str(variables.fileno())]
        popen = subprocess.Popen(
            [*PYTHON, launcher.__file__, str(os.getpid()), *own, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={"PATH": os.defpath},
            pass_fds=[variables.fileno()],
            # A session of its own: `killpg` reaches all of the program, and Ctrl-C in the sandbox's terminal none of
            # it.
            start_new_session=True,
            umask=_JOB_UMASK,
        )
    return Process(task, label, popen, serves)


def end_all(processes: Sequence[Process], grace: float, marker: str) -> None:
    """SIGTERM to every process group, SIGKILL after `grace` seconds, also to other processes that carry `marker`."""
    _send_signal(processes, signal.SIGTERM)
    deadline = time.monotonic() + grace
    # Polled: no system call waits for many processes with a timeout.
    while time.monotonic() < deadline and any(process.exit_code is None for process in processes):
        time.sleep(0.02)
    _send_signal(processes, signal.SIGKILL)
    for process in processes:
        # Also after SIGKILL, or the process would stay as a zombie.
        process.popen.wait()
    kill_marked(marker)


def kill_marked(marker: str) -> int:
    """Kill every process whose environment has `marker` (NAME=start of value); returns how many.

    The pidfd is opened before the environment is read, so a reused process id is never hit."""
    wanted = f"\0{marker}".encode()
    return sum(_kill_if(pid, wanted) for pid in process_ids())


def _kill_if(pid: int, wanted: bytes) -> bool:
    with suppress(OSError):  # ended meanwhile, or another user's
        handle = os.pidfd_open(pid)
        try:
            if wanted in b"\0" + (PROC / str(pid) / "environ").read_bytes():
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                return True
        finally:
            os.close(handle)
    return False


def _send_signal(processes: Iterable[Process], number: signal.Signals) -> None:
    for process in processes:
        # Not waited for yet, so the id still belongs to the group.
        if process.exit_code is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.popen.pid, number)


def process_ids() -> list[int]:
    """Every process of this machine; none where the system does not list them."""
    if not PROC.is_dir():  # not Linux
        return []
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]

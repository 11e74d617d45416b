"""ascend-fd (MindCluster Ascend FaultDiag) as a source of causes: asked once when a run has failed, in an
environment of its own, and kept in the run's folder."""

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aisbench_core.base.errors import AisbenchError, ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import write_whole
from aisbench_core.config.settings import read_environment
from aisbench_core.config.variables import scrub_environment
from aisbench_core.running import logs
from aisbench_core.running.diagnosing.log_clues import beginning_and_end, share_of
from aisbench_core.store.run_folders.run_paths import RunFolder

WORKER = Path(__file__).with_name("ascend_fd_worker.py")
SECONDS = 120.0
MOST_NODES = 256  # it starts a process for each
SHOWN_LETTERS = 400

# Ranks that wait for another one report these. By ascend-fd's own list of codes: sockets, P2P and notify of HCCL, waits
# of the runtime, and what frameworks print about them.
_WAITING = ("AISW_CANN_HCCL_", "AISW_CANN_Runtime_020", "AISW_CANN_Runtime_021")
_WAITING_MESSAGES = ("AISW_CANN_ERRMSG_Custom_03", "AISW_CANN_ERRMSG_Custom_04", "AISW_CANN_ERRMSG_Custom_05")
# Any exception of Python that has no code of its own.
_EXCEPTION = "AISW_TRACEBACK"


class FaultKind(StrEnum):
    """OWN: of the node itself; CONSEQUENCE: ranks waited for another one; EXCEPTION: Python raised something."""

    OWN = "own"
    CONSEQUENCE = "consequence"
    EXCEPTION = "exception"


@dataclass(frozen=True, slots=True)
class AscendFault:
    """A fault that ascend-fd found in a node's log, in its own words. `node`: None if it does not say which."""

    code: str
    component: str
    module: str
    cause: str
    description: str
    suggestion: str
    node: int | None
    lines: tuple[str, ...]

    @property
    def advice(self) -> str:
        """What to do, else what the code means; in one line, to end a sentence with."""
        return " ".join((self.suggestion or self.description).split()).rstrip(".。;；")

    @property
    def kind(self) -> FaultKind:
        """How much the fault says, by its code."""
        if self.code.startswith((*_WAITING, *_WAITING_MESSAGES)):
            return FaultKind.CONSEQUENCE
        return FaultKind.EXCEPTION if self.code.startswith(_EXCEPTION) else FaultKind.OWN


@dataclass(frozen=True, slots=True)
class AscendFd:
    """Asks ascend-fd. `venv`: the virtual environment that it is installed in; empty: it is not used.
    `seconds`: it is ended after that time."""

    venv: str
    seconds: float = SECONDS

    def diagnose(self, folder: RunFolder) -> None:
        """Store what ascend-fd finds in a run's logs.

        Raises AisbenchError if it cannot be started, fails, or takes too long; the message says why."""
        files = {node: folder.log(node) for node in logs.list_nodes(folder)}
        if not self.venv or not files:
            return
        answer = _run_worker(_find_python(self.venv), {"servers": _read_servers(files)}, self.seconds)
        faults = [asdict(_to_fault(each)) for each in answer["faults"]]
        content = {"faults": faults, "errors": answer["errors"]}
        write_whole(folder.ascend_fd, json.dumps(content, ensure_ascii=False, indent=1).encode())
        if answer["errors"] and not faults:
            raise AisbenchError(Message("ascend-fd failed: {reason}", reason=str(answer["errors"][0])))


def read_faults(folder: RunFolder) -> tuple[AscendFault, ...]:
    """The stored faults; none without a file, or from a damaged one, since the other sources remain."""
    try:
        stored = json.loads(folder.ascend_fd.read_text("utf-8"))["faults"]
        return tuple(AscendFault(**{**each, "lines": tuple(each["lines"])}) for each in stored)
    except (OSError, ValueError, KeyError, TypeError):
        return ()


def _find_python(venv: str) -> Path:
    python = Path(venv).expanduser() / "bin" / "python"
    if not python.exists():
        raise ConfigError(
            Message("ascend_fd_venv: there is no {program}", program=str(python)),
            Message("name the virtual environment in which ascend-fd is installed"),
        )
    return python


def _read_servers(files: Mapping[int, Path]) -> list[dict[str, Any]]:
    """The logs as the worker takes them; it refuses empty ones."""
    most = share_of(len(files))
    texts = {node: beginning_and_end(file, most) for node, file in [*files.items()][:MOST_NODES]}
    return [
        {"name": f"worker-{node}", "modified": _format_modified(files[node]), "lines": lines}
        for node, lines in texts.items()
        if lines
    ]


def _format_modified(file: Path) -> str:
    return f"{datetime.fromtimestamp(file.stat().st_mtime, UTC):%Y-%m-%d %H:%M:%S}"


def _run_worker(python: Path, logs_of_nodes: dict[str, Any], seconds: float) -> dict[str, Any]:
    """What the worker says. Processes that it started end with it."""
    with TemporaryDirectory(prefix="ascend-fd-") as home, _start_worker(python, home) as process:
        try:
            said, errors = process.communicate(json.dumps(logs_of_nodes).encode(), timeout=seconds)
        except subprocess.TimeoutExpired as error:
            message = Message("ascend-fd took more than {seconds} s and was ended", seconds=f"{seconds:g}")
            raise AisbenchError(message) from error
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return _parse_answer(said, errors)


def _start_worker(python: Path, home: str) -> "subprocess.Popen[bytes]":
    """The worker. ascend-fd writes logs to its home directory."""
    try:
        return subprocess.Popen(
            [str(python), str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**scrub_environment(read_environment()), "HOME": home},
            cwd=home,
            start_new_session=True,
        )
    except OSError as error:
        raise AisbenchError(Message("ascend-fd failed: {reason}", reason=str(error))) from error


def _parse_answer(said: bytes, errors: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(said)
        return {"faults": list(answer["faults"]), "errors": list(answer["errors"])}
    except (ValueError, KeyError, TypeError) as error:
        last = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise AisbenchError(Message("ascend-fd failed: {reason}", reason=last[:SHOWN_LETTERS] or "-")) from error


def _to_fault(said: dict[str, Any]) -> AscendFault:
    words = {name: str(said[name]) for name in ("code", "component", "module", "cause", "description", "suggestion")}
    number = str(said["server"]).partition("worker-")[2]
    lines = tuple(str(line)[:SHOWN_LETTERS] for line in said["lines"])
    return AscendFault(**words, node=int(number) if number.isdecimal() else None, lines=lines)

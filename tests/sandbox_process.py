"""A sandbox in a process of its own, as a test sees it: addresses, the admin side, sudden death and return."""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from aisbench_sandbox.engine.node import launcher

READY_SECONDS = 60.0
END_SECONDS = 60.0
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class SandboxProcess:
    """Starts `aisbench-sandbox` on free ports over one data folder; `restart` comes back on the same ports."""

    def __init__(self, data_dir: Path, engine: str = "scripted", arguments: Sequence[str] = ()) -> None:
        self.data_dir = data_dir
        self.engine = engine
        self.profile: dict[str, Any] = {}
        self._arguments = tuple(arguments)
        self._ports = (0, 0)
        self._process: subprocess.Popen[str] | None = None

    @classmethod
    def start(cls, data_dir: Path, engine: str = "scripted", arguments: Sequence[str] = ()) -> "SandboxProcess":
        """A running sandbox."""
        sandbox = cls(data_dir, engine, arguments)
        sandbox.resume()
        return sandbox

    @property
    def obs_url(self) -> str:
        """The OBS address."""
        return str(self.profile["obs_server"])

    @property
    def modelarts_url(self) -> str:
        """The ModelArts address."""
        return str(self.profile["modelarts_endpoint"])

    @property
    def bucket(self) -> str:
        """The bucket that exists from the start."""
        return str(self.profile["bucket"])

    @property
    def project_id(self) -> str:
        """The region's only project."""
        return str(self.profile["project_id"])

    @property
    def keys(self) -> tuple[str, str]:
        """Access key and secret key."""
        stored = yaml.safe_load(Path(self.profile["credentials_file"]).read_text("utf-8"))
        return stored["access_key"], stored["secret_key"]

    @property
    def pid(self) -> int:
        """The process' number."""
        assert self._process is not None
        return self._process.pid

    # --- life and death -------------------------------------------------------------------------------

    def resume(self) -> None:
        """Start (again), on the ports of the last time."""
        command = [
            # Should the tests be killed, their sandboxes end with them.
            *(sys.executable, "-I", "-S", launcher.__file__, str(os.getpid())),
            *(sys.executable, "-m", "aisbench_sandbox", "--data", str(self.data_dir), "--engine", self.engine),
            *("--modelarts-port", str(self._ports[0]), "--obs-port", str(self._ports[1]), *self._arguments),
        ]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self._process = process
        line = _first_line(process)
        if not line.startswith("sandbox ready"):
            process.kill()
            process.wait()
            raise AssertionError(f"the sandbox did not start: {line!r}, exit code {process.returncode}")
        self.profile = yaml.safe_load((self.data_dir / "profile.yaml").read_text("utf-8"))
        self._ports = (_port(self.modelarts_url), _port(self.obs_url))

    def kill(self) -> None:
        """End it as `kill -9` does."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """End it as Ctrl-C does; its exit code."""
        return self._end(signal.SIGTERM)

    def restart(self) -> None:
        """kill -9, and back on the same ports."""
        self.kill()
        self.resume()

    def _end(self, number: signal.Signals) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        process.send_signal(number)
        try:
            code = process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            assert process.stdout is not None
            process.stdout.close()
        return code

    # --- the admin side -------------------------------------------------------------------------------

    def reset(self) -> None:
        """Forget jobs, objects, faults, latency, script and counts."""
        self.admin("POST", "reset")

    def faults(self, *faults: Mapping[str, Any]) -> None:
        """What goes wrong from now on, in this order; none: nothing."""
        self.admin("PUT", "faults", list(faults))

    def latency(self, obs_ms: float = 0, modelarts_ms: float = 0) -> None:
        """How long every request waits."""
        self.admin("PUT", "latency", {"obs_ms": obs_ms, "modelarts_ms": modelarts_ms})

    def script(self, **script: Any) -> None:
        """What jobs that are created from now on pretend (scripted engine)."""
        self.admin("PUT", "script", script)

    def advance(self, job_id: str) -> None:
        """Move one job one phase on (scripted engine)."""
        self.admin("POST", f"jobs/{job_id}/advance")

    def push_image(self, organisation: str, repository: str, tag: str) -> str:
        """Move a tag of an image to other content; returns its new digest."""
        path = f"images/{organisation}/{repository.replace('/', '$')}/{tag}/push"
        return str(self.admin("POST", path)["digest"])

    def requests(self) -> dict[str, dict[str, int]]:
        """How often what was asked, by service."""
        counts: dict[str, dict[str, int]] = self.admin("GET", "requests")
        return counts

    def forget_requests(self) -> None:
        """Count from zero."""
        self.admin("DELETE", "requests")

    def admin(self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> Any:
        """One request to the admin side; raises urllib.error.HTTPError when it is refused."""
        content = None if body is None else json.dumps(body).encode()
        address = f"{self.modelarts_url}/_sandbox/{path}"
        request = urllib.request.Request(address, content, dict(headers or {}), method=method)
        with _DIRECT.open(request, timeout=30) as reply:
            return json.loads(reply.read())


def processes_of(job_id: str) -> list[int]:
    """The living processes that were started for a job, by it or by what it started."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _belongs(entry, job_id)]


def ranks_of(job_id: str) -> list[int]:
    """What the sandbox itself has started for it: the leaders of their sessions."""
    return sorted({_session(pid) for pid in processes_of(job_id)} - {0})


def _belongs(entry: Path, job_id: str) -> bool:
    try:
        return f"ma-job-{job_id}".encode() in (entry / "environ").read_bytes()
    except OSError:
        return False


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0


def _first_line(process: "subprocess.Popen[str]") -> str:
    # A reader that cannot be interrupted, so it is ended from outside when the line does not come.
    assert process.stdout is not None
    watchdog = threading.Timer(READY_SECONDS, os.kill, (process.pid, signal.SIGKILL))
    watchdog.start()
    try:
        return process.stdout.readline()
    finally:
        watchdog.cancel()


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])

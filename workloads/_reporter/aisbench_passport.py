"""Capture what a node of a job is, before its first step: without dependencies, on Python 3.7 and later.

aisbench_report calls start() on the first card of each node; for scripts without it, ma-pre-start.sh runs this file. It
takes at most a second of the script's time: what tools have not said by then is added later. Whatever goes wrong here
is printed, and the script goes on.

passport_{server}.json    hardware, system, packages, environment, arguments and configuration files, as they are here

Of environment variables that are not on the list only the names are stored. No value that looks like a secret is, and
no hash of one: whoever reads the job could guess short passwords by it.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from aisbench_masking import MASK, holds_secret, looks_secret, mask_text

FORMAT = "aisbench-passport/1"

_WAIT = 0.8  # seconds that the script waits
_TOOL_SECONDS = 10.0  # a tool that hangs is ended after this time
_MOST_OUTPUT = 64 * 1024  # bytes of one tool, or of a file with a version
_MOST_TEXT = 256 * 1024  # bytes of a configuration file; of a longer one only the hash is stored
_MOST_CONFIG = 16 * 1024 * 1024  # bytes of one that is hashed
_MOST_CONFIGS, _MOST_PACKAGES, _MOST_VALUE = 16, 2000, 4096

_LISTED = re.compile(
    r"(ACL|ASCEND|ATB|CUBLAS|CUDA|CUDNN|DEEPSPEED|DS|FI|GLOG|GLOO|GOMP|HCCL|HF|INF_NAN|JAX|KMP|LCCL|MALLOC|MINDSPORE|MKL"
    r"|MS|NCCL|NPU|NUMEXPR|NVIDIA|OMP|OMPI|OPENBLAS|PYTORCH|TBE|TE|TF|TOKENIZERS|TORCH|TORCHINDUCTOR|TRANSFORMERS|TRITON"
    r"|UCX|XLA)_\w+|LD_LIBRARY_PATH|LD_PRELOAD|PYTHONPATH|TASK_QUEUE_ENABLE|COMBINED_ENABLE|CPU_AFFINITY_CONF|RANK_SIZE"
    r"|WORLD_SIZE|LOCAL_WORLD_SIZE|DEVICE_NUM|SINGLESERVER_MODE|MA_NUM_HOSTS|MA_NUM_GPUS|MA_ENGINE_VERSION|VC_WORKER_NUM"
)
_CONFIG_FILE = re.compile(r"\.(ya?ml|json5?|toml|ini|cfg|conf|py|txt|properties)$", re.IGNORECASE)
_NPU = re.compile(r"^\|\s*(\d+)\s+\S+\s*\|\s*[A-Za-z]+\s*\|", re.MULTILINE)
_PACKAGE = re.compile(r"(.+?)-([^-]+?)(?:-py[\d.]+.*)?\.(?:dist|egg)-info")
_GPU = "index,name,uuid,serial,vbios_version,driver_version,memory.total,power.limit,clocks.max.sm,clocks.max.memory"
_NVIDIA = ["nvidia-smi", f"--query-gpu={_GPU},pcie.link.gen.max", "--format=csv"]
_FOLDERS = ("MA_JOB_DIR", "MA_LOG_DIR", "MA_MOUNT_PATH", "MA_HOME", "HOME", "TMPDIR")
_VERSIONS = (  # of driver, firmware and CANN, where they are usually installed
    "/usr/local/Ascend/driver/version.info",
    "/usr/local/Ascend/firmware/version.info",
    "{cann}/version.cfg",
    "{cann}/{machine}-linux/ascend_toolkit_install.info",
    "{cann}/{machine}-linux/ascend_nnae_install.info",
    "{cann}/hccl/version.info",
    "{cann}/runtime/version.info",
    "/usr/local/cuda/version.json",
)


def start(server: int, write: Callable[[str, str], None]) -> None:
    """Capture this node in passport_{server}.json; `write` stores a text under a name in the output directory."""
    try:
        thread = threading.Thread(target=_record, args=(server, write), name="aisbench-passport", daemon=True)
        thread.start()
        thread.join(_WAIT + 0.1)
    except Exception as error:
        print(f"aisbench: this node is not captured: {type(error).__name__}: {error}", flush=True)


def _record(server: int, write: Callable[[str, str], None]) -> None:
    """Store what is known in time, and again when the last tool has answered."""
    try:
        began = time.monotonic()
        tools = _Tools()
        found = {"format": FORMAT, "node": server, "at": round(time.time(), 3)}  # type: dict[str, Any]
        problems = []  # type: list[str]
        for name, collect in _PARTS.items():
            try:
                found[name] = collect()
            except Exception as error:  # a part that breaks must not cost the others
                problems.append(f"{name}: {type(error).__name__}")
        is_complete = tools.wait(max(0.0, began + _WAIT - time.monotonic()))
        _store(found, tools, problems, began, server, write)
        if not is_complete:
            tools.wait(_TOOL_SECONDS * 2)
            _store(found, tools, problems, began, server, write)
    except Exception as error:
        print(f"aisbench: this node is not captured: {type(error).__name__}: {error}", flush=True)


def _store(
    found: dict[str, Any],
    tools: _Tools,
    problems: list[str],
    began: float,
    server: int,
    write: Callable[[str, str], None],
) -> None:
    seconds = round(time.monotonic() - began, 3)
    values = dict(found, tools=dict(tools.outputs), problems=problems, seconds=seconds)
    write(f"passport_{server}.json", json.dumps(values, ensure_ascii=False, indent=1, sort_keys=True))


# --- tools ----------------------------------------------------------------------------------------------


class _Tools:
    """Asks the tools that are there, all at once."""

    def __init__(self) -> None:
        self.outputs = {}  # type: dict[str, str]
        self._threads = []  # type: list[threading.Thread]
        for command in (["lscpu"], ["npu-smi", "info"], _NVIDIA):
            if shutil.which(command[0]):
                self._begin(command)

    def _begin(self, command: list[str]) -> None:
        thread = threading.Thread(target=self._ask, args=(command,), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _ask(self, command: list[str]) -> None:
        with contextlib.suppress(Exception):  # a tool that is broken says nothing
            text = mask_text(read_tool(command, _TOOL_SECONDS))[0]
            if command == ["npu-smi", "info"]:
                for card in dict.fromkeys(_NPU.findall(text)):
                    for what in ("board", "common"):
                        self._begin([*command, "-t", what, "-i", card])
            self.outputs[" ".join(command)] = text

    def wait(self, seconds: float) -> bool:
        """Whether all have answered within so many seconds."""
        end = time.monotonic() + seconds
        for thread in self._threads:  # grows meanwhile
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)


def read_tool(command: list[str], seconds: float, most: int = _MOST_OUTPUT) -> str:
    """What a tool prints within the time limit, and no more of it than the limit."""
    process = subprocess.Popen(  # in a session of its own, to end what it starts, too
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=dict(os.environ, LC_ALL="C"),
    )
    timer = threading.Timer(seconds, _kill, [process])
    timer.daemon = True
    timer.start()
    ending = functools.partial(_kill, process)  # a script that ends first takes its tools along
    atexit.register(ending)
    with process:
        try:
            output = process.stdout.read(most) if process.stdout else b""
        finally:
            timer.cancel()
            _kill(process)
            atexit.unregister(ending)
    return output.decode("utf-8", "replace")


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):  # it has ended
        os.killpg(process.pid, signal.SIGKILL)


# --- the machine ----------------------------------------------------------------------------------------


def _describe_host() -> dict[str, Any]:
    memory = re.search(r"MemTotal:\s*(\d+) kB", _read("/proc/meminfo"))
    name = re.search(r'^PRETTY_NAME="?([^"\n]*)', _read("/etc/os-release"), re.MULTILINE)
    governor = _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip()
    pages = re.search(r"\[(\w+)\]", _read("/sys/kernel/mm/transparent_hugepage/enabled"))
    found = {
        "name": platform.node(),
        "server": os.environ.get("MA_CURRENT_HOST_IP", ""),
        "instance": os.environ.get("MA_CURRENT_INSTANCE_NAME", ""),
        "system": name.group(1) if name else "",
        "kernel": platform.release(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "memory_kb": int(memory.group(1)) if memory else None,
        "cpus_allowed": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "governor": governor,
        "transparent_hugepages": pages.group(1) if pages else "",
        "infiniband": [f"{_read(str(file)).strip()}" for file in sorted(_glob("/sys/class/infiniband/*/ports/1/rate"))],
    }
    return {name: value for name, value in found.items() if value not in (None, "", [])}


def _read_versions() -> dict[str, str]:
    cann = os.environ.get("ASCEND_HOME_PATH") or os.environ.get("ASCEND_TOOLKIT_HOME") or ""
    folders = [cann] if cann else ["/usr/local/Ascend/ascend-toolkit/latest", "/usr/local/Ascend/cann"]
    paths = [path.format(cann=folder, machine=platform.machine()) for folder in folders for path in _VERSIONS]
    found = {path: _read(path, _MOST_OUTPUT) for path in dict.fromkeys(paths)}
    return {path: mask_text(text)[0] for path, text in found.items() if text}


def _list_packages() -> dict[str, str]:
    """Name and version of what Python can import, by the names of folders, which costs no import."""
    found = {}  # type: dict[str, str]
    for folder in sys.path:
        for entry in sorted(_glob(f"{folder or '.'}/*-info")):
            match = _PACKAGE.match(entry.name)
            if match and len(found) < _MOST_PACKAGES:
                name = re.sub(r"[-_.]+", "-", match.group(1)).lower()
                found.setdefault(name, match.group(2) + _find_origin(entry))
    return found


def _find_origin(entry: Path) -> str:
    """Where a package was installed from, if not from an index: without user, password and query."""
    try:
        origin = json.loads(_read(str(entry / "direct_url.json")) or "{}")
        address = re.sub(r"(://)[^/]*@", r"\1", str(origin.get("url", ""))).partition("?")[0].partition("#")[0]
        commit = str((origin.get("vcs_info") or {}).get("commit_id", ""))
    except Exception:
        return ""
    where = "local" if address.startswith("file:") else address
    return f" ({where}{'@' + commit if commit else ''})" if where and not looks_secret("", where) else ""


def _list_environment() -> dict[str, str | None]:
    """The variables of the list; of others, and of what looks like a secret, only the names."""
    return {
        name: _without_folders(value) if _LISTED.fullmatch(name) and not holds_secret(name, value) else None
        for name, value in os.environ.items()
        if not holds_secret("", name)
    }


def _without_folders(value: str) -> str:
    """The value with variables in place of folders that each job has of its own."""
    folders = sorted(((os.environ.get(name) or "", name) for name in _FOLDERS), reverse=True)  # the longer one first
    for folder, name in folders:
        value = value.replace(folder, f"${name}") if len(folder) > 1 else value
    return value[:_MOST_VALUE]


# --- arguments and configuration files ------------------------------------------------------------------


def _list_arguments() -> list[str]:
    """As they are, but for values that look like secrets."""
    shown, pending = [sys.argv[0]], ""
    for argument in sys.argv[1:]:
        name, separator, value = argument.partition("=")
        if not argument.startswith("-"):
            name, separator, value = pending, "", argument
        is_secret = bool(value) and holds_secret(name.lstrip("-").replace("-", "_"), value)
        masked = f"{name}={MASK}" if separator else MASK
        shown.append(masked if is_secret else argument)
        pending = argument if argument.startswith("-") and not separator else ""
    return [_without_folders(argument) for argument in shown]


def _list_configs() -> list[dict[str, Any]]:
    """The configuration files that arguments name."""
    found = []  # type: list[dict[str, Any]]
    pending, position = "", 0
    for argument in sys.argv[1:]:
        name, separator, value = argument.partition("=")
        if not argument.startswith("-"):
            position += not pending
            name, value = pending or f"argument {position}", argument
        pending = argument if argument.startswith("-") and not separator else ""
        file = _find_file(value) if _CONFIG_FILE.search(value) else None
        if file and len(found) < _MOST_CONFIGS:
            found.append(
                dict(_describe_config(file), argument=name.lstrip("-"), path=_without_folders(mask_text(value)[0]))
            )
    return found


def _find_file(value: str) -> Path | None:
    """Where programs look for a relative path: here, beside the script, and in the folders above it."""
    script = Path(sys.argv[0]).resolve().parent
    for folder in (Path(), script, script.parent, Path(os.environ.get("MA_JOB_DIR", "."))):
        with contextlib.suppress(OSError):
            if (folder / value).is_file():
                return folder / value
    return None


def _describe_config(file: Path) -> dict[str, Any]:
    size = file.stat().st_size
    if size > _MOST_CONFIG:
        return {"bytes": size}
    content = file.read_bytes()
    text, masked = mask_text(content.decode("utf-8", "replace"))
    # The hash of a text of which all but a short password is known would give the password away.
    hashed = text.encode() if masked else content
    stored = {"text": text} if size <= _MOST_TEXT else {}
    return dict(stored, bytes=size, masked=masked, sha256=hashlib.sha256(hashed).hexdigest())


def _read(path: str, most: int = 16 * 1024) -> str:
    try:
        with open(path, "rb") as file:  # noqa: PTH123  # files of /proc have no size
            return file.read(most).decode("utf-8", "replace")
    except OSError:
        return ""


def _glob(pattern: str) -> Iterable[Path]:
    folder, name = os.path.split(pattern)
    if "*" in folder:
        return Path("/").glob(pattern.lstrip("/"))
    with contextlib.suppress(OSError):
        return list(Path(folder).glob(name))
    return []


_PARTS = {
    "host": _describe_host,
    "versions": _read_versions,
    "packages": _list_packages,
    "environment": _list_environment,
    "arguments": _list_arguments,
    "configs": _list_configs,
}  # type: dict[str, Callable[[], Any]]


def main() -> None:
    """Capture this node from ma-pre-start.sh: `aisbench_passport.py OUTPUT SCRIPT [ARGUMENT...]`."""
    name, sys.argv = sys.argv[1], sys.argv[2:]
    child = os.fork()  # slow tools may go on while the script trains
    if child == 0:
        os.setsid()
        _record(int(os.environ.get("VC_TASK_INDEX") or 0), lambda file, text: _write(_find_output(name), file, text))
        os._exit(0)
    end = time.monotonic() + _WAIT + 0.1
    while time.monotonic() < end and os.waitpid(child, os.WNOHANG) == (0, 0):
        time.sleep(0.02)


def _find_output(name: str) -> str:
    """The directory of an output, as far as the platform says it."""
    stated = os.environ.get(name, "")
    with contextlib.suppress(ValueError, KeyError, TypeError):
        stated = stated or json.loads(os.environ.get("MA_OUTPUTS", ""))["outputs"][name]["local_dir"]
    return stated or f"/home/ma-user/modelarts/outputs/{name}_0"


def _write(directory: str, name: str, text: str) -> None:
    unfinished = Path(directory) / f".{name}.{os.getpid()}"
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    unfinished.write_text(text, "utf-8")
    unfinished.replace(Path(directory) / name)


if __name__ == "__main__":
    main()

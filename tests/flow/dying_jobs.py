"""Jobs that die in a named way: the boot file, and the cause that each way has. As a program it records their logs.

`.venv/bin/python -m tests.flow.dying_jobs` runs all of them in a sandbox and writes tests/failures/sandbox.yaml."""

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from aisbench_core.model import Run, RunSpec
from tests.flow.following import Bench, bench_on
from tests.sandbox_process import SandboxProcess

RECORDED = Path(__file__).parents[1] / "failures" / "sandbox.yaml"

START = """
import argparse, os, sys, time
rank = int(os.environ.get("RANK_ID", "0"))
say = lambda text: print(f"[rank{rank}]: {text}", flush=True)
say("step 1 loss 2.3")
"""
# Rank 0 waits for rank 1, whose end it notices.
WITNESS = """
if rank == 0:
    time.sleep(1.5)
    raise ConnectionResetError(104, "Connection reset by peer")
"""


@dataclass(frozen=True)
class Way:
    """A way to die: what the code does, the cause, and the rank that dies first, if the log can say which."""

    code: str
    cause: str
    rank: int | None = None
    ranks: int = 1
    parameters: Mapping[str, float] | None = None


WAYS: Mapping[str, Way] = {
    "missing-file": Way("open('/cache/data/train.idx')", "file-missing", 0),
    "missing-module": Way("import apex_of_nowhere", "import-error", 0),
    "missing-name": Way("from os import path_of_nowhere", "import-error", 0),
    "unknown-argument": Way(
        "argparse.ArgumentParser().parse_args(['--epochs=90'])", "boot-argument", 0, parameters={"epochs": 90}
    ),
    "wrong-value": Way(
        "parser = argparse.ArgumentParser(); parser.add_argument('--learning_rate', type=int)\n"
        "parser.parse_args(['--learning_rate=0.5'])",
        "boot-argument",
        0,
        parameters={"learning_rate": 0.5},
    ),
    "key-error": Way("{}['optimiser']", "code-exception", 0),
    "type-error": Way("len(3)", "code-exception", 0),
    "no-permission": Way("open('/proc/1/environ', 'w')", "file-permission", 0),
    "killed": Way("os.kill(os.getpid(), 9)", "host-memory", 0),
    "crashed": Way("os.kill(os.getpid(), 11)", "segfault", 0),
    "too-much-memory": Way("import numpy; numpy.ones((10**9, 10**9))", "host-memory", 0),
    "port-in-use": Way(
        "import socket\nfirst = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_server(('127.0.0.1', first.getsockname()[1]))",
        "port-in-use",
        0,
    ),
    "unknown-host": Way("import socket; socket.getaddrinfo('nowhere.invalid', 80)", "network", 0),
    "full-disk": Way("open('/dev/full', 'w', buffering=1).write('checkpoint' * 9999)", "disk-full", 0),
    "no-result": Way("say('done')", "result-missing"),
    "damaged-checkpoint": Way("import pickle; pickle.loads(b'no pickle')", "checkpoint", 0),
    "nan-of-rank-1": Way(
        "if rank == 1:\n    time.sleep(1)\n    say('step 2 loss nan')\n"
        "    raise SystemExit('[rank1]: ValueError: loss is nan at step 2')\n" + WITNESS,
        "nan-loss",
        1,
        ranks=2,
    ),
    "memory-of-rank-1": Way(
        "if rank == 1:\n    time.sleep(1)\n"
        "    raise SystemExit('[rank1]: RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB')\n" + WITNESS,
        "card-memory",
        1,
        ranks=2,
    ),
    "silent": Way("os._exit(3)", "unknown"),
}


def spec_of(way: Way, folder: Path) -> RunSpec:
    """A run whose boot file dies that way."""
    folder.mkdir(parents=True)
    (folder / "train.py").write_text(f"{START}\n{way.code}\n")
    return RunSpec.model_validate(
        {
            "workload": "quickstart_digits",
            "code_dir": str(folder),
            "boot_file": "train.py",
            "flavor": "sandbox.cpu.2cards" if way.ranks == 2 else "sandbox.cpu.1card",
            "cards_per_node": way.ranks,
            "parameters": dict(way.parameters or {}),
        }
    )


def died(bench: Bench, folder: Path) -> dict[str, Run]:
    """Runs that have died, by the name of the way."""
    launched = {name: bench.launch(spec_of(way, folder / name)) for name, way in WAYS.items()}

    return {name: bench.await_end(run) for name, run in launched.items()}


def record(bench: Bench, folder: Path) -> None:
    """Write what the runs left behind as labelled failures."""
    cases = []
    for name, run in died(bench, folder).items():
        way, attempt = WAYS[name], bench.core.files.job(run.run_id).attempts[-1]
        task = next((each for each in attempt.tasks if each.exit_code), None)
        case: dict[str, object] = {
            "id": f"sandbox-{name}",
            "cause": way.cause,
            "source": f"tests/flow/dying_jobs.py: {name}",
            "logs": {node: _log(bench, run, node) for node in bench.core.files.nodes(run.run_id)},
            "detail": str(run.detail),
        }
        case |= {"task": task.task, "exit_code": task.exit_code, "message": task.message} if task else {}
        case |= {} if way.rank is None or way.ranks == 1 else {"rank": way.rank}
        cases.append(case)
    RECORDED.write_text(yaml.safe_dump({"cases": cases}, sort_keys=False, allow_unicode=True, width=4096), "utf-8")


def _log(bench: Bench, run: Run, node: int) -> str:
    """The log of a node; Python is where an image has it, and not where this machine does."""
    return bench.core.files.log_tail(run.run_id, node).replace(sys.base_prefix, "/home/ma-user/anaconda3")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        sandbox = SandboxProcess.start(home / "sandbox", engine="subprocess")
        try:
            record(bench_on(sandbox, home / "data"), home / "code")
        finally:
            sandbox.stop()

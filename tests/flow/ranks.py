"""Starts a boot file as a training container does: once per card on every node, with the platform's environment."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from aisbench_core.domain.authoring.workloads import Workload
from tests.ports import free_port

LONGEST_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How one rank ended, and what it printed."""

    code: int
    text: str


def run_ranks(
    workload: Workload, place: Path, nodes: int, cards: int, *arguments: str, **environment: str
) -> list[Ended]:
    """Run a shipped workload on this machine; the results are in `place / "out"`."""
    boot_file = uploaded(workload, place)
    command = [sys.executable, str(boot_file), f"--train_url={place / 'out'}", *arguments]
    everywhere = {
        "PATH": os.environ["PATH"],
        "PYTHONWARNINGS": "error",
        "JOB_ID": place.name,
        "VC_WORKER_NUM": str(nodes),
        "VC_WORKER_HOSTS": ",".join(["127.0.0.1"] * nodes),
        "MA_TORCHRUN_MASTER_PORT": str(free_port(nodes)),
        "RANK_SIZE": str(nodes * cards),
        **environment,
    }
    processes = [
        subprocess.Popen(
            command,
            env=everywhere
            | {"RANK_ID": str(rank), "DEVICE_ID": str(rank % cards), "VC_TASK_INDEX": str(rank // cards)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(nodes * cards)
    ]
    return wait(processes)


def wait(processes: "list[subprocess.Popen[str]]") -> list[Ended]:
    """How they ended; whatever happens, none is left behind."""
    try:
        texts = [process.communicate(timeout=LONGEST_SECONDS)[0] for process in processes]
        return [Ended(process.returncode, text) for process, text in zip(processes, texts, strict=True)]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def uploaded(workload: Workload, place: Path) -> Path:
    """The boot file in a copy of the code, with the reporter beside it."""
    code = shutil.copytree(workload.code_dir, place / "code")
    assert workload.reporter_files
    for module in workload.reporter_files:
        shutil.copy(module, code)
    return code / workload.boot_file


def numbers_in(folder: Path) -> dict[str, float]:
    """Every result file with its bare number, by its path."""
    files = [file for file in sorted(folder.rglob("*.json")) if file.name != "dataset.json"]
    return {str(file.relative_to(folder)): float(file.read_text("utf-8")) for file in files}

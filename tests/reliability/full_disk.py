"""A run whose data folder fills up to the last byte in the middle of its way; prints what came of it as JSON.

It mounts a small file system over the data folder, so it runs in a mount namespace of its own (unshare --mount)."""

import json
import subprocess
import sys
from pathlib import Path

from aisbench_core.base.errors import AisbenchError
from aisbench_core.model import LINE, Run, RunState
from tests.flow.following import Bench, bench_on
from tests.flow.trouble import IMPATIENT
from tests.sandbox_process import SandboxProcess

SIZE = "64m"
BLOCK = b"\0" * 65536


def fill(file: Path) -> None:
    """Write until there is no room left, to the last byte."""
    with file.open("wb", buffering=0) as out:
        for block in (BLOCK, b"\0"):
            try:
                while out.write(block):
                    pass
            except OSError:
                continue


def walk(bench: Bench, state: RunState | None) -> tuple[Run, str]:
    """Launch a run and fill the disk when it is in that state (None: before the launch); make room, let it end."""
    filler = bench.core.settings.data_dir / "filler"
    refused = ""
    if state is None:
        fill(filler)
        try:
            run = bench.launch()
        except (AisbenchError, OSError) as error:
            refused = str(error)
            filler.unlink()
            run = bench.launch()
    else:
        run = bench.follow(bench.launch(), state)
        fill(filler)
    for _ in range(3):
        try:
            bench.tick()
        except (AisbenchError, OSError) as error:
            refused = str(error)
    filler.unlink(missing_ok=True)
    return bench.follow(run), refused


def main() -> None:
    """`python -m tests.reliability.full_disk DATA_DIR SANDBOX_DIR ROUNDS`."""
    data_dir, sandbox_dir, rounds = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    data_dir.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(data_dir)], check=True)
    bench = bench_on(SandboxProcess(sandbox_dir), data_dir, **IMPATIENT)
    states = [None, *LINE[: LINE.index(RunState.COLLECTING) + 1]]
    ended = []
    for state in states * rounds:
        run, refused = walk(bench, state)
        recorded = bench.core.warehouse.runs.find_row(run.run_id) is not None
        ended.append([str(state or "before the launch"), run.job_name, str(run.state), run.detail, recorded, refused])
    json.dump({"ended": ended, "folders": len(list(bench.core.settings.runs_dir.iterdir()))}, sys.stdout)


if __name__ == "__main__":
    main()

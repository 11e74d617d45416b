"""A disk that is full to the last byte, in every state of a run."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.flow.following import GOOD
from tests.flow.trouble import jobs_named
from tests.reliability.outcomes import campaign
from tests.sandbox_process import SandboxProcess

ROUNDS = 5
ROOT = Path(__file__).parents[2]


def test_a_full_disk_delays_runs_and_loses_none(sandbox: SandboxProcess, tmp_path: Path) -> None:
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    data, own = str(tmp_path / "data"), () if os.getuid() == 0 else ("--user", "--map-root-user")
    with campaign("Disk full in every state", __file__) as row:
        words = ["unshare", "--mount", *own, sys.executable, "-m", "tests.reliability.full_disk", data]
        words += [str(sandbox.data_dir), str(ROUNDS)]
        done = subprocess.run(words, capture_output=True, check=False, cwd=ROOT, text=True, timeout=900)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)

        for state, job_name, end, detail, recorded, _ in answer["ended"]:
            assert end == "completed", f"{state}: {detail}"
            assert recorded, state
            assert len(jobs_named(sandbox, job_name)) == 1, state
        assert answer["folders"] == len(answer["ended"]), "a launch that was refused leaves nothing behind"
        states = Counter(state for state, *_ in answer["ended"])
        row.repetitions = f"{states.total()}: {', '.join(f'{state} {count}' for state, count in states.items())}"
        row.outcome = "all runs completed when there was space, each with one job"

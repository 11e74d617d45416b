"""PostgreSQL's disk is full: consoles cannot store results, and leave room for everybody else."""

import json
import subprocess
import sys
from pathlib import Path

from tests.reliability.catalog_disk import CONSOLES, MOST_CONNECTIONS
from tests.reliability.outcomes import campaign

SECONDS = 600
OF_A_PROCESS = 8
ROOT = Path(__file__).parents[2]


def test_consoles_that_cannot_write_leave_connections_to_others() -> None:
    with campaign("PostgreSQL's disk full under a team's warehouse", __file__) as row:
        words = ["unshare", "--mount", sys.executable, "-m", "tests.reliability.catalog_disk", str(SECONDS)]
        done = subprocess.run(words, capture_output=True, check=False, cwd=ROOT, text=True, timeout=SECONDS + 300)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)

        assert answer["failures"], "the disk was not full"
        assert answer["most"] <= CONSOLES * OF_A_PROCESS
        assert answer["found"] >= 2 * CONSOLES
        row.repetitions = f"{answer['failures']} failed writes of {CONSOLES} consoles in {SECONDS // 60} minutes"
        row.outcome = (
            f"psql got in each of {answer['visits']} times, at most {answer['most']} of {MOST_CONNECTIONS} connections"
            " in use; when there was space, everything was stored"
        )

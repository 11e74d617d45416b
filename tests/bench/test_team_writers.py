"""How long a record waits for its turn while four processes record in a team's warehouse at once."""

import statistics
from pathlib import Path

import pytest

from tests.stores.test_warehouse_team_writers import PROCESSES, RUNS, Writers
from tests.team_warehouse import TeamWarehouse

LONGEST_S = 5.0


@pytest.mark.postgres
def test_no_record_waits_over_five_seconds(team: TeamWarehouse, tmp_path: Path) -> None:
    team.open().regions()

    writers = Writers(team, tmp_path, [f"w{number}" for number in range(PROCESSES)], RUNS)
    codes = writers.end()

    waits = [one.end - one.start for one in writers.noted()]
    print(f"{len(waits)} records by {PROCESSES} processes: median {statistics.median(waits):.2f} s, ", end="")
    print(f"longest {max(waits):.2f} s (goal {LONGEST_S:g})")
    assert codes == [0] * PROCESSES
    assert len(waits) == PROCESSES * RUNS
    assert max(waits) < LONGEST_S

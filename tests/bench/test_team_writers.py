"""How long a record waits for its turn while four processes record 500 runs each in a team's warehouse at once."""

import statistics
from pathlib import Path

import pytest

from tests.stores.test_warehouse_team_writers import PROCESSES, record_at_once
from tests.team_warehouse import TeamWarehouse

RUNS = 500
LONGEST_S = 5.0


@pytest.mark.postgres
def test_no_record_waits_over_five_seconds(team: TeamWarehouse, tmp_path: Path) -> None:
    waits = [one.end - one.start for one in record_at_once(team, tmp_path, RUNS)]

    print(f"{len(waits)} records by {PROCESSES} processes: median {statistics.median(waits):.2f} s, ", end="")
    print(f"longest {max(waits):.2f} s (goal {LONGEST_S:g})")
    assert max(waits) < LONGEST_S

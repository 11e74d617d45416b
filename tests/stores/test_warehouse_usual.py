"""What a configuration usually reaches: only earlier valid runs of the same configuration and size count."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.model import NOTHING_RESOLVED
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a


def test_the_band_of_a_run_is_that_of_earlier_valid_runs_of_its_configuration(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    same = a.records([8_000, 8_100, 8_200, 8_400, 8_600], "same")
    later = a.record("later", throughputs=[1.0] * 8, created_at=a.T0 + timedelta(days=9))
    others = [
        *a.records([30_000], "larger", node_count=4),
        *a.records([9_900], "newer", framework_version="r1.11"),
        a.record("invalid", throughputs=[100.0] * 5),
    ]
    warehouse.rebuild([*same, later, *others])
    mine = same[0]
    run = replace(mine.run, run_id="mine", created_at=a.T0 + timedelta(days=5))

    found = warehouse.runs.find_usual(run, mine.workload, NOTHING_RESOLVED, mine.region, rehearsal=False)

    assert found
    assert (found.runs, found.lower, found.median, found.upper) == (5, 8_100, 8_200, 8_400)
    assert found.duration_s == pytest.approx(mine.run.duration_s)
    assert warehouse.runs.find_usual(run, mine.workload, NOTHING_RESOLVED, mine.region, rehearsal=True) is None
    assert (
        warehouse.runs.find_usual(
            replace(run, created_at=a.T0 - timedelta(days=9)),
            mine.workload,
            NOTHING_RESOLVED,
            mine.region,
            rehearsal=False,
        )
        is None
    )

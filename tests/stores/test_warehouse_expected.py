"""What a chip, workload and size usually reach: whose runs count, and which stay apart."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.model import Origin, RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.expected import ExpectedSpeed, Normality
from tests import records as a

TOTALS = [8_000, 8_100, 8_050, 7_950, 8_020, 8_080]


def expect(warehouse: Warehouse, run_id: str) -> ExpectedSpeed:
    row = warehouse.runs.find_row(run_id)
    assert row
    found = warehouse.runs.expect_run(row)
    assert found
    return found


def bundle_of(records: Sequence[RunRecord], verified_by: str) -> list[RunRecord]:
    """The same runs as they come in a bundle."""
    about = a.imported().imported
    assert about
    return [
        replace(
            each,
            run=replace(each.run, run_id=f"{verified_by or 'claim'}-{each.run.run_id}"),
            imported=replace(about, verified_by=verified_by, stated=(*about.stated, "parameters", "flavor")),
        )
        for each in records
    ]


@pytest.mark.every_store
def test_a_run_is_judged_by_the_other_runs_of_its_configuration(warehouse: Warehouse) -> None:
    slow = a.record("slow", throughputs=[900.0] * 8)
    noise = [
        *a.records([30_000] * 6, "larger", node_count=4),
        *a.records([100] * 6, "rehearsed", rehearsal=True),
        *a.records([9_900] * 6, "other", speed_parameters={"batch_size": 7}),
    ]
    warehouse.rebuild([*a.records(TOTALS, "same"), slow, *noise])

    usual, odd = expect(warehouse, "same-0"), expect(warehouse, "slow")

    assert usual.own_runs == 6, "itself is left out, the slow one is not"
    assert odd.normality is Normality.BELOW
    assert odd.own_runs == 6
    assert odd.band
    assert 7_800 < odd.band.low < 8_000 < odd.band.high < 8_250
    assert str(odd.sentence).startswith("slower than usual: 95 % of such runs reach 7")
    assert odd.sentence.endswith("(6 own runs)")


def test_versions_without_runs_of_their_own_are_judged_by_the_others(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    versions = [
        record
        for number in range(5)
        for record in a.records([8_000 + 40 * number] * 2, f"v{number}", framework_version=f"r1.{number}")
    ]
    warehouse.rebuild([*versions, *a.records([8_100], "new", framework_version="r2.0")])

    found = expect(warehouse, "new-0")

    assert found.normality is Normality.WITHIN
    assert found.band
    assert (found.own_runs, found.band.configurations) == (10, 5)
    assert found.sentence.endswith("(10 own runs, 5 configurations)")


def test_trusted_bundles_count_and_claims_stay_apart(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    trusted = bundle_of(a.records([8_200] * 3 + [8_210] * 3, "t", framework_version="r1.9"), "Laboratory B")
    claims = bundle_of(a.records([12_000, 12_100, 12_050, 11_990, 12_010], "c", framework_version="r1.9"), "")
    warehouse.rebuild([*a.records(TOTALS[:3], "same"), *trusted, *claims])

    found = expect(warehouse, "same-0")
    own = expect(warehouse, "claim-c-0")

    assert (found.own_runs, found.trusted_runs) == (2, 6)
    assert found.band
    assert found.band.high < 9_000, "claims are no part of it"
    assert found.claimed
    assert found.claimed.low > 11_000
    assert "claimed, unverified: " in str(found.claims)
    assert "(5 runs)" in str(found.claims)
    assert own.normality in (Normality.ABOVE, Normality.UNKNOWN), "a claim is judged by what is known"
    row = warehouse.runs.find_row("claim-c-0")
    assert row
    assert row.origin is Origin.IMPORTED


def test_not_enough_data_is_an_answer(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.rebuild(a.records(TOTALS[:3], "same"))

    found = expect(warehouse, "same-0")

    assert found.band is None
    assert found.normality is Normality.UNKNOWN
    assert found.sentence == "not enough data on what is usual: 2 own runs"


def test_a_run_without_a_throughput_has_no_band(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.rebuild([*a.records(TOTALS, "same"), a.record("failed", with_result=False)])
    row = warehouse.runs.find_row("failed")

    assert row
    assert warehouse.runs.expect_run(row) is None

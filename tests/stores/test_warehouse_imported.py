"""Imported results in the warehouse: seen as such everywhere, and never taken for more than they tell."""

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aisbench_core.domain.results.record import read_record, write_record
from aisbench_core.model import Mode, Origin, RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.records.record import CHUNK
from aisbench_core.warehouse.values.compared import Comparability
from aisbench_core.warehouse.values.exports import Export
from aisbench_core.warehouse.values.runs import BoardQuery, CheckLevel, RunRow, Validity
from tests import records as a
from tests.actors import TESTER

ALL = BoardQuery("imported", include_invalid=True)


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


def stored(warehouse: Warehouse, record: RunRecord) -> RunRow:
    warehouse.record(record)
    row = warehouse.runs.find_row(record.run.run_id)
    assert row
    return row


def exported(warehouse: Warehouse) -> list[dict[str, str]]:
    target = io.BytesIO()
    warehouse.export(Export(ALL, datetime(2026, 3, 3, tzinfo=UTC)), target)
    return list(csv.DictReader(io.StringIO(target.getvalue().decode(), newline="")))


def test_an_imported_run_says_where_it_comes_from(warehouse: Warehouse) -> None:
    row = stored(warehouse, a.imported())

    assert row.origin is Origin.IMPORTED
    assert row.source == "logs/run1.log (1)"
    assert row.imported_at == datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
    assert row.note == "not measured there: max_power"
    assert row.spec_sha256 == ""


def test_the_moment_of_an_import_is_no_runs_time(warehouse: Warehouse) -> None:
    row = stored(warehouse, a.imported(created_at=datetime(2026, 3, 2, 8, 0, tzinfo=UTC)))
    (group,) = warehouse.board.list_rows(ALL).rows

    assert row.imported_at == row.created_at
    assert (row.began_at, group.latest_at) == (None, None)


def test_without_single_cards_the_reported_throughput_counts_and_a_warning_says_so(warehouse: Warehouse) -> None:
    row = stored(warehouse, a.imported(reported=16_000.0, node_count=2))

    assert (row.throughput, row.per_node, row.per_card) == (16_000.0, 8_000.0, 1_000.0)
    assert row.validity is Validity.CLAIMED
    assert [(check.id, check.level) for check in row.reasons] == [("V03", CheckLevel.WARN)]


def test_a_mean_over_servers_is_one_servers_throughput(warehouse: Warehouse) -> None:
    row = stored(warehouse, a.imported(reported=8_000.0, node_count=2, mode=Mode.SINGLE_SERVER))

    assert (row.throughput, row.per_node, row.per_card) == (8_000.0, 8_000.0, 1_000.0)


def test_single_cards_are_computed_from_as_ever(warehouse: Warehouse) -> None:
    row = stored(warehouse, a.imported(reported=9_000.0, cards_heard=True))

    assert (row.throughput, row.throughput_reported) == (8_000.0, 9_000.0)
    assert [check.id for check in row.reasons] == ["V04"]


def test_sizes_that_nobody_knows_are_empty_and_so_is_what_needs_them(warehouse: Warehouse) -> None:
    row = stored(warehouse, a.imported(stated=("mode",)))

    assert (row.node_count, row.cards_per_node, row.card_count) == (None, None, None)
    assert (row.per_node, row.per_card) == (None, None)
    assert row.throughput == 14_151.18
    assert warehouse.board.list_rows(ALL).rows[0].node_count is None
    assert warehouse.facets.fetch_values("imported").node_counts == ()
    assert warehouse.scaling.find_curve(row.run_id).points == ()


def test_launched_and_imported_runs_never_share_a_row(warehouse: Warehouse) -> None:
    warehouse.record_many([a.imported("old"), a.record("new", region="imported", flavor="")])

    page = warehouse.board.list_rows(ALL)

    assert sorted((row.origin, row.latest_run_id) for row in page.rows) == [("imported", "old"), ("launched", "new")]
    assert len({row.fingerprint for row in page.rows}) == 2


@pytest.mark.parametrize("origin", list(Origin))
def test_a_filter_shows_only_one_origin(warehouse: Warehouse, origin: Origin) -> None:
    warehouse.record_many([a.imported("imported"), a.record("launched", region="imported")])
    query = BoardQuery("imported", include_invalid=True, origin=origin)

    assert [row.run_id for row in warehouse.runs.list_rows(query).rows] == [origin.value]
    assert [row.origin for row in warehouse.board.list_rows(query).rows] == [origin]


def test_a_comparison_with_an_imported_run_says_what_is_not_known(warehouse: Warehouse) -> None:
    warehouse.record_many([a.record("new", region="imported"), a.imported("old", stated=("mode", "node_count"))])

    comparison = warehouse.runs.compare(["new", "old"])

    assert comparison.verdict is Comparability.COMPARABLE
    assert comparison.unknown == ("parameters", "cards_per_node", "data")
    assert "origin" in {field.field for field in comparison.differences}


def test_what_is_known_to_differ_still_forbids_a_ratio(warehouse: Warehouse) -> None:
    warehouse.record_many([a.record("new", region="imported"), a.imported("old", mode=Mode.SINGLE_SERVER)])

    comparison = warehouse.runs.compare(["new", "old"])

    assert comparison.verdict is Comparability.NOT_COMPARABLE
    assert comparison.reasons == ("mode",)


def test_two_definitions_that_nobody_knows_are_not_the_same(warehouse: Warehouse) -> None:
    unknown = [
        replace(one, workload=replace(one.workload, throughput_definition=""))
        for one in (a.imported("old"), a.imported("older"))
    ]
    warehouse.record_many(unknown)

    comparison = warehouse.runs.compare(["old", "older"])

    assert comparison.verdict is Comparability.NOT_COMPARABLE
    assert comparison.reasons == ("throughput_definition",)


def test_the_csv_names_the_origin_and_leaves_empty_what_is_not_known(warehouse: Warehouse) -> None:
    warehouse.record(a.imported(stated=("mode",)))

    (row,) = exported(warehouse)

    assert row["validity"] == "claimed"
    assert (row["origin"], row["source"]) == ("imported", "logs/run1.log (1)")
    assert row["imported_at_utc"] == "2026-03-02T08:00:00Z"
    assert row["throughput_aggregation"] == "throughput-as-reported/1"
    assert "imported from logs/run1.log (1)" in row["note"]
    unknown = ("node_count", "card_count", "pool_type", "test_object_type", "hyperparameters_json", "spec_sha256")
    assert {name: row[name] for name in unknown} == dict.fromkeys(unknown, "")


def test_a_record_keeps_its_origin_in_its_folder(tmp_path: Path) -> None:
    record = a.imported()
    files = (tmp_path / "record.json", tmp_path / "metrics.jsonl", tmp_path / "events.jsonl")

    write_record(record, *files)

    assert read_record(*files) == record


def test_many_records_at_once_replace_what_was_there(warehouse: Warehouse) -> None:
    many = [a.imported(f"imported-{number}") for number in range(CHUNK + 1)]

    warehouse.record_many(many)
    warehouse.record_many(many)

    assert warehouse.runs.list_rows(ALL).total == CHUNK + 1
    assert warehouse.runs.select_recorded(["imported-0", "nobody"]) == {"imported-0"}


def test_a_launched_run_is_found_by_its_job_and_an_imported_one_is_not(warehouse: Warehouse) -> None:
    warehouse.record_many([a.record("launched"), a.imported("old")])

    assert warehouse.runs.find_by_job(["job-launched", "job-old", ""]) == {"job-launched": "launched"}


def test_what_is_claimed_holds_no_rank_and_takes_none(warehouse: Warehouse) -> None:
    launched = a.records([8_000, 8_010], "launched", region="imported")
    fast = [replace(a.imported(f"fast-{n}", reported=20_000.0 + n), workload=launched[0].workload) for n in range(2)]
    warehouse.record_many([*launched, *fast])

    rows = {row.origin: row for row in warehouse.board.list_rows(ALL).rows}

    assert rows[Origin.LAUNCHED].fingerprint == rows[Origin.IMPORTED].fingerprint, "they answer the same question"
    assert (rows[Origin.LAUNCHED].rank_from, rows[Origin.LAUNCHED].rank_to) == (1, 1)
    assert (rows[Origin.IMPORTED].rank_from, rows[Origin.IMPORTED].rank_to, rows[Origin.IMPORTED].runs) == (
        None,
        None,
        2,
    )


def test_what_is_claimed_does_not_move_the_efficiency_of_launched_runs(warehouse: Warehouse) -> None:
    launched = [
        *a.records([8_000], "one", region="imported", flavor=""),
        *a.records([13_000], "two", node_count=2, region="imported", flavor=""),
    ]
    warehouse.record_many(launched)
    before = warehouse.scaling.find_curve("two-0").points
    slow = a.imported("slow", reported=3_000.0)
    warehouse.record(replace(slow, workload=launched[0].workload))

    after = warehouse.scaling.find_curve("two-0").points

    assert after == before
    assert after[-1].efficiency == pytest.approx(0.8125)
    assert [point.throughput for point in warehouse.scaling.find_curve("slow").points] == [3_000.0], (
        "among themselves they scale"
    )
    rows = {row["run_id"]: row["efficiency_pct"] for row in exported(warehouse)}
    assert float(rows["two-0"]) == pytest.approx(81.25)


@pytest.mark.parametrize(("validity", "expected"), [(Validity.VALID, ["new"]), (Validity.CLAIMED, ["old"])])
def test_valid_runs_and_claims_are_listed_apart(warehouse: Warehouse, validity: Validity, expected: list[str]) -> None:
    warehouse.record_many([a.imported("old"), a.record("new", region="imported")])

    page = warehouse.runs.list_rows(replace(ALL, validity=validity))

    assert ([row.run_id for row in page.rows], page.total) == (expected, 1)


def test_a_verdict_that_was_stored_before_claims_were_told_apart_changes_when_it_is_judged_anew(
    warehouse: Warehouse,
) -> None:
    warehouse.record(a.imported("old"))
    with warehouse.cursor() as cur:
        cur.execute("update results set validity = 'valid'")

    changed = warehouse.store_evaluations(warehouse.validate(ALL), actor=TESTER)

    row = warehouse.runs.find_row("old")
    assert (changed, row and row.validity) == (1, Validity.CLAIMED)

"""Remarks in a warehouse, a file's and a team's: they outlive every way in which a run is stored anew."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.base.errors import StaleRun
from aisbench_core.model import AnnotationChange, AnnotationKind, Annotations, RunState
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery, Validity
from tests import records as a
from tests.actors import TESTER
from tests.unit.test_remarks import HOSTILE

EVERY = BoardQuery("cn-north-9", include_invalid=True)


def tag(text: str, minute: int = 0, kind: AnnotationKind = AnnotationKind.TAG) -> AnnotationChange:
    return AnnotationChange(a.T0 + timedelta(minutes=minute), "ann", kind, text)


def note(text: str, minute: int = 0, who: str = "ann") -> AnnotationChange:
    return AnnotationChange(a.T0 + timedelta(minutes=minute), who, AnnotationKind.NOTE, text)


def test_tags_and_note_are_in_the_run_and_filter_everything(warehouse: Warehouse) -> None:
    warehouse.record_many([a.record("one"), a.record("two", node_count=2)])
    sha256 = (warehouse.runs.find_row("one") or pytest.fail("not there")).record_sha256

    warehouse.annotations.add("one", [tag("a"), tag("b"), note("fan 3")], None)
    warehouse.annotations.add("two", [tag("b")], None)

    row = warehouse.runs.find_row("one")
    assert row
    assert (row.tags, row.note, row.record_sha256) == (("a", "b"), "fan 3", sha256)
    assert warehouse.facets.fetch_values("cn-north-9").tags == ("a", "b")
    assert [each.run_id for each in warehouse.runs.list_rows(replace(EVERY, tags=("a", "b"))).rows] == ["one"]
    assert warehouse.runs.list_rows(replace(EVERY, tags=("b",))).total == 2
    assert [each.node_count for each in warehouse.board.list_rows(replace(EVERY, tags=("a",))).rows] == [1]
    assert warehouse.runs.list_rows(replace(EVERY, tags=("nobody's",))).total == 0
    assert warehouse.check([a.record("one"), a.record("two", node_count=2)]).damages == ()


def test_a_run_that_is_stored_anew_keeps_its_remarks_and_those_of_its_folder(warehouse: Warehouse) -> None:
    warehouse.record(a.imported("old"))
    warehouse.annotations.add("old", [tag("here", 1), note("person's", 1)], None)

    warehouse.rebuild([replace(a.imported("old"), annotations=Annotations.of([tag("folder", 0)]))])

    row = warehouse.runs.find_row("old")
    assert row
    assert row.tags == ("folder", "here")
    assert row.note == "person's; not measured there: max_power"
    warehouse.annotations.add("old", [note("", 2)], a.T0 + timedelta(minutes=1))
    assert (warehouse.runs.find_row("old") or row).note == "not measured there: max_power"
    warehouse.rebuild([])
    assert warehouse.annotations.of(["old"]) == {}


@pytest.mark.every_store
def test_a_note_that_its_writer_has_not_seen_is_not_replaced(warehouse: Warehouse) -> None:
    warehouse.record(a.record("one"))
    warehouse.annotations.add("one", [note("bob's", 1, "bob")], None)

    for seen_at in (None, a.T0):
        with pytest.raises(StaleRun, match="bob changed the note meanwhile; it says: bob's"):
            warehouse.annotations.add("one", [note("ann's", 2)], seen_at)
    warehouse.annotations.add("one", [tag("quick", 2)], None)
    warehouse.annotations.add("one", [note("ann's", 3)], a.T0 + timedelta(minutes=1))

    assert warehouse.annotations.of(["one"])["one"].note == "ann's"
    assert len(warehouse.annotations.of(["one"])["one"].changes) == 3


@pytest.mark.every_store
def test_hostile_texts_come_back_as_they_are(warehouse: Warehouse) -> None:
    warehouse.record(a.record("one"))

    warehouse.annotations.add("one", [*map(tag, HOSTILE), note("; ".join(HOSTILE))], None)

    row = warehouse.runs.find_row("one")
    assert row
    assert set(row.tags) == set(HOSTILE)
    assert row.note == "; ".join(HOSTILE)
    for each in HOSTILE:
        assert warehouse.runs.list_rows(replace(EVERY, tags=(each,))).total == 1


def test_a_move_brings_the_remarks_of_both_sides_together(tmp_path: Path) -> None:
    source, target = Warehouse(tmp_path / "source.duckdb"), Warehouse(tmp_path / "target.duckdb")
    for store in (source, target):
        store.record(a.imported("both"))
    source.record(a.record("only"))
    source.annotations.add("both", [tag("source", 1)], None)
    source.annotations.add("only", [tag("alone", 1)], None)
    target.annotations.add("both", [tag("target", 2), note("kept", 2)], None)

    source.move_to(target, lambda *_: None)

    assert target.annotations.of(["both"])["both"].tags == ("source", "target")
    assert target.annotations.of(["only"])["only"].tags == ("alone",)
    assert (target.runs.find_row("both") or pytest.fail("not there")).note == "kept; not measured there: max_power"


def aside(reason: str, minute: int = 0) -> AnnotationChange:
    return AnnotationChange(a.T0 + timedelta(minutes=minute), "ann", AnnotationKind.SET_ASIDE, reason)


def test_a_run_set_aside_stays_in_its_row_beside_one_that_failed_early(warehouse: Warehouse) -> None:
    early = a.record("early", state=RunState.FAILED, with_result=False)
    warehouse.record_many([a.record("synthetic", synthetic_data=True), a.record("aside"), early])

    warehouse.annotations.add("aside", [aside("node 3 was throttled")], None)

    rows = {row.synthetic_data: row for row in warehouse.board.list_rows(EVERY).rows}
    assert (rows[True].runs, rows[True].incomplete) == (1, 0)
    assert (rows[False].set_aside, rows[False].incomplete) == (1, 1)


def test_a_run_set_aside_is_in_no_statistic_until_it_counts_again(warehouse: Warehouse) -> None:
    records = [a.record("one", throughputs=[1000.0] * 8), a.record("two", throughputs=[500.0] * 8)]
    warehouse.record_many(records)
    before = warehouse.runs.find_row("two") or pytest.fail("not there")

    warehouse.annotations.add("two", [aside("node 3 was throttled", 1)], None)

    row = warehouse.runs.find_row("two")
    assert row
    assert (row.validity, row.set_aside, row.checks) == (Validity.SET_ASIDE, "node 3 was throttled", before.checks)
    assert row.record_sha256 == before.record_sha256
    [group] = warehouse.board.list_rows(EVERY).rows
    assert (group.runs, group.invalid, group.incomplete, group.set_aside) == (1, 0, 0, 1)
    assert group.throughput == group.best
    assert [each.run_id for each in warehouse.runs.list_rows(replace(EVERY, include_invalid=False)).rows] == ["one"]
    listed = warehouse.runs.list_rows(replace(EVERY, validity=Validity.SET_ASIDE))
    assert ([each.run_id for each in listed.rows], listed.total) == (["two"], 1)
    assert warehouse.check(records).damages == ()

    warehouse.annotations.add("two", [aside("", 2)], None)

    again = warehouse.runs.find_row("two")
    assert again == before
    [group] = warehouse.board.list_rows(EVERY).rows
    assert (group.runs, group.set_aside) == (2, 0)


def test_a_run_set_aside_stays_so_for_every_ruleset_and_when_it_is_stored_anew(warehouse: Warehouse) -> None:
    warehouse.record(a.record("one"))
    warehouse.record(a.imported("old"))
    for run_id in ("one", "old"):
        warehouse.annotations.add(run_id, [aside("cold cache")], None)

    for ruleset_id in ("ieee-2937-2022", "aisbench/1"):
        warehouse.store_evaluations(warehouse.validate(replace(EVERY, ruleset_id=ruleset_id)), actor=TESTER)
    assert {(warehouse.runs.find_row(run_id) or pytest.fail("not there")).validity for run_id in ("one", "old")} == {
        Validity.SET_ASIDE
    }

    warehouse.rebuild([a.record("one"), replace(a.imported("old"), annotations=Annotations.of([aside("", 5)]))])

    assert (warehouse.runs.find_row("one") or pytest.fail("not there")).validity is Validity.SET_ASIDE
    assert (warehouse.runs.find_row("old") or pytest.fail("not there")).validity is Validity.CLAIMED


def test_a_run_that_does_not_count_anyway_says_why_although_it_was_set_aside(warehouse: Warehouse) -> None:
    warehouse.record(a.record("failed", state=RunState.FAILED, with_result=False))

    warehouse.annotations.add("failed", [aside("the node died")], None)

    row = warehouse.runs.find_row("failed")
    assert row
    assert (row.validity, row.set_aside) == (Validity.INCOMPLETE, "the node died")

"""Questions that look alike are told apart by the parameters, the mode or the data in which they differ."""

from dataclasses import replace

import pytest

from aisbench_core.model import RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a


def told(warehouse: Warehouse, *records: RunRecord) -> dict[str, str]:
    """What tells each run's question apart, by the run's id."""
    warehouse.rebuild(records)
    page = warehouse.board.list_rows(BoardQuery("cn-north-9"))
    apart = warehouse.board.find_distinctions(
        "cn-north-9", (row.fingerprint for row in page.rows), rehearsal=page.rehearsal
    )
    return {row.latest_run_id: apart.get(row.fingerprint, "") for row in page.rows}


def test_the_parameter_that_differs_is_named_and_those_that_are_equal_are_not(warehouse: Warehouse) -> None:
    found = told(
        warehouse,
        a.record("usual"),
        a.record("again", framework_version="r1.11"),
        a.record("large", speed_parameters={"epoch_size": 90, "batch_size": 512}),
        a.record("named", speed_parameters={"epoch_size": 90, "batch_size": 512, "amp": "O2"}),
    )

    assert found == {
        "usual": "batch_size=256",
        "again": "batch_size=256",
        "large": "batch_size=512",
        "named": "batch_size=512, amp=O2",
    }


@pytest.mark.every_store
def test_servers_that_train_alone_are_told_from_a_cluster(warehouse: Warehouse) -> None:
    found = told(warehouse, a.record("together"), a.record("alone", mode="single_server"))

    assert found == {"together": "", "alone": "mode=single_server"}


def test_questions_that_look_different_need_nothing_that_tells_them_apart(warehouse: Warehouse) -> None:
    other = replace(a.FACTS, model="bert_large", speed_parameters={"batch": 32})

    assert told(warehouse, a.record("image"), a.record("text", facts=other)) == {"image": "", "text": ""}


def test_what_an_imported_result_does_not_tell_is_not_told(warehouse: Warehouse) -> None:
    known = replace(a.imported("old", cards_heard=True), region="cn-north-9")

    assert told(warehouse, a.record("new"), known) == {"new": "batch_size=256, epoch_size=90", "old": ""}


def test_what_another_region_knows_and_rehearsals_do_not_tell_questions_of_a_region_apart(warehouse: Warehouse) -> None:
    """There, one of the three questions is unknown, and the other two differ in one parameter only."""
    large, short = {"epoch_size": 90, "batch_size": 512}, {"epoch_size": 60, "batch_size": 512}

    found = told(
        warehouse,
        a.record("usual"),
        a.record("large", speed_parameters=large),
        a.record("short", speed_parameters=short),
        *(a.record(f"far-{at}", region="cn-south-1", speed_parameters=each) for at, each in enumerate((large, short))),
        *(a.record(f"tried-{at}", rehearsal=True, speed_parameters=each) for at, each in enumerate((large, short))),
    )

    assert found == {
        "usual": "batch_size=256, epoch_size=90",
        "large": "batch_size=512, epoch_size=90",
        "short": "batch_size=512, epoch_size=60",
    }

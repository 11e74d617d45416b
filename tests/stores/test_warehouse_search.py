"""Runs in lists: the same runs in the same order as everywhere, told in fewer words."""

from dataclasses import fields, replace

from aisbench_core.model import Remark, RemarkKind
from aisbench_core.warehouse import BoardQuery, RunRow, Warehouse
from aisbench_core.warehouse.answers.listed import ListedRun
from aisbench_core.warehouse.answers.search import search
from tests import records as a

EVERYTHING = BoardQuery("cn-north-9", include_invalid=True)


def test_a_search_says_the_same_of_a_run_as_its_row_does(warehouse: Warehouse) -> None:
    warehouse.rebuild([a.record("good"), a.record("bad", accuracy=7.0), a.record("old", synthetic_data=True)])
    warehouse.people.remark("bad", [Remark(a.T0, "ann", RemarkKind.TAG, "odd")], None)
    names = {field.name for field in fields(ListedRun)} & {field.name for field in fields(RunRow)}

    page, found = warehouse.runs(EVERYTHING), warehouse.search(EVERYTHING)

    for row, listed in zip(page.rows, found.rows, strict=True):
        assert {name: getattr(listed, name) for name in names} == {name: getattr(row, name) for name in names}
    failed = {listed.run_id: listed.failed_checks for listed in found.rows}
    assert (failed["good"], bool(failed["bad"])) == ("", True)
    assert all(listed.parameters == a.FACTS.speed_parameters for listed in found.rows)
    assert (found.total, page.total) == (3, 3)
    with warehouse.cursor() as cur:
        assert search(cur, EVERYTHING, few=0) == found
    assert [row.run_id for row in warehouse.search(replace(EVERYTHING, tags=("odd",))).rows] == ["bad"]
    assert [row.run_id for row in warehouse.search(replace(EVERYTHING, text="GOO")).rows] == ["good"]
    assert warehouse.search(replace(EVERYTHING, models=("nothing",))).total == 0

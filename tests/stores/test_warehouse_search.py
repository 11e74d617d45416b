"""Lists of runs: tags and a text choose among them, as every other filter does."""

from dataclasses import replace

import pytest

from aisbench_core.model import AnnotationChange, AnnotationKind
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a

EVERYTHING = BoardQuery("cn-north-9", include_invalid=True)


@pytest.mark.every_store
def test_runs_are_searched_by_tags_and_text(warehouse: Warehouse) -> None:
    warehouse.rebuild([a.record("good"), a.record("bad", accuracy=7.0), a.record("old", synthetic_data=True)])
    warehouse.annotations.add("bad", [AnnotationChange(a.T0, "ann", AnnotationKind.TAG, "odd")], None)

    tagged = warehouse.runs.list_rows(replace(EVERYTHING, tags=("odd",)))
    named = warehouse.runs.list_rows(replace(EVERYTHING, text="GOO"))

    assert ([row.run_id for row in tagged.rows], tagged.total) == (["bad"], 1)
    assert ([row.run_id for row in named.rows], named.total) == (["good"], 1)
    assert warehouse.runs.list_rows(replace(EVERYTHING, models=("nothing",))).total == 0
    assert warehouse.runs.list_rows(EVERYTHING).total == 3

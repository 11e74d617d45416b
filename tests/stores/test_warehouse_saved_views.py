"""Saved views in a warehouse, a file's and a team's."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.base.errors import SpecError
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.saved import SavedView
from tests.actors import TESTER
from tests.records import T0
from tests.unit.test_remarks import HOSTILE

NIGHTLY = SavedView("leaderboard", "Nightly", {"region": ("cn-north-9",), "nodes": ("2", "4")}, "ann", T0)


@pytest.mark.every_store
def test_views_are_kept_per_page_renamed_and_deleted(warehouse: Warehouse) -> None:
    saved_views = warehouse.saved_views
    saved_views.save(NIGHTLY, actor=TESTER)
    saved_views.save(replace(NIGHTLY, page="history", address={}), actor=TESTER)

    assert saved_views.on("leaderboard") == [NIGHTLY]
    assert [each.page for each in saved_views.on()] == ["history", "leaderboard"]
    saved_views.rename("leaderboard", "Nightly", "夜间", actor=TESTER)
    assert [each.name for each in saved_views.on("leaderboard")] == ["夜间"]
    assert saved_views.delete("leaderboard", "夜间", actor=TESTER)
    assert not saved_views.delete("leaderboard", "夜间", actor=TESTER)
    warehouse.rebuild([])
    assert [each.page for each in saved_views.on()] == ["history"]


@pytest.mark.every_store
def test_a_name_that_is_taken_is_only_replaced_on_demand(warehouse: Warehouse) -> None:
    saved_views = warehouse.saved_views
    saved_views.save(NIGHTLY, actor=TESTER)
    saved_views.save(replace(NIGHTLY, name="Weekly"), actor=TESTER)

    with pytest.raises(SpecError, match="is taken: saved by ann"):
        saved_views.save(replace(NIGHTLY, saved_by="bob"), actor=TESTER)
    with pytest.raises(SpecError, match="is taken"):
        saved_views.rename("leaderboard", "Weekly", "Nightly", actor=TESTER)
    saved_views.save(replace(NIGHTLY, saved_by="bob"), overwrite=True, actor=TESTER)

    assert [(each.name, each.saved_by) for each in saved_views.on()] == [("Nightly", "bob"), ("Weekly", "ann")]
    with pytest.raises(SpecError, match="is not there any more"):
        saved_views.rename("leaderboard", "Gone", "Back", actor=TESTER)


@pytest.mark.every_store
def test_hostile_names_and_values_come_back_and_endless_ones_are_refused(warehouse: Warehouse) -> None:
    for name in HOSTILE:
        warehouse.saved_views.save(replace(NIGHTLY, name=name, address={"q": HOSTILE}), actor=TESTER)

    assert {each.name for each in warehouse.saved_views.on()} == set(HOSTILE)
    assert warehouse.saved_views.on()[0].address == {"q": HOSTILE}
    for name in ("", "x" * 65, "a\nb"):
        with pytest.raises(SpecError):
            warehouse.saved_views.save(replace(NIGHTLY, name=name), actor=TESTER)
    with pytest.raises(SpecError, match="too much"):
        warehouse.saved_views.save(replace(NIGHTLY, address={"q": ("x" * 10_000,)}), actor=TESTER)


def test_a_move_brings_views_along_and_keeps_newer_ones(tmp_path: Path) -> None:
    source, target = Warehouse(tmp_path / "source.duckdb"), Warehouse(tmp_path / "target.duckdb")
    newer = replace(NIGHTLY, saved_by="bob", saved_at=T0 + timedelta(days=1))
    source.saved_views.save(NIGHTLY, actor=TESTER)
    source.saved_views.save(replace(NIGHTLY, name="Weekly"), actor=TESTER)
    target.saved_views.save(newer, actor=TESTER)

    source.move_to(target, lambda *_: None)

    assert target.saved_views.on() == [newer, replace(NIGHTLY, name="Weekly")]

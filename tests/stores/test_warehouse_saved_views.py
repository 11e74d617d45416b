"""Saved views in a warehouse, a file's and a team's."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.errors import SpecError
from aisbench_core.warehouse import Warehouse
from aisbench_core.warehouse.records.saved import SavedView
from tests.records import T0
from tests.unit.test_remarks import HOSTILE

NIGHTLY = SavedView("leaderboard", "Nightly", {"region": ("cn-north-9",), "nodes": ("2", "4")}, "ann", T0)


def test_views_are_kept_per_page_renamed_and_deleted(warehouse: Warehouse) -> None:
    people = warehouse.people
    people.save_view(NIGHTLY)
    people.save_view(replace(NIGHTLY, page="history", address={}))

    assert people.views("leaderboard") == [NIGHTLY]
    assert [each.page for each in people.views()] == ["history", "leaderboard"]
    people.rename_view("leaderboard", "Nightly", "夜间")
    assert [each.name for each in people.views("leaderboard")] == ["夜间"]
    assert people.delete_view("leaderboard", "夜间")
    assert not people.delete_view("leaderboard", "夜间")
    warehouse.rebuild([])
    assert [each.page for each in people.views()] == ["history"]


def test_a_name_that_is_taken_is_only_replaced_on_demand(warehouse: Warehouse) -> None:
    people = warehouse.people
    people.save_view(NIGHTLY)
    people.save_view(replace(NIGHTLY, name="Weekly"))

    with pytest.raises(SpecError, match="is taken: saved by ann"):
        people.save_view(replace(NIGHTLY, saved_by="bob"))
    with pytest.raises(SpecError, match="is taken"):
        people.rename_view("leaderboard", "Weekly", "Nightly")
    people.save_view(replace(NIGHTLY, saved_by="bob"), instead=True)

    assert [(each.name, each.saved_by) for each in people.views()] == [("Nightly", "bob"), ("Weekly", "ann")]
    with pytest.raises(SpecError, match="is not there any more"):
        people.rename_view("leaderboard", "Gone", "Back")


def test_hostile_names_and_values_come_back_and_endless_ones_are_refused(warehouse: Warehouse) -> None:
    for name in HOSTILE:
        warehouse.people.save_view(replace(NIGHTLY, name=name, address={"q": HOSTILE}))

    assert {each.name for each in warehouse.people.views()} == set(HOSTILE)
    assert warehouse.people.views()[0].address == {"q": HOSTILE}
    for name in ("", "x" * 65, "a\nb"):
        with pytest.raises(SpecError):
            warehouse.people.save_view(replace(NIGHTLY, name=name))
    with pytest.raises(SpecError, match="too much"):
        warehouse.people.save_view(replace(NIGHTLY, address={"q": ("x" * 10_000,)}))


def test_a_move_brings_views_along_and_keeps_newer_ones(tmp_path: Path) -> None:
    source, target = Warehouse(tmp_path / "source.duckdb"), Warehouse(tmp_path / "target.duckdb")
    newer = replace(NIGHTLY, saved_by="bob", saved_at=T0 + timedelta(days=1))
    source.people.save_view(NIGHTLY)
    source.people.save_view(replace(NIGHTLY, name="Weekly"))
    target.people.save_view(newer)

    source.move_to(target, lambda *_: None)

    assert target.people.views() == [newer, replace(NIGHTLY, name="Weekly")]

"""The order of framework versions: numbers count as numbers, and what precedes a release comes before it."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aisbench_core.domain.statistics.amdahl import AmdahlFit, FitProblem
from aisbench_core.model import Origin
from aisbench_core.model.version_order import in_version_order, version_key
from aisbench_core.warehouse.values.scalings import Scaling, ScalingPoint, ScalingQuery, newest_curves

ORDERED = [
    ["r1.9", "r1.10rc1", "r1.10rc2", "r1.10", "r1.10.1", "r1.11"],
    ["1.8.0.dev20220101", "1.8.0a1", "1.8.0b2", "1.8.0rc1", "1.8.0", "1.8.0.post1", "1.8.1"],
    ["2.0.0-alpha", "2.0.0-beta", "2.0.0-rc1", "2.0.0", "2.0.1", "10.0"],
    ["v1.9", "r1.10", "1.11", "V2.0"],
    ["", "master", "r1.8"],
    ["1.10rc1", "1.10.0", "1.10.1"],
]

QUERY = ScalingQuery(
    region="cn-north-9",
    rehearsal=False,
    fingerprint="f",
    throughput_unit="samples/s",
    synthetic_data=False,
    origin=Origin.LAUNCHED,
    framework_version="r1.9",
    flavor="kat1",
    cards_per_node=8,
)


@pytest.mark.parametrize("ordered", ORDERED)
def test_versions_are_sorted_by_their_numbers_and_previews_before_releases(ordered: list[str]) -> None:
    shuffled = random.Random(7).sample(ordered, len(ordered))

    assert in_version_order(shuffled) == tuple(ordered)


@given(st.lists(st.text()))
def test_any_texts_have_one_order_however_they_are_given(versions: list[str]) -> None:
    assert in_version_order(versions) == in_version_order(versions[::-1])
    assert set(in_version_order(versions)) == set(versions)


def test_versions_that_mean_the_same_still_have_an_order() -> None:
    assert version_key("1.10") != version_key("1.10.0")
    assert in_version_order(["1.10.0", "1.10"]) == ("1.10", "1.10.0")


@pytest.mark.parametrize("versions", [["r1.10", "r1.10rc1"], ["r1.10rc1", "r1.10"], ["r1.9", "r1.10"]])
def test_the_newest_curve_is_that_of_the_release_not_of_its_preview(versions: list[str]) -> None:
    curves = [_curve(version) for version in versions]

    assert [curve.query.framework_version for curve in newest_curves(curves)] == ["r1.10"]


def _curve(version: str) -> Scaling:
    points = tuple(ScalingPoint(n, 1, 8000.0 * n, n, 1.0, n, 8000.0 * n, None, None, ()) for n in (1, 2, 4))
    return Scaling(replace(QUERY, framework_version=version), points, 1, "samples/s", AmdahlFit(FitProblem.TOO_FEW))

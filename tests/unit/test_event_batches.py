"""Records that repeat are read many at a time, and give the same curves as one by one."""

import math
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aisbench_core.domain.summaries.batches import FEWEST, find_batch
from aisbench_core.domain.summaries.curves import CurveReader, RunCurves, iter_scalars
from tests.event_files import NAME, event, file_of


def curves_of(folder: Path, content: bytes) -> RunCurves:
    (folder / NAME).write_bytes(content)
    return CurveReader().read(folder)


def points_of(folder: Path) -> list[tuple[str, int, float, float]]:
    """One by one."""
    return [(scalar.tag, scalar.step, scalar.time, scalar.value) for _, scalar in iter_scalars(folder)]


def steps(count: int, *tags: str, first: int = 1) -> list[bytes]:
    return [event(step, 1.7e9 + step, **{tag: step / 7}) for step in range(first, first + count) for tag in tags]


def batched_points(content: bytes) -> list[tuple[str, int, float, float]]:
    """What one batch holds, in the order of the file."""
    batch = find_batch(content, 0)
    assert batch is not None
    columns = [
        zip([scalars.tag] * len(scalars.steps), scalars.steps, scalars.times, scalars.values, strict=True)
        for scalars in batch.scalars
    ]
    return [
        (tag, int(step), float(at), float(value)) for row in zip(*columns, strict=True) for tag, step, at, value in row
    ]


@pytest.mark.parametrize("tags", [("loss",), ("loss", "lr"), tuple("abcdefghijk")])
def test_a_batch_holds_the_points_of_its_records(tags: Sequence[str], tmp_path: Path) -> None:
    content = file_of(*steps(100, *tags, first=20))
    (tmp_path / NAME).write_bytes(content)

    assert batched_points(content) == points_of(tmp_path)


def test_steps_grow_by_a_byte_between_two_batches(tmp_path: Path) -> None:
    content = file_of(*steps(300, "loss"))

    found = curves_of(tmp_path, content).curves[0]

    first = find_batch(content, 0)
    assert first is not None
    assert len(first.scalars[0].steps) == 127, "128 takes two bytes"
    assert [point.step for point in found.points] == list(range(1, 301))


@pytest.mark.parametrize(
    "records",
    [
        pytest.param(steps(FEWEST - 1, "loss"), id="too few"),
        pytest.param([event(step, loss=1, lr=2) for step in range(1, 100)], id="two values in a record"),
        pytest.param([event(step) for step in range(1, 100)], id="no value"),
        pytest.param([b"", *steps(60, "loss")], id="an empty record first"),
    ],
)
def test_what_does_not_repeat_in_this_way_is_left_to_others(records: Sequence[bytes]) -> None:
    assert find_batch(file_of(*records), 0) is None


def test_a_record_with_a_wrong_checksum_is_no_point_and_damages_the_file(tmp_path: Path) -> None:
    content = bytearray(file_of(*steps(200, "loss", first=200)))
    stride = len(content) // 200
    content[50 * stride + stride - 9] ^= 1  # in the value of the 51st

    found = curves_of(tmp_path, bytes(content))

    assert found.damaged == (NAME,)
    assert 250 not in {point.step for point in found.curves[0].points}
    assert found.curves[0].count == 199


def test_a_file_that_grows_is_read_on_from_where_it_was(tmp_path: Path) -> None:
    content, reader = file_of(*steps(5000, "loss", "lr")), CurveReader()
    for end in (1000, 33_333, 100_001, len(content)):
        (tmp_path / NAME).write_bytes(content[:end])
        grown = reader.read(tmp_path)

    assert grown == curves_of(tmp_path, content)
    assert [curve.count for curve in grown.curves] == [5000, 5000]
    assert not grown.damaged


def test_values_that_are_no_numbers_are_counted(tmp_path: Path) -> None:
    values = [math.nan if step % 50 == 0 else math.inf if step % 75 == 0 else float(step) for step in range(1, 1001)]
    found = curves_of(tmp_path, file_of(*(event(step, loss=value) for step, value in enumerate(values, 1)))).curves[0]

    assert (found.count, found.not_finite) == (1000 - 20 - 7, 20 + 7)
    assert (found.lowest, found.highest) == (1, 999)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(min_value=0, max_value=2**40),
            st.sampled_from(["loss", "lr", "train__loss", "x" * 90, "y" * 200]),
            st.floats(width=32),
        ),
        max_size=30,
    ),
    st.integers(min_value=1, max_value=40),
    st.integers(min_value=0, max_value=64),
    st.integers(min_value=0, max_value=2000),
)
def test_any_file_gives_the_points_that_it_gives_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, seeds: list[tuple[int, str, float]], times: int, cut: int, flipped: int
) -> None:
    folder = tmp_path_factory.mktemp("events")
    records = [
        event(first + number, 1.7e9 + number, **{tag: struct.unpack("<f", struct.pack("<f", value))[0]})
        for number in range(times)
        for first, tag, value in seeds
    ]
    content = bytearray(file_of(*records))[: -cut or None]
    if flipped < len(content):
        content[flipped] ^= 0x55

    found = curves_of(folder, bytes(content))

    points = points_of(folder)
    finite = [point for point in points if math.isfinite(point[3])]
    assert sum(curve.count for curve in found.curves) == len(finite)
    assert sum(curve.not_finite for curve in found.curves) == len(points) - len(finite)
    assert {curve.tag: curve.highest for curve in found.curves if curve.count} == {
        tag: max(value for other, *_, value in finite if other == tag) for tag, *_ in finite
    }

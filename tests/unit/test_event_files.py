"""Curves from event files: of TensorBoard, TensorFlow 2 and MindSpore; growing, cut off, damaged and hostile ones."""

import math
import struct
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.summary.writer.record_writer import masked_crc32c
from tensorboard.util.tensor_util import make_tensor_proto

from aisbench_core.domain.summaries.curves import (
    MOST_CURVES,
    MOST_POINTS,
    CurveReader,
    RunCurves,
    TrainingCurve,
    iter_scalars,
)
from aisbench_core.domain.summaries.event_files import MOST_RECORD, is_event_file, masked_crc
from aisbench_core.domain.summaries.events import read_scalars
from tests.event_files import (
    MINDSPORE,
    MINDSPORE_NAME,
    NAME,
    event,
    file_of,
    header,
    write_plain,
    write_tensors,
)


def curves_of(folder: Path) -> RunCurves:
    return CurveReader().read(folder)


def only(read: RunCurves) -> TrainingCurve:
    (curve,) = read.curves
    return curve


def values(curve: TrainingCurve) -> list[float]:
    return [point.value for point in curve.points]


def written(folder: Path, content: bytes, name: str = NAME) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)
    return folder / name


def test_values_written_plain_and_as_tensors_are_read(tmp_path: Path) -> None:
    write_plain(tmp_path / "out" / "plain", 4)
    write_tensors(tmp_path / "out" / "tensors", 3)

    read = curves_of(tmp_path)

    assert [(curve.directory, curve.tag) for curve in read.curves] == [
        ("out/tensors", "loss"),
        ("out/plain", "train/loss"),
    ]
    assert values(read.curves[0]) == pytest.approx([1, 1 / 2, 1 / 3])
    assert values(read.curves[1]) == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])
    assert [point.step for point in read.curves[1].points] == [0, 1, 2, 3]
    assert read.curves[1].points[2].time == 1_700_000_002
    assert (read.files, read.damaged, read.excluded, read.groups) == (2, (), False, ("", "train"))


def test_mindspores_summaries_are_read(tmp_path: Path) -> None:
    written(tmp_path, MINDSPORE, MINDSPORE_NAME)

    read = curves_of(tmp_path)

    assert [curve.tag for curve in read.curves] == ["loss", "train/acc"]
    assert values(read.curves[0]) == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])
    assert values(read.curves[1]) == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])
    assert read.damaged == ()


@pytest.mark.parametrize(
    ("name", "holds_events"),
    [
        (NAME, True),
        ("events.out.tfevents.1700000000.host.12.0", True),
        (MINDSPORE_NAME, True),
        ("x.events.summary.1583.host_MS", True),
        ("x.events.summary.1583.host_lineage", False),
        ("checkpoint.ckpt", False),
        ("summary_MS", False),
    ],
)
def test_event_files_are_known_by_their_names(name: str, holds_events: bool) -> None:
    assert is_event_file(name) is holds_events


@given(st.binary(max_size=80))
def test_checksums_are_those_of_tensorboard(data: bytes) -> None:
    assert masked_crc(data) == masked_crc32c(data)


def of_tensor(tensor: TensorProto) -> list[float]:
    data = Event(wall_time=1, step=1, summary=Summary(value=[Summary.Value(tag="x", tensor=tensor)]))
    return [scalar.value for scalar in read_scalars(data.SerializeToString()) or ()]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int32, np.int64])
def test_tensors_of_every_number_are_read(kind: type) -> None:
    array: Any = np.array(3, kind)
    packed = make_tensor_proto(array)
    unpacked = TensorProto(dtype=packed.dtype, tensor_shape=packed.tensor_shape, tensor_content=array.tobytes())

    assert of_tensor(packed) == of_tensor(unpacked) == [3.0]


def test_bfloat16_is_read() -> None:
    assert of_tensor(TensorProto(dtype=14, half_val=[0x4049])) == [3.140625]
    assert of_tensor(TensorProto(dtype=14, tensor_content=b"\x49\x40")) == [3.140625]


@pytest.mark.parametrize(
    "tensor",
    [
        make_tensor_proto(np.array([1.0, 2.0])),
        make_tensor_proto(np.array("text", object)),
        TensorProto(dtype=1),
        TensorProto(dtype=1, tensor_content=b"12"),
        TensorProto(dtype=99, float_val=[1]),
    ],
)
def test_a_tensor_that_is_no_number_is_no_scalar(tensor: TensorProto) -> None:
    assert of_tensor(tensor) == []


def test_a_growing_file_is_read_on_and_the_same_as_at_once(tmp_path: Path) -> None:
    content = file_of(*(event(step, train__loss=step) for step in range(50)))
    reader = CurveReader()
    seen = []
    for end in range(0, len(content) + 1, 7):
        written(tmp_path / "out", content[:end])
        read = reader.read(tmp_path)
        assert read.damaged == ()
        seen.append(read.curves[0].count if read.curves else 0)
    written(tmp_path / "out", content)

    assert seen == sorted(seen)
    assert reader.read(tmp_path) == curves_of(tmp_path)
    assert only(reader.read(tmp_path)).count == 50


def test_a_file_that_was_written_anew_is_read_anew(tmp_path: Path) -> None:
    reader = CurveReader()
    written(tmp_path, file_of(*(event(step, x=step) for step in range(9))))
    reader.read(tmp_path)

    written(tmp_path, file_of(event(0, x=5)))

    assert values(only(reader.read(tmp_path))) == [5]


@pytest.mark.parametrize("position", [20, 30])
def test_a_record_with_another_checksum_is_left_out_and_the_file_is_named(tmp_path: Path, position: int) -> None:
    good = [file_of(event(step, x=step)) for step in range(3)]
    bad = bytearray(good[1])
    bad[position] ^= 1
    written(tmp_path / "out", good[0] + bytes(bad) + good[2])

    read = curves_of(tmp_path)

    assert values(only(read)) == [0, 2]
    assert read.damaged == (f"out/{NAME}",)
    assert [scalar.value for _, scalar in iter_scalars(tmp_path)] == [0, 2]


def test_behind_a_broken_length_nothing_is_read(tmp_path: Path) -> None:
    good = file_of(event(0, x=1))
    written(tmp_path, good + struct.pack("<QI", 20, 1) + good)

    read = curves_of(tmp_path)

    assert values(only(read)) == [1]
    assert read.damaged == (NAME,)


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 2**40])
def test_a_hostile_length_takes_no_memory(tmp_path: Path, length: int) -> None:
    written(tmp_path, file_of(event(0, x=1)) + header(length) + b"x" * 100)

    tracemalloc.start()
    read = curves_of(tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert values(only(read)) == [1]
    assert peak < 1_000_000


def test_a_long_record_is_skipped_without_reading_it(tmp_path: Path) -> None:
    image = header(MOST_RECORD + 1) + bytes(MOST_RECORD + 1) + b"crc!"
    written(tmp_path, file_of(event(0, x=1)) + image + file_of(event(1, x=2)))

    read = curves_of(tmp_path)

    assert values(only(read)) == [1, 2]
    assert read.damaged == ()


@pytest.mark.parametrize("garbage", [b"", b"\0" * 5000, b"not an event file" * 100, file_of(b"\xff\xff\xff")])
def test_a_file_of_something_else_has_no_curves(tmp_path: Path, garbage: bytes) -> None:
    written(tmp_path, garbage)

    assert curves_of(tmp_path).curves == ()


@given(st.binary(max_size=300), st.integers(0, 300))
def test_whatever_a_job_writes_does_no_harm(tmp_path_factory: pytest.TempPathFactory, noise: bytes, at: int) -> None:
    folder = tmp_path_factory.mktemp("noise")
    content = file_of(*(event(step, x=step) for step in range(3)))
    written(folder, content[:at] + noise + content[at:])
    written(folder, MINDSPORE[:at] + noise + MINDSPORE[at:], MINDSPORE_NAME)

    assert curves_of(folder).files == 2


def test_a_restarted_job_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    written(tmp_path, file_of(*(event(step, x=step) for step in range(10))), f"{NAME}.1")
    written(tmp_path, file_of(*(event(step, x=step * 100) for step in range(6, 12))), f"{NAME}.2")

    curve = only(curves_of(tmp_path))

    assert [point.step for point in curve.points] == list(range(12))
    assert values(curve) == [0, 1, 2, 3, 4, 5, 600, 700, 800, 900, 1000, 1100]
    assert curve.last
    assert curve.last.value == 1100


def test_values_that_are_not_finite_are_counted_and_not_drawn(tmp_path: Path) -> None:
    written(tmp_path, file_of(*(event(step, x=value) for step, value in enumerate([1, math.nan, math.inf, 2]))))
    written(tmp_path / "nothing", file_of(event(0, y=math.nan)))

    numbers, nothing = curves_of(tmp_path).curves

    assert (values(numbers), numbers.count, numbers.not_finite) == ([1, 2], 2, 2)
    assert (nothing.points, nothing.lowest, nothing.highest, nothing.last) == ((), None, None, None)


def test_a_long_curve_is_thinned_without_losing_a_peak_or_its_end(tmp_path: Path) -> None:
    steps = 12_345
    peaks = {4_321: 50.0, 9_999: -7.0}
    written(tmp_path, file_of(*(event(step, x=peaks.get(step, 1.0)) for step in range(steps))))

    curve = only(curves_of(tmp_path))

    found = {point.step: point.value for point in curve.points}
    assert len(curve.points) <= 2 * MOST_POINTS
    assert peaks.items() <= found.items()
    assert (curve.count, curve.lowest, curve.highest) == (steps, -7, 50)
    assert curve.points[-1].step == steps - 1
    assert sum(1 for _ in iter_scalars(tmp_path)) == steps


def test_too_many_curves_are_left_out_and_that_is_said(tmp_path: Path) -> None:
    written(tmp_path, file_of(event(0, **{f"x{index}": 1.0 for index in range(MOST_CURVES + 1)})))

    read = curves_of(tmp_path)

    assert len(read.curves) == MOST_CURVES
    assert read.excluded


@pytest.mark.parametrize("runs", [(0, 1), tuple(range(12))])
def test_the_curves_of_several_runs_are_kept_apart(tmp_path: Path, runs: Sequence[int]) -> None:
    reader = CurveReader()
    for run in runs:
        written(tmp_path / str(run), file_of(event(0, x=run)))

    read = [reader.read(tmp_path / str(run)) for run in (*runs, *runs)]

    assert [values(only(one)) for one in read] == [[run] for run in (*runs, *runs)]


def test_a_run_without_event_files_has_no_curves(tmp_path: Path) -> None:
    assert curves_of(tmp_path / "missing") == RunCurves()

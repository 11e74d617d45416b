"""Event files of long trainings: ingested in batches against record by record, and eight runs overlaid."""

import time
from collections.abc import Callable
from pathlib import Path

from tensorboard.summary.writer.record_writer import RecordWriter

from aisbench_core.domain.summaries.curves import CurveReader, iter_scalars
from aisbench_core.running.progress.overlaid_curves import CurveAxis, RunTraining, overlay_curves
from tests.bench.test_transfers import seconds
from tests.bench.test_transfers import tell as tell
from tests.event_files import NAME, event

RUNS = 8
Tell = Callable[[str, float, float], float]
STEPS = 1_000_000


def write_events(folder: Path, steps: int) -> None:
    with (folder / NAME).open("wb") as file:
        writer = RecordWriter(file)
        for step in range(1, steps + 1):
            writer.write(event(step, 1.7e9 + step, train__loss=1 / step))


def test_a_million_points_are_read_10_times_faster_than_one_by_one(tmp_path: Path, tell: Tell) -> None:
    write_events(tmp_path, STEPS)
    CurveReader().read(tmp_path)

    ours = min(seconds(lambda: CurveReader().read(tmp_path)) for _ in range(3))
    naive = seconds(lambda: sum(1 for _ in iter_scalars(tmp_path)))

    assert tell("read an event file of 1,000,000 points, vs record by record", naive, ours) >= 10


def test_eight_runs_of_a_million_points_are_overlaid_at_once(tmp_path: Path, tell: Tell) -> None:
    write_events(tmp_path, STEPS)
    reader = CurveReader()
    read = seconds(lambda: reader.read(tmp_path))
    training = RunTraining(curves=reader.read(tmp_path))
    trainings = {str(number): training for number in range(RUNS)}

    began = time.perf_counter()
    curves = overlay_curves(trainings, "train/loss", CurveAxis.STEP, 0.9)
    took = time.perf_counter() - began

    assert all(len(curve.places) <= 800 for curve in curves)
    assert tell(f"overlay {RUNS} runs of 1,000,000 points, vs reading one", read, took) >= 1

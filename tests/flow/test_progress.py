"""What the log of a job in the sandbox says of its progress is stored while it runs, each byte once, and stays."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.progress.points import MAX_POINTS, read_points
from aisbench_core.model import Run, RunState
from aisbench_core.running.progress.watch import MAX_BYTES, ProgressWatch
from aisbench_core.store.run_folders.run_paths import RunFolder
from tests import records as a
from tests.flow.following import GOOD, bench_on
from tests.sandbox_process import SandboxProcess

LOG = 'aisbench: progress {"step": 30, "of": 120, "loss": 1.5, "throughput": 100}\n'


def test_a_job_says_how_far_it_is_while_it_runs_and_its_curve_stays(sandbox: SandboxProcess, tmp_path: Path) -> None:
    sandbox.script(by="hold", log=LOG, outputs=GOOD)
    bench = bench_on(sandbox, tmp_path / "data")
    run = bench.follow(bench.launch(), RunState.RUNNING)

    for _ in range(4):
        bench.tick()
    progress = bench.core.ledger.progress(run.run_id)
    overview = bench.core.snapshots.of(bench.run(run), progress).overview
    sandbox.advance(bench.run(run).job_id)
    ended = bench.follow(run)

    assert progress
    assert (progress.done, progress.total, progress.unit) == (30, 120, "steps")
    assert overview.last
    assert (overview.last.share, overview.last.throughput, overview.last.loss) == (0.25, 200.0, 1.5)
    assert overview.hours
    assert (overview.rehearsal, overview.cost) == (True, {})
    assert ended.state is RunState.COMPLETED
    assert bench.core.files.training_points(run.run_id) == [*overview.points]


def test_the_loss_of_earlier_runs_is_behind_that_of_a_new_one(sandbox: SandboxProcess, tmp_path: Path) -> None:
    bench = bench_on(sandbox, tmp_path / "data")
    for loss in (1.0, 2.0, 3.0, 4.0, 5.0):
        sandbox.script(by="hold", log=losses(loss, loss / 2), outputs=GOOD)
        run = bench.follow(bench.launch(), RunState.RUNNING)
        for _ in range(4):
            bench.tick()
        sandbox.advance(bench.run(run).job_id)
        bench.follow(run)

    sandbox.script(by="hold", log=losses(2.5, 1.2), outputs=GOOD)
    run = bench.follow(bench.launch(), RunState.RUNNING)
    for _ in range(4):
        bench.tick()
    overview = bench.core.snapshots.of(bench.run(run), None).overview

    band = overview.earlier.loss
    assert band is not None
    assert (band.runs, band.steps) == (5, (30, 120))
    assert [band.at(point) for point in overview.points] == [(2.0, 4.0), (1.0, 2.0)]


def losses(first: float, last: float) -> str:
    return LOG.replace("1.5", str(first)) + LOG.replace("30", "120").replace("1.5", str(last))


@pytest.fixture
def run() -> Run:
    return replace(a.run("r-1", a.spec(node_count=3)), state=RunState.RUNNING, started_at=a.T0)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path / "r-1")
    folder.logs.mkdir(parents=True)
    return folder


def watch() -> ProgressWatch:
    return ProgressWatch(Workloads(HOME / "workloads"))


def grow(folder: RunFolder, text: str, node: int = 0) -> None:
    with folder.log(node).open("a", encoding="utf-8") as log:
        log.write(text)


def test_every_line_is_read_once_also_by_the_next_process(run: Run, folder: RunFolder) -> None:
    first = watch()
    grow(folder, "iteration 1/ 10 |\nitera")
    first.update(run, folder, a.T0 + timedelta(minutes=1))
    grow(folder, "tion 2/ 10 |\n")
    first.update(run, folder, a.T0 + timedelta(minutes=2))
    second = watch()
    unchanged = second.update(run, folder, a.T0 + timedelta(minutes=3))
    grow(folder, "iteration 3/ 10 |\n")
    progress = second.update(run, folder, a.T0 + timedelta(minutes=4))

    assert unchanged is None
    assert progress
    assert progress.done == 3
    points = read_points(folder.progress)
    assert [(point.step, point.at - a.T0) for point in points] == [
        (step, timedelta(minutes=minute)) for step, minute in ((1, 1), (2, 2), (3, 4))
    ]


@pytest.mark.parametrize(
    ("before", "after", "step", "epoch"),
    [
        (
            "Epoch 0: 100%|###| 100/100 [00:03<00:00, 9.40it/s]\n",
            "Epoch 4:  50%|###| 50/100 [00:03<00:03, 9.40it/s]\n",
            450,
            5,
        ),
        ('aisbench: progress {"step": 7, "of": 10}\n', "Epoch: [4][ 50/100]\tTime 0.5\n", 7, None),
    ],
)
def test_the_next_process_reads_lines_as_the_one_before_would_have(
    run: Run, folder: RunFolder, before: str, after: str, step: int, epoch: int | None
) -> None:
    grow(folder, before)
    watch().update(run, folder, a.T0 + timedelta(minutes=1))
    grow(folder, after)
    watch().update(run, folder, a.T0 + timedelta(minutes=2))

    last = read_points(folder.progress)[-1]

    assert (last.step, last.epoch) == (step, epoch)


def test_where_an_earlier_version_stopped_reading_this_one_goes_on(run: Run, folder: RunFolder) -> None:
    grow(folder, "iteration 2/ 10 |\n")
    folder.progress_offsets.write_text('{"0": 18}')
    grow(folder, "iteration 3/ 10 |\n")

    watch().update(run, folder, a.T0 + timedelta(minutes=1))

    assert [point.step for point in read_points(folder.progress)] == [3]


def test_stages_of_a_job_are_told_and_the_node_that_trains_is_followed(run: Run, folder: RunFolder) -> None:
    watching = watch()
    grow(folder, "Map: 100%|##| 500/500 [00:10<00:00, 50.0 examples/s]\n")
    prepares = watching.update(run, folder, a.T0 + timedelta(minutes=1))
    grow(folder, "iteration 2/ 10 |\n", node=2)
    trains = watching.update(run, folder, a.T0 + timedelta(minutes=2))
    grow(folder, " 50%|##| 5/10 [00:10<00:10, 1.0it/s]\n")
    grow(folder, " validation loss at iteration 2 | lm loss value: 7.4 |\n", node=2)
    evaluates = watching.update(run, folder, a.T0 + timedelta(minutes=3))

    assert prepares
    assert trains
    assert evaluates
    assert (prepares.stage, prepares.is_plausible, prepares.has_no_total) == ("preparing", False, False)
    assert (trains.stage, trains.done, trains.total) == ("", 2, 10)
    assert (evaluates.stage, evaluates.done, evaluates.total) == ("evaluating", 2, 10)


def test_a_log_that_was_begun_anew_is_read_from_its_beginning(run: Run, folder: RunFolder) -> None:
    watching = watch()
    grow(folder, "iteration 7/ 10 |\n" * 3)
    watching.update(run, folder, a.T0 + timedelta(minutes=1))

    folder.log(0).write_text("iteration 1/ 10 |\n", "utf-8")
    watching.update(run, folder, a.T0 + timedelta(minutes=2))

    assert [point.step for point in read_points(folder.progress)] == [7, 1]


def test_the_logs_of_the_first_and_the_last_node_are_read(run: Run, folder: RunFolder) -> None:
    grow(folder, "iteration 2/ 10 |\n", node=2)
    grow(folder, "iteration 9/ 10 |\n", node=1)

    watch().update(run, folder, a.T0 + timedelta(minutes=1))

    assert [point.step for point in read_points(folder.progress)] == [2]


def test_a_log_of_gigabytes_costs_one_part_at_its_end(run: Run, folder: RunFolder) -> None:
    with folder.log(0).open("wb") as log:
        log.truncate(3 * 1024**3)
        log.seek(0, 2)
        log.write(b"\niteration 5/ 10 |\n")

    watching = watch()
    progress = watching.update(run, folder, a.T0 + timedelta(minutes=1))

    assert progress
    assert progress.done == 5
    assert MAX_BYTES < 1024**2


def test_a_long_training_keeps_a_bounded_number_of_points(run: Run, folder: RunFolder) -> None:
    watching = watch()
    for minute in range(1, MAX_POINTS + 200):
        folder.log(0).write_text(f"iteration {minute}/ 9000 |\n", "utf-8")
        watching.update(run, folder, a.T0 + timedelta(minutes=minute))
        folder.progress_offsets.unlink(missing_ok=True)
        watching._watched[run.run_id].tracker.so_far.offsets.clear()

    points = read_points(folder.progress)
    assert MAX_POINTS / 2 <= len(points) <= MAX_POINTS
    assert points[-1].step == MAX_POINTS + 199


def test_lines_of_a_cut_off_file_are_skipped(run: Run, folder: RunFolder) -> None:
    grow(folder, "iteration 5/ 10 |\n")
    watch().update(run, folder, a.T0 + timedelta(minutes=1))
    with folder.progress.open("a", encoding="utf-8") as file:
        file.write('{"at": "2026-')

    assert [point.step for point in read_points(folder.progress)] == [5]

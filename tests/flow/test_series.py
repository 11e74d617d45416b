"""A series from its launch to its matrix, against the sandbox over HTTP: one job per cell, whoever is killed."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from aisbench_core.model import CellState, SeriesState
from aisbench_core.running.series.matrix import Matrix
from aisbench_core.wiring import Core
from tests.actors import named
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, MOST_TICKS, PERSON, SPEC, Bench, bench_on
from tests.flow.killable import Killable
from tests.flow.trouble import jobs_named
from tests.sandbox_process import SandboxProcess

CELLS = 4
KILLS = 4


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD)
    return bench_on(sandbox, tmp_path / "data")


def launch(core: Core, profile: str, **answers: object) -> str:
    draft = core.series.plan(SPEC, answers, profile)
    return core.series.launch(draft.plan, profile, named(PERSON)).series_id


def follow(bench: Bench, series_id: str) -> Matrix:
    for _ in range(MOST_TICKS):
        matrix = bench.core.series.matrix(series_id)
        if matrix.state.has_ended:
            return matrix
        bench.tick()
    raise AssertionError(f"{matrix.state}: {matrix.hold} {matrix.series.launch_error}")


def states(matrix: Matrix) -> list[CellState]:
    return [cell.shown.state for cell in matrix.cells]


def jobs_created(sandbox: SandboxProcess) -> int:
    return sandbox.requests()["modelarts"].get("POST training-jobs", 0)


def test_a_series_ends_as_a_matrix_and_its_runs_say_in_their_records_where_they_belong(
    bench: Bench, sandbox: SandboxProcess
) -> None:
    series_id = launch(bench.core, "sandbox", repeats=2, parallel=2)

    matrix = follow(bench, series_id)

    (row,) = matrix.rows
    assert matrix.state is SeriesState.COMPLETED
    assert jobs_created(sandbox) == 2
    assert row.summary is not None
    assert (row.summary.count, row.summary.mean, row.summary.cv, row.median) == (2, 200.0, 0.0, 200.0)
    records = {record.run.series_index: record.run.series_id for record in bench.core.files.records()}
    assert records == {1: series_id, 2: series_id}
    for file in bench.core.settings.data_dir.glob("warehouse*"):  # what was recorded last may still be in its log
        file.unlink()
    bench.core.warehouse.rebuild(bench.core.files.records())
    with bench.core.warehouse.cursor() as cur:
        stored = cur.execute("select series_id, series_index from runs order by series_index").fetchall()
    assert stored == [(series_id, 1), (series_id, 2)]
    assert bench.core.series.matrix(series_id).rows == matrix.rows


def test_a_failed_cell_runs_again_and_stopping_ends_what_is_active(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="look", exit_code=1, outputs={})
    series_id = launch(bench.core, "sandbox", repeats=1)
    failed = follow(bench, series_id)
    sandbox.script(by="hold")

    bench.core.series.rerun(series_id, named(PERSON))
    for _ in range(5):
        bench.tick()
    bench.core.series.stop(series_id, named(PERSON))
    stopped = follow(bench, series_id)

    assert failed.state is SeriesState.COMPLETED_WITH_FAILURES
    assert [tried.state for tried in stopped.cells[0].tries] == [CellState.FAILED, CellState.STOPPED]
    assert stopped.state is SeriesState.STOPPED
    assert jobs_created(sandbox) == 2


@pytest.fixture
def shell(sandbox: SandboxProcess, tmp_path: Path) -> CommandLine:
    sandbox.script(by="look", outputs=GOOD)
    return CommandLine(tmp_path / "data", sandbox)


@pytest.fixture
def follower(shell: CommandLine, core: Core) -> Iterator[Killable]:
    follower = Killable(shell, core)
    yield follower
    follower.kill()


def test_a_follower_that_is_killed_again_and_again_launches_every_cell_once(
    core: Core, sandbox: SandboxProcess, follower: Killable
) -> None:
    series_id = launch(core, "lab", repeats=CELLS, parallel=2)

    def has_ended() -> bool:
        return core.series.matrix(series_id).state.has_ended

    def asked() -> int:
        return sum(sandbox.requests()["modelarts"].values())

    for kill in range(KILLS):
        enough = asked() + 1 + kill
        follower.start()
        follower.wait(partial(lambda enough: asked() >= enough or has_ended(), enough), "the follower to be at work")
        follower.kill()
    follower.start()
    follower.wait(has_ended, "the series to end")

    matrix = core.series.matrix(series_id)
    runs = core.ledger.page(limit=100)
    assert states(matrix) == [CellState.VALID] * CELLS
    assert Counter(run.series_index for run in runs) == Counter(range(1, CELLS + 1))
    assert [len(jobs_named(sandbox, run.job_name)) for run in runs] == [1] * CELLS
    folders = [folder.name for folder in core.settings.runs_dir.iterdir() if (folder / "record.json").exists()]
    assert sorted(folders) == sorted(run.run_id for run in runs)

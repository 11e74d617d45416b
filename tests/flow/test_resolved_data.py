"""What data a run read, without the help of its job: the objects of its inputs are listed before the job is created."""

from pathlib import Path

import pytest

from aisbench_core.model import Level, RunSpec, RunState
from aisbench_core.warehouse.values.boards import BoardRow
from aisbench_core.warehouse.values.runs import BoardQuery
from tests.flow.following import GOOD, SPEC, Bench, bench_on
from tests.sandbox_process import SandboxProcess


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD, log="step 1\nstep 2\n")
    return bench_on(sandbox, tmp_path / "data")


def reading(bench: Bench, directory: str, **files: bytes) -> RunSpec:
    """A spec that reads this directory of the profile's bucket, with these objects in it."""
    bucket = bench.core.regions.profile("sandbox").bucket
    for name, content in files.items():
        bench.objects().put(f"/{bucket}/{directory}/{name}", content)
    return RunSpec.model_validate(
        {**SPEC.model_dump(), "inputs": [{"name": "data_url", "path": f"/{bucket}/{directory}/"}]}
    )


def rows_of(bench: Bench, *specs: RunSpec) -> dict[str, BoardRow]:
    """Runs of these specs, as rows by the id of their newest run."""
    for spec in specs:
        run = bench.follow(bench.launch(spec))
        assert run.state is RunState.COMPLETED, run.detail
    page = bench.core.warehouse.board.list_rows(BoardQuery("sandbox", rehearsal=True))
    return {row.latest_run_id: row for row in page.rows}


def test_runs_that_read_equal_objects_make_one_row_with_interval_and_rank(bench: Bench) -> None:
    spec = reading(bench, "data", train=b"one" * 9, test=b"two" * 9)

    rows = rows_of(bench, spec, spec)

    [row] = rows.values()
    assert (row.runs, row.not_known, row.rank) == (2, "", "1")
    assert row.ci_low is not None


def test_equal_objects_at_another_path_are_the_same_data_and_other_objects_of_equal_size_are_not(bench: Bench) -> None:
    spec = reading(bench, "data", train=b"one", test=b"two")
    moved = reading(bench, "moved", train=b"one", test=b"two")
    bench.objects().make_directory(moved.inputs[0].path)
    rows = rows_of(bench, spec, moved)
    assert [row.runs for row in rows.values()] == [2]

    changed = reading(bench, "data", train=b"six")
    rows = rows_of(bench, changed, reading(bench, "part", train=b"one"))

    assert sorted(row.runs for row in rows.values()) == [1, 1, 2]
    assert len({row.fingerprint for row in rows.values()}) == 3


def test_data_that_cannot_be_listed_is_unknown_and_does_not_hinder_the_launch(
    bench: Bench, sandbox: SandboxProcess
) -> None:
    run = bench.follow(bench.launch(reading(bench, "data", train=b"one")), RunState.UPLOADING)
    sandbox.faults({"service": "obs", "method": "GET", "path": "prefix=data", "status": 403, "code": "AccessDenied"})

    ended = bench.follow(run)

    recorded = bench.core.warehouse.runs.find_row(run.run_id)
    assert ended.state is RunState.COMPLETED
    assert recorded is not None
    assert recorded.not_known == "data"
    [warning] = [event for event in bench.core.ledger.events(run.run_id) if event.level is Level.WARNING]
    assert warning.message.startswith("data of input data_url is unknown:")


def test_the_events_of_a_run_say_what_was_read(bench: Bench) -> None:
    run = bench.follow(bench.launch(reading(bench, "data", train=b"one")))

    messages = [event.message for event in bench.core.ledger.events(run.run_id)]

    assert any(message.startswith("data of input data_url: 1 object, 3 B, SHA-256 ") for message in messages)

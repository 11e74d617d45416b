"""A run's way from launch to the warehouse, against the sandbox over HTTP."""

from pathlib import Path

import pytest

from aisbench_core.base.errors import SpecError
from aisbench_core.model import Mode, Progress, RunState, StopCause, StopKind
from tests.actors import named
from tests.flow.following import GOOD, PERSON, SPEC, Bench, bench_on
from tests.sandbox_process import SandboxProcess


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD, log="step 1\nstep 2\n")
    return bench_on(sandbox, tmp_path / "data")


def jobs_created(sandbox: SandboxProcess) -> int:
    return sandbox.requests()["modelarts"].get("POST training-jobs", 0)


def test_a_run_goes_along_the_line_and_ends_on_the_leaderboard(bench: Bench, sandbox: SandboxProcess) -> None:
    run = bench.follow(bench.launch())

    recorded = bench.core.warehouse.runs.find_row(run.run_id)
    assert run.state is RunState.COMPLETED, run.detail
    assert recorded is not None
    assert recorded.throughput == pytest.approx(200.0)
    assert recorded.accuracy == pytest.approx(0.97)
    assert jobs_created(sandbox) == 1


def test_every_move_of_a_run_is_an_event_with_who_and_when(bench: Bench) -> None:
    run = bench.follow(bench.launch())

    events = bench.core.ledger.events(run.run_id)
    assert [event.message for event in events][1:] == [
        "uploading", "submitting", "queued", "running", "collecting", "completed"
    ]  # fmt: skip
    assert events[0].actor == PERSON
    assert [event.at for event in events] == sorted(event.at for event in events)


def test_the_folder_of_a_run_holds_what_the_warehouse_can_be_rebuilt_from(bench: Bench) -> None:
    run = bench.follow(bench.launch())
    before = bench.core.warehouse.runs.find_row(run.run_id)

    for file in bench.core.settings.data_dir.glob("warehouse*"):  # with its log
        file.unlink()
    count = bench.core.warehouse.rebuild(bench.core.files.records())

    assert count == 1
    assert bench.core.warehouse.runs.find_row(run.run_id) == before


def test_the_log_of_each_node_is_kept(bench: Bench) -> None:
    run = bench.follow(
        bench.launch(SPEC.model_copy(update={"node_count": 2, "flavor": "sandbox.cpu.1card", "cards_per_node": 1}))
    )

    assert bench.core.files.nodes(run.run_id) == [0, 1]
    assert "step 2" in bench.core.files.log_tail(run.run_id, 1)


def test_uploading_shows_its_progress_in_files(bench: Bench) -> None:
    run = bench.launch()

    uploaded = bench.follow(run, RunState.SUBMITTING)

    assert uploaded.code_sha256
    with_progress = bench.core.ledger
    assert with_progress.progress(run.run_id) is None, "it belongs to the state that is over"
    with_progress.set_progress(Progress(run.run_id, RunState.SUBMITTING, 1, 2, "files", bench.clock()))
    assert with_progress.progress(run.run_id) is not None


def test_the_same_code_is_uploaded_once(bench: Bench, sandbox: SandboxProcess) -> None:
    bench.follow(bench.launch())
    first = sandbox.requests()["obs"]["PUT"]

    bench.follow(bench.launch())

    markers = 2  # the second run's own output and log directories
    assert sandbox.requests()["obs"]["PUT"] - first <= markers + 2, "and what the job itself writes"


@pytest.mark.parametrize("state", [RunState.PREPARING, RunState.UPLOADING, RunState.SUBMITTING])
def test_a_run_that_is_stopped_before_its_job_exists_makes_none(
    bench: Bench, sandbox: SandboxProcess, state: RunState
) -> None:
    run = bench.follow(bench.launch(), state)

    bench.core.runs.stop(run.run_id, named(PERSON))
    ended = bench.follow(run)

    assert ended.state is RunState.STOPPED
    assert jobs_created(sandbox) == 0


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.RUNNING])
def test_stopping_a_run_stops_its_job_and_keeps_its_log(bench: Bench, sandbox: SandboxProcess, state: RunState) -> None:
    sandbox.script(by="hold", log="so far\n")
    run = bench.follow(bench.launch(), state)

    bench.core.runs.stop(run.run_id, named(PERSON))
    ended = bench.follow(run)

    assert ended.state is RunState.STOPPED
    assert bench.core.warehouse.runs.find_row(run.run_id) is not None
    assert "stopped" in ended.detail


def test_who_stopped_a_run_is_known_whatever_the_cloud_does_meanwhile(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    run = bench.follow(bench.launch(), RunState.RUNNING)
    bench.core.runs.stop(run.run_id, named(PERSON))
    sandbox.faults({"service": "modelarts", "status": 503, "times": 2})

    ended = bench.follow(run)

    assert ended.state is RunState.STOPPED
    assert ended.stop_cause == StopCause(StopKind.PERSON, PERSON)
    assert ended.detail.startswith(f"stopped by {PERSON}")


def test_stopping_twice_or_after_the_end_changes_nothing(bench: Bench) -> None:
    run = bench.follow(bench.launch())

    again = bench.core.runs.stop(run.run_id, named(PERSON))

    assert again == run


def test_a_failed_job_ends_the_run_failed_with_its_exit_code_and_its_log(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="look", exit_code=3, log="Traceback: no such file\n", outputs={})

    run = bench.follow(bench.launch())

    assert run.state is RunState.FAILED
    assert "code 3" in run.detail
    assert "no such file" in bench.core.files.log_tail(run.run_id, 0)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("throughput_1.json", None, "throughput_1.json is missing"),
        ("throughput_1.json", "", "throughput_1.json is empty"),
        ("throughput_1.json", "nan", "throughput_1.json holds 'nan', and not a finite number"),
        ("throughput_1.json", "-3", "throughput_1.json holds -3"),
        ("throughput_0.json", "1e400", "throughput_0.json holds '1e400', and not a finite number"),
        ("accuracy.json", "<html>gateway</html>", "accuracy.json holds '<html>gateway</html>', and not a number"),
        ("ranksize.json", "7", "ranksize.json holds 7, and the run has 2 cards"),
    ],
)
def test_a_bad_result_file_fails_the_run_by_its_name_and_can_be_rescued(
    bench: Bench, sandbox: SandboxProcess, name: str, content: str | None, says: str
) -> None:
    outputs = {key: text for key, text in (GOOD | {name: content}).items() if text is not None}
    sandbox.script(by="look", outputs=outputs)
    run = bench.follow(bench.launch())
    assert run.state is RunState.FAILED
    assert says in run.detail
    first = bench.core.files.record(run.run_id)

    bench.clock.move(86_400)
    bench.objects().put(f"/{sandbox.bucket}/aisbench/output/{run.job_name}/{name}", GOOD[name].encode())
    bench.core.runs.collect_again(run.run_id, named(PERSON))
    rescued = bench.follow(run)

    assert rescued.state is RunState.COMPLETED
    again = bench.core.files.record(run.run_id)
    assert first is not None
    assert first.result is not None
    assert again is not None
    assert again.result is not None
    assert again.result.info.total_end_time == first.result.info.total_end_time, "a day later it took no longer"
    recorded = bench.core.warehouse.runs.find_row(run.run_id)
    assert recorded is not None
    assert recorded.throughput == pytest.approx(200.0)


def test_single_server_mode_takes_the_mean_over_servers(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(
        by="look",
        outputs={
            "0/throughput_0.json": "10", "0/throughput_1.json": "20", "accuracy_0.json": "0.9",
            "1/throughput_0.json": "30", "1/throughput_1.json": "40", "accuracy_1.json": "0.8",
        },
    )  # fmt: skip
    spec = SPEC.model_copy(update={"node_count": 2, "mode": Mode.SINGLE_SERVER})

    run = bench.follow(bench.launch(spec))

    recorded = bench.core.warehouse.runs.find_row(run.run_id)
    assert run.state is RunState.COMPLETED, run.detail
    assert recorded is not None
    assert recorded.throughput == pytest.approx(50.0)
    assert recorded.accuracy == pytest.approx(0.85)


def test_a_launch_that_preflight_forbids_is_refused_with_every_field(bench: Bench) -> None:
    spec = SPEC.model_copy(update={"boot_file": "../evil.py", "parameters": {"epochs": "many"}})

    with pytest.raises(SpecError) as refused:
        bench.launch(spec)

    assert {problem.field for problem in refused.value.problems} >= {"boot_file", "parameters.epochs"}
    assert bench.core.ledger.count() == 0


def test_the_same_token_launches_once(bench: Bench) -> None:
    first = bench.core.runs.launch(SPEC, "sandbox", named(PERSON), token="a-dialog")

    second = bench.core.runs.launch(SPEC, "sandbox", named(PERSON), token="a-dialog")

    assert second == first
    assert bench.core.ledger.count() == 1
    assert [folder.name for folder in bench.core.settings.runs_dir.iterdir()] == [first.run_id]


def test_a_hundred_running_jobs_take_at_most_three_list_calls_a_tick(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    for _ in range(100):
        bench.launch()
    for _ in range(5):
        bench.tick()
    assert bench.core.ledger.count([RunState.RUNNING]) == 100
    before = sandbox.requests()["modelarts"]

    bench.tick()

    after = sandbox.requests()["modelarts"]
    assert after["POST training-job-searches"] - before["POST training-job-searches"] <= 3
    assert after.get("GET training-jobs/{id}", 0) == before.get("GET training-jobs/{id}", 0)

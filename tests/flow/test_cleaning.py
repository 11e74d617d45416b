"""Ended runs give back what they occupy, part by part, while everything that is known of them stays."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.base.errors import CloudNotFound, RunNotFound, SpecError, StaleRun
from aisbench_core.base.messages import Message
from aisbench_core.model import Channel, Run, RunPart, RunState
from aisbench_core.running.cleaning.plans import CleaningPlan, Obstacle, RemovalItem
from aisbench_core.store.run_folders import run_paths
from aisbench_core.store.run_folders.removals import write_removals
from aisbench_core.store.run_folders.run_paths import RunFolder
from tests.actors import TESTER, named
from tests.flow.following import GOOD, SPEC, Bench, bench_on
from tests.processes import FORKED
from tests.sandbox_process import SandboxProcess

MANY = 2001
"""Objects of a run: three pages."""


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    return bench_on(sandbox, tmp_path / "data")


def directories(bench: Bench, run: Run) -> tuple[str, str]:
    """The run's output and log directories in OBS."""
    profile = bench.core.regions.profile("sandbox")
    return run_paths.output_path(run, profile), run_paths.log_path(run, profile)


def paths_below(bench: Bench, directory: str) -> set[str]:
    return {stat.path for stat in bench.objects().list(directory)}


def everything(bench: Bench) -> set[str]:
    return paths_below(bench, f"/{bench.core.regions.profile('sandbox').bucket}/")


def parts_of(plan: CleaningPlan) -> list[RunPart]:
    return [item.part for item in plan.items]


def test_a_plan_shows_sizes_and_changes_nothing(bench: Bench) -> None:
    run = bench.follow(bench.launch())
    before, events = everything(bench), bench.core.ledger.events(run.run_id)
    outputs, logs = directories(bench, run)

    plan = bench.core.cleaning.plan(run.run_id[:-1])

    found = {item.part: item for item in plan.items}
    assert parts_of(plan) == list(RunPart)
    assert found[RunPart.JOB] == RemovalItem(RunPart.JOB, run.job_name, 1, 0)
    listed = bench.objects().list(outputs)
    size = sum(stat.size for stat in listed)
    assert found[RunPart.OUTPUTS] == RemovalItem(RunPart.OUTPUTS, outputs, len(listed), size)
    assert found[RunPart.LOGS].path == logs
    assert found[RunPart.FOLDER].size >= len("step 1\n")
    assert not plan.obstacles
    assert everything(bench) == before
    assert bench.core.ledger.events(run.run_id) == events
    assert bench.core.cleaning.removals(run.run_id) == ()


@pytest.mark.parametrize("part", RunPart)
def test_one_part_is_removed_by_itself_and_nothing_of_another_run(bench: Bench, part: RunPart) -> None:
    run, neighbour = bench.follow(bench.launch()), bench.follow(bench.launch())
    before = everything(bench)
    whole = bench.core.cleaning.plan(run.run_id)

    (removal,) = bench.core.cleaning.clean(whole.only([part]), TESTER)

    left = bench.core.cleaning.plan(run.run_id)
    assert parts_of(left) == [each for each in RunPart if each is not part]
    assert left.items == tuple(item for item in whole.items if item.part is not part)
    index = 0 if part is RunPart.OUTPUTS else 1
    own = directories(bench, run)[index] if part in (RunPart.OUTPUTS, RunPart.LOGS) else "none"
    assert everything(bench) == {path for path in before if not path.startswith(own)}
    assert parts_of(bench.core.cleaning.plan(neighbour.run_id)) == list(RunPart)
    assert (removal.part, removal.who, removal.objects > 0) == (part, "tester", True)
    assert bench.core.cleaning.removals(run.run_id) == (removal,)


def test_the_record_stays_and_says_what_was_removed_when_and_by_whom(bench: Bench) -> None:
    core, run = bench.core, bench.follow(bench.launch())
    core.annotations.tag(run.run_id, ["kept"], [], TESTER)
    row, record = core.warehouse.runs.find_row(run.run_id), core.files.record(run.run_id)

    core.cleaning.clean(core.cleaning.plan(run.run_id), named("ann"))

    assert row is not None
    assert record is not None
    assert core.warehouse.runs.find_row(run.run_id) == row
    assert core.ledger.get(run.run_id).state is RunState.COMPLETED
    now = core.files.record(run.run_id)
    assert now is not None
    assert (now.result, now.samples, now.annotations) == (record.result, record.samples, record.annotations)
    said = [(event.message.split(":")[0], event.actor) for event in now.events[len(record.events) :]]
    assert said == [
        (f"job {run.job_name} deleted in the region", "ann"),
        *((f"{path} removed", "ann") for path in (*directories(bench, run), str(core.settings.runs_dir / run.run_id))),
    ]
    core.storage.rebuild(TESTER)
    assert core.warehouse.runs.find_row(run.run_id) == row
    assert core.files.log_tail(run.run_id, 0) == ""
    with pytest.raises(CloudNotFound):
        core.jobs.find("sandbox", run.job_id)


def test_a_run_that_has_not_ended_keeps_everything(bench: Bench) -> None:
    run = bench.launch()
    bench.follow(run, RunState.RUNNING)
    before = everything(bench)

    plan = bench.core.cleaning.plan(run.run_id)

    assert [obstacle.part for obstacle in plan.obstacles] == list(RunPart)
    assert not plan.items
    forged = CleaningPlan(run.run_id, (RemovalItem(RunPart.OUTPUTS, directories(bench, run)[0], 99, 10**9),))
    for refused in (plan, forged):
        with pytest.raises(SpecError, match="the run has not ended"):
            bench.core.cleaning.clean(refused, TESTER)
    assert everything(bench) == before


def test_only_what_is_the_runs_own_is_removed_whatever_a_plan_names(bench: Bench) -> None:
    run, neighbour = bench.follow(bench.launch()), bench.follow(bench.launch())
    before = everything(bench)
    bucket = bench.core.regions.profile("sandbox").bucket
    own, _ = directories(bench, run)
    hostile = [
        "",
        "/",
        "..",
        f"/{bucket}/",
        f"/{bucket}/aisbench/output/",
        own[:-1],
        f"{own}../",
        f"{own}/",
        own + "x/",
    ]
    hostile += directories(bench, neighbour)

    for path in hostile:
        for part in RunPart:
            plan = CleaningPlan(run.run_id, (RemovalItem(part, path, 10**6, 10**12),))
            if (part, path) != (RunPart.LOGS, directories(bench, run)[1]):
                with pytest.raises(SpecError):
                    bench.core.cleaning.clean(plan, TESTER)

    assert everything(bench) == before
    assert (bench.core.settings.runs_dir / neighbour.run_id / "logs").is_dir()


def test_files_that_another_run_needs_stay(bench: Bench) -> None:
    run = bench.follow(bench.launch())
    outputs, _ = directories(bench, run)
    bench.launch(SPEC.model_copy(update={"inputs": (Channel(name="checkpoint", path=f"{outputs}ckpt/"),)}))

    plan = bench.core.cleaning.plan(run.run_id)

    assert {obstacle.part for obstacle in plan.obstacles} == {RunPart.OUTPUTS, RunPart.LOGS}
    assert "uses files of this run" in plan.obstacles[0].reason
    item = RemovalItem(RunPart.OUTPUTS, outputs, 99, 10**9)
    with pytest.raises(SpecError, match="uses files of this run"):
        bench.core.cleaning.clean(CleaningPlan(run.run_id, (item,)), TESTER)
    assert paths_below(bench, outputs)


def test_a_run_that_another_one_resumes_keeps_its_outputs(bench: Bench) -> None:
    run = bench.follow(bench.launch())
    resumed = bench.launch(SPEC.model_copy(update={"resume_from": run.run_id}))

    plan = bench.core.cleaning.plan(run.run_id, [RunPart.OUTPUTS])

    assert [obstacle.reason for obstacle in plan.obstacles] == [f"{resumed.run_id} uses files of this run"]


def test_outputs_below_an_input_of_an_active_run_stay(bench: Bench) -> None:
    run = bench.follow(bench.launch())
    above = directories(bench, run)[0].rsplit("/", 2)[0]
    other = bench.launch(SPEC.model_copy(update={"inputs": (Channel(name="results", path=f"{above}/"),)}))

    plan = bench.core.cleaning.plan(run.run_id, [RunPart.OUTPUTS])

    assert plan.obstacles[0].reason == f"{other.run_id} uses files of this run"


def test_logs_among_the_outputs_are_not_removed_alone(bench: Bench) -> None:
    bucket = bench.core.regions.profile("sandbox").bucket
    together = SPEC.model_copy(update={"log_path": f"/{bucket}/aisbench/output/"})
    run = bench.follow(bench.launch(together))
    plan = bench.core.cleaning.plan(run.run_id, [RunPart.OUTPUTS, RunPart.LOGS])

    assert bench.core.cleaning.survey(run.run_id).obstacles == ()
    for part in (RunPart.OUTPUTS, RunPart.LOGS):
        (obstacle,) = bench.core.cleaning.plan(run.run_id, [part]).obstacles
        assert "logs and outputs are in one directory" in obstacle.reason
        with pytest.raises(SpecError, match="logs and outputs are in one directory"):
            bench.core.cleaning.clean(plan.only([part]), TESTER)
    bench.core.cleaning.clean(plan, TESTER)

    assert not paths_below(bench, directories(bench, run)[0])


def test_what_came_after_the_plan_is_not_removed_unseen(bench: Bench) -> None:
    run = bench.follow(bench.launch())
    plan = bench.core.cleaning.plan(run.run_id, [RunPart.OUTPUTS])
    late = f"{directories(bench, run)[0]}late.bin"
    bench.objects().put(late, b"123")

    with pytest.raises(StaleRun, match="holds more than was shown"):
        bench.core.cleaning.clean(plan, TESTER)

    assert late in everything(bench)


def test_a_run_is_not_collected_without_its_outputs(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="look", outputs={"throughput_0.json": "nonsense"}, log="")
    run = bench.follow(bench.launch())
    assert run.can_collect_again
    bench.core.cleaning.clean(bench.core.cleaning.plan(run.run_id, [RunPart.OUTPUTS]), TESTER)

    with pytest.raises(SpecError, match="its outputs were removed by tester"):
        bench.core.runs.collect_again(run.run_id, TESTER)


def test_a_run_that_is_collected_again_meanwhile_is_left_alone(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="look", outputs={"throughput_0.json": "nonsense"}, log="")
    run = bench.follow(bench.launch())
    plan = bench.core.cleaning.plan(run.run_id)
    bench.core.runs.collect_again(run.run_id, TESTER)

    with pytest.raises(SpecError, match="the run has not ended"):
        bench.core.cleaning.clean(plan, TESTER)

    assert paths_below(bench, directories(bench, run)[0])


def test_a_plans_own_obstacles_are_final(bench: Bench) -> None:
    run = bench.follow(bench.launch())
    plan = replace(
        bench.core.cleaning.plan(run.run_id), obstacles=(Obstacle(RunPart.JOB, Message("cancelled by {who}", who="x")),)
    )

    with pytest.raises(SpecError, match="job: cancelled by x"):
        bench.core.cleaning.clean(plan, TESTER)

    assert bench.core.cleaning.removals(run.run_id) == ()


def test_links_in_a_folder_are_removed_and_not_followed(bench: Bench, tmp_path: Path) -> None:
    run = bench.follow(bench.launch())
    folder = bench.core.settings.runs_dir / run.run_id
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "mine").write_text("mine")
    (folder / "logs" / "link").symlink_to(tmp_path / "elsewhere")
    (folder / "link").symlink_to(tmp_path / "elsewhere")

    bench.core.cleaning.clean(bench.core.cleaning.plan(run.run_id, [RunPart.FOLDER]), TESTER)

    assert (tmp_path / "elsewhere" / "mine").read_text() == "mine"
    assert {file.name for file in folder.iterdir()} <= {
        *("config.json", "events.jsonl", "job.json", "launch.json", "metrics.jsonl", "record.json"),
        *("removals.jsonl", "result_files.json", "spec.yaml"),
        *("system.json", "train_result_info.json"),
    }


def test_a_folder_that_is_a_link_is_not_emptied(bench: Bench, tmp_path: Path) -> None:
    run = bench.follow(bench.launch())
    folder = bench.core.settings.runs_dir / run.run_id
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")

    plan = bench.core.cleaning.plan(run.run_id, [RunPart.FOLDER])

    assert plan.items == ()
    assert (tmp_path / "moved" / "logs").is_dir()


def test_a_run_that_only_the_warehouse_has_cannot_be_cleaned(bench: Bench) -> None:
    with pytest.raises(RunNotFound):
        bench.core.cleaning.plan("r20200101-000000-nobody")


def test_by_default_everything_is_kept_for_ever(bench: Bench) -> None:
    bench.follow(bench.launch())
    bench.clock.move(10**9)

    assert list(bench.core.cleaning.due()) == []


def test_the_settings_decide_part_by_part_what_is_due(sandbox: SandboxProcess, tmp_path: Path) -> None:
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    bench = bench_on(sandbox, tmp_path / "data", keep_outputs_days=30, keep_logs_days=7)
    run = bench.follow(bench.launch())
    day = 24 * 3600.0

    bench.clock.move(6 * day)
    assert list(bench.core.cleaning.due()) == []
    bench.clock.move(2 * day)
    (plan,) = bench.core.cleaning.due()
    assert (plan.run_id, parts_of(plan)) == (run.run_id, [RunPart.LOGS])
    bench.core.cleaning.clean(plan, TESTER)
    assert list(bench.core.cleaning.due()) == []
    bench.clock.move(30 * day)
    (plan,) = bench.core.cleaning.due()
    assert parts_of(plan) == [RunPart.OUTPUTS]


def test_a_run_whose_region_does_not_answer_is_named_and_the_others_are_due(
    sandbox: SandboxProcess, tmp_path: Path
) -> None:
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    bench = bench_on(sandbox, tmp_path / "data", keep_logs_days=1)
    run, lost = bench.follow(bench.launch()), bench.follow(bench.launch())
    bench.core.ledger.advance(lost, replace(lost, profile="gone"))
    bench.clock.move(10.0**6)

    plans = {plan.run_id: plan for plan in bench.core.cleaning.due()}

    assert parts_of(plans[run.run_id]) == [RunPart.LOGS]
    assert "gone" in plans[lost.run_id].obstacles[0].reason


# --- kill -9 -------------------------------------------------------------------------------------------


def _clean(environment: Mapping[str, str], run_id: str) -> None:
    """`aisbench clean`, in this process."""
    from aisbench_core.interfaces.cli import main

    os.environ.update(environment)
    main(["clean", run_id, "--outputs", "--yes"])


@pytest.fixture
def crowded(bench: Bench, tmp_path: Path) -> Run:
    run = bench.follow(bench.launch())
    (tmp_path / "part").write_bytes(b"1")
    directory, _ = directories(bench, run)
    pairs = [(f"{directory}part/{number}", tmp_path / "part") for number in range(MANY)]
    bench.objects().put_many(pairs, lambda *_: None)
    return run


def test_a_clean_up_that_is_killed_is_repeated_and_ends_right(
    bench: Bench, sandbox: SandboxProcess, crowded: Run
) -> None:
    directory, _ = directories(bench, crowded)
    whole = bench.core.cleaning.plan(crowded.run_id, [RunPart.OUTPUTS]).items[0]
    settings = bench.core.settings
    environment = {"AISBENCH_DATA_DIR": str(settings.data_dir), "AISBENCH_PROFILE": "sandbox"}
    process = FORKED.Process(target=_clean, args=(environment, crowded.run_id))
    sandbox.latency(300, 0)
    process.start()
    while len(paths_below(bench, directory)) == whole.objects:
        assert process.is_alive()
    process.kill()
    process.join()
    sandbox.latency(0, 0)

    left = bench.core.cleaning.plan(crowded.run_id, [RunPart.OUTPUTS])
    (begun,) = bench.core.cleaning.removals(crowded.run_id)
    (ended,) = bench.core.cleaning.clean(left, TESTER)

    assert begun.ended_at is None
    assert left.items[0].objects < whole.objects
    assert (ended.objects, ended.size, ended.who) == (whole.objects, whole.size, begun.who)
    assert not paths_below(bench, directory)
    assert bench.core.cleaning.removals(crowded.run_id) == (ended,)


def test_a_kill_after_the_last_object_is_repeated_too(bench: Bench) -> None:
    run = bench.follow(bench.launch())
    plan = bench.core.cleaning.plan(run.run_id, [RunPart.OUTPUTS])
    (ended,) = bench.core.cleaning.clean(plan, TESTER)
    write_removals(RunFolder(bench.core.settings.runs_dir / run.run_id), [replace(ended, ended_at=None)])

    again = bench.core.cleaning.plan(run.run_id, [RunPart.OUTPUTS])
    (closed,) = bench.core.cleaning.clean(again, TESTER)

    assert again.items[0].objects == 0
    assert closed.ended_at is not None
    assert (closed.objects, closed.size) == (ended.objects, ended.size)
    assert bench.core.cleaning.plan(run.run_id, [RunPart.OUTPUTS]).items == ()

"""A series that searches, on the sandbox: it agrees with a full grid, stops trials without hope, survives kills."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from aisbench_core.domain.results.progress import read_progress
from aisbench_core.model import ParameterSearch, Range, RunSpec
from aisbench_core.running.series.planning import SeriesDraft
from aisbench_core.running.series.sampler import Trial, suggest_values
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.wiring import Core
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD
from tests.flow.killable import Killable
from tests.flow.trouble import jobs_named
from tests.sandbox_process import SandboxProcess

WHAT = ("quickstart_digits", "--cards", "2", "--set", "flavor=sandbox.cpu.2cards")
TRIALS = 6
KILLS = 8


@pytest.mark.slow
def test_a_search_finds_the_batch_size_that_a_full_grid_finds_too(real_shell: CommandLine, tmp_path: Path) -> None:
    quick = ("--param", "epochs=2", "--hours-per-run", "0.5", "--budget", "0.6", "--wait")
    space = ("--search", "batch_size=1..256 log", "--trials", "4", "--seed", "2")

    searched = real_shell.answer("series", "run", *WHAT, *quick, *space)
    best = searched["best"]["parameters"]["batch_size"]
    grid = ("--values", f"batch_size=1,4,16,{best}", "--repeats", "1")
    compared = real_shell.answer("series", "run", *WHAT, *quick, *grid)

    tried = [cell["parameters"]["batch_size"] for cell in searched["cells"]]
    assert searched["state"] == compared["state"] == "completed"
    assert compared["best"]["parameters"] == searched["best"]["parameters"]
    assert best > 64, "large batches are far quicker, and more than one of four trials is among them"
    assert len({*tried}) == 4
    assert searched["node_hours"]["used"] <= 0.6
    spec = tmp_path / "best.yaml"
    assert real_shell.type("series", "best", searched["series_id"], "-o", str(spec)).exit_code == 0
    assert yaml.safe_load(spec.read_text("utf-8"))["parameters"]["batch_size"] == best
    shown = real_shell.type("series", "show", searched["series_id"]).stdout
    assert "batch_size=1..256 log by tpe, objective throughput, seed 2" in shown
    assert f"batch_size={best}" in shown


@pytest.mark.slow
def test_a_trial_without_hope_is_stopped_by_its_live_throughput_and_never_ranked(real_shell: CommandLine) -> None:
    # With this seed the one that takes minutes comes last, when there are three to compare it with.
    space = ("--search", "batch_size=1,64,128,256", "--trials", "4", "--seed", "4", "--early-stop")

    done = real_shell.answer("series", "run", *WHAT, "--param", "epochs=150", *space, "--wait")

    slow = done["cells"][3]
    run = real_shell.answer("show", slow["run_id"])["run"]
    board = real_shell.answer("leaderboard", "--rehearsals", "--region", "sandbox")
    assert done["state"] == "completed"
    assert (slow["parameters"]["batch_size"], slow["state"], slow["throughput"]) == (1, "stopped early", None)
    assert run["state"] == "stopped"
    assert run["detail"].startswith("stopped by the search: its throughput of ")
    assert "the median of 3 ended trials" in run["detail"]
    assert sum(row["runs"] for row in board["rows"]) == 3
    assert done["lost"] == 0


@pytest.mark.slow
def test_the_best_trial_is_the_one_that_reaches_the_target_first(real_shell: CommandLine) -> None:
    space = ("--search", "learning_rate=0.0001,0.05,0.3", "--trials", "3", "--objective", "time-to-accuracy")

    done = real_shell.answer("series", "run", *WHAT, "--param", "epochs=25", *space, "--wait")

    seconds = {cell["parameters"]["learning_rate"]: cell["objective"] for cell in done["cells"]}
    for cell in done["cells"]:
        points = read_progress(RunFolder(real_shell.data_dir / "runs" / cell["run_id"]).log(0))
        reached = [one.seconds for one in points if one.accuracy is not None and one.accuracy >= 0.95]
        assert cell["objective"] == (reached[0] if reached else None)
    assert seconds[0.0001] is None, "it does not reach 95 %"
    assert done["best"]["value"] == min(seconds[0.05], seconds[0.3])
    assert done["best"]["unit"] == "s"
    best = next(cell for cell in done["cells"] if cell["objective"] == done["best"]["value"])
    events = real_shell.answer("show", best["run_id"])["events"]
    assert [event for event in events if event["message"].startswith("reached the target accuracy of 0.95 after ")]


@pytest.fixture
def shell(sandbox: SandboxProcess, tmp_path: Path) -> CommandLine:
    sandbox.script(by="look", outputs=GOOD)
    return CommandLine(tmp_path / "data", sandbox)


@pytest.fixture
def follower(shell: CommandLine, core: Core) -> Iterator[Killable]:
    follower = Killable(shell, core)
    yield follower
    follower.kill()


def test_a_follower_that_is_killed_again_and_again_loses_no_trial_and_launches_none_twice(
    shell: CommandLine, core: Core, sandbox: SandboxProcess, follower: Killable
) -> None:
    space = ("--search", "batch_size=16..256 log", "--trials", str(TRIALS))
    series_id = shell.answer("series", "run", *WHAT, *space)["series_id"]

    def has_ended() -> bool:  # asked of the ledger, as the follower needs the warehouse
        return core.ledger.count() == TRIALS and not core.ledger.active()

    def requests() -> int:
        return sum(sandbox.requests()["modelarts"].values())

    for kill in range(KILLS):
        enough = requests() + 1 + kill
        follower.start()
        follower.wait(partial(lambda enough: requests() >= enough or has_ended(), enough), "the follower to be at work")
        follower.kill()
    follower.start()
    follower.wait(has_ended, "the series to end")

    assert core.series.matrix(series_id).state.has_ended
    runs = sorted(core.ledger.page(limit=100), key=lambda run: run.series_index or 0)
    rows = core.series.get(series_id).rows
    assert [run.series_index for run in runs] == list(range(1, TRIALS + 1))
    assert Counter(len(jobs_named(sandbox, run.job_name)) for run in runs) == {1: TRIALS}
    assert [run.spec.parameters["batch_size"] for run in runs] == [row.parameters["batch_size"] for row in rows]
    # Whoever asked: the values are those that follow from the results before them.
    batch_sizes = Range(low=16, high=256, log=True, integer=True)
    search, trials = ParameterSearch(space={"batch_size": batch_sizes}, trials=TRIALS), list[Trial]()
    for number, row in enumerate(rows, start=1):
        assert suggest_values(search, search.space, number, trials) == row.parameters
        trials.append(Trial(row.parameters, has_ended=True, objective=200.0))


def test_a_search_without_optuna_says_what_to_install_and_a_grid_works(shell: CommandLine) -> None:
    searching = shell.start("series", "run", *WHAT, "--search", "batch_size=16..256 log", "--dry-run", without="optuna")
    grid = shell.start("series", "run", *WHAT, "--values", "batch_size=16,32", "--dry-run", without="optuna")

    _, refused = searching.communicate(timeout=60)
    worked = grid.communicate(timeout=60)

    assert searching.returncode == 2
    assert "pip install 'aisbench-console[search]'" in refused
    assert grid.returncode == 0, worked


def test_a_dry_run_shows_the_limits_of_the_search_and_what_it_may_take(shell: CommandLine) -> None:
    space = ("--search", "batch_size=16..256 log", "--search", "learning_rate=0.01,0.1", "--trials", "5")
    dry = shell.type("series", "run", *WHAT, *space, "--hours-per-run", "0.5", "--budget", "3", "--dry-run")

    assert dry.exit_code == 0
    assert "5 trials, about 2.5 node hours of a budget of 3" in dry.stderr
    assert "batch_size=16, learning_rate=0.01" in dry.stdout
    assert "batch_size=256, learning_rate=0.1" in dry.stdout


def test_the_region_is_asked_about_the_limits_of_a_search_and_not_about_each_trial(
    core: Core, sandbox: SandboxProcess
) -> None:
    spec = RunSpec(workload="quickstart_digits", flavor="sandbox.cpu.2cards", cards_per_node=2)
    one = core.series.plan(spec, {"values": {"batch_size": [16, 256]}})
    many = core.series.plan(spec, {"search": {"batch_size": "16..256 log"}, "trials": 100})

    def requests(draft: SeriesDraft) -> int:
        before = sum(sandbox.requests()["modelarts"].values())
        assert core.series.online(draft, "lab") == ()
        return sum(sandbox.requests()["modelarts"].values()) - before

    assert requests(many) == requests(one)

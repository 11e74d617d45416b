"""Consoles and followers of two machines that share a ledger and a bucket, but no file system."""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aisbench_core.base.errors import AisbenchError, ConfigError
from aisbench_core.cloud.clouds import Clouds
from aisbench_core.cloud.ports import ObjectStat
from aisbench_core.config.settings import HOME, Settings
from aisbench_core.model import Run, RunState
from aisbench_core.store.run_folders.folders import REFRESH_SECONDS
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER, named
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, PERSON, SPEC
from tests.flow.killable import Killable
from tests.flow.killings import MS_PER_REQUEST, Killings, walk, walk_and_stop
from tests.flow.trouble import jobs_named
from tests.flow.two_followers import TwoFollowers
from tests.postgres_server import PASSWORD, PostgresServer
from tests.sandbox_process import SandboxProcess
from tests.team_ledger import PASSWORD_VARIABLE, url_of

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

SECONDS = 60.0
SERIES = ("sql", "select series_id, plan, cells from series", "--format", "json")
MOST_ROUNDS = 12


class Machine:
    """A data folder of its own, a shell and a console on it, and a follower that can be killed."""

    def __init__(self, folder: Path, sandbox: SandboxProcess, ledger: str) -> None:
        self.shell = CommandLine(folder, sandbox)
        run_folders = f"obs://{sandbox.bucket}/team"
        self.shell.environment |= {
            "AISBENCH_LEDGER": ledger,
            PASSWORD_VARIABLE: PASSWORD,
            "AISBENCH_RUN_FOLDERS": run_folders,
        }
        settings = Settings(data_dir=folder, profile="lab", ledger=ledger, run_folders=run_folders)
        self.core: Core = open_core(settings)
        self.follower = Killable(self.shell, self.core)

    def log(self, run: Run) -> str:
        """The log as its page shows it."""
        return self.core.files.log_tail(run.run_id, 0)


@pytest.fixture
def machine(
    tmp_path: Path, sandbox: SandboxProcess, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Machine]]:
    """Makes machines by name."""
    monkeypatch.setenv(PASSWORD_VARIABLE, PASSWORD)
    postgres.create("machines")
    made: list[Machine] = []

    def make(name: str) -> Machine:
        made.append(Machine(tmp_path / name / "data", sandbox, url_of(postgres, "machines")))
        return made[-1]

    yield make
    for one in made:
        one.follower.kill()
        one.shell.end()
    postgres.drop("machines")


def wait(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited {SECONDS} s in vain for: {what}"
        time.sleep(0.05)


def test_a_run_launched_on_one_machine_and_followed_by_another_is_whole_on_both(
    machine: Callable[[str], Machine], sandbox: SandboxProcess
) -> None:
    a, b = machine("a"), machine("b")
    sandbox.script(by="hold", outputs=GOOD, log="step 1\n")
    b.follower.start()

    run = a.core.runs.launch(SPEC, "lab", named(PERSON))
    wait(lambda: a.core.ledger.get(run.run_id).state is RunState.RUNNING, "the run to run")
    wait(lambda: "step 1" in a.log(run), "the log on the other machine, while the job runs")
    wait(lambda: a.core.files.job(run.run_id).events, "what the platform says of the job there")
    a.core.annotations.note(run.run_id, "seen from A", TESTER, None)
    a.core.annotations.rename(run.run_id, "of machine A", TESTER)
    wait(lambda: b.core.annotations.of(run.run_id).note == "seen from A", "the note on B")

    b.follower.kill()
    a.follower.start()
    b.core.annotations.tag(run.run_id, ["from-b"], [], TESTER)
    sandbox.advance(a.core.ledger.get(run.run_id).job_id)
    wait(lambda: not a.core.ledger.active(), "the run to end")

    assert a.core.ledger.get(run.run_id).state is RunState.COMPLETED
    assert len(jobs_named(sandbox, run.job_name)) == 1
    on_a = a.core.files.record(run.run_id)
    wait(lambda: b.core.files.record(run.run_id), "the record on B")
    on_b = b.core.files.record(run.run_id)
    assert on_a == on_b
    assert on_a
    assert on_a.result
    assert (on_a.annotations.name, on_a.annotations.note, on_a.annotations.tags) == (
        "of machine A",
        "seen from A",
        ("from-b",),
    )
    row = a.core.warehouse.annotations.of([run.run_id])[run.run_id]
    assert (row.name, row.note, row.tags) == ("of machine A", "seen from A", ("from-b",))
    assert b.shell.type("logs", run.run_id).stdout == a.shell.type("logs", run.run_id).stdout != ""


def test_a_third_machine_rebuilds_the_warehouse_and_what_a_lost_ledger_named(
    machine: Callable[[str], Machine], sandbox: SandboxProcess, postgres: PostgresServer, tmp_path: Path
) -> None:
    a = machine("a")
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    a.follower.start()
    runs = [a.core.runs.launch(SPEC, "lab", named(PERSON)) for _ in range(2)]
    wait(lambda: not a.core.ledger.active(), "the runs to end")
    a.core.annotations.rename(runs[0].run_id, "renamed afterwards", TESTER)
    done = a.shell.type("series", "run", "quickstart_digits", "--repeats", "1", "--name", "nightly")
    assert done.exit_code == 0, done.output
    wait(lambda: a.core.ledger.count() == 3 and not a.core.ledger.active(), "the series to end")
    board = a.shell.answer("leaderboard")

    c = machine("c")
    rebuilt = c.shell.type("warehouse", "rebuild")
    assert (rebuilt.exit_code, rebuilt.stdout) == (0, "3 runs recorded\n")
    assert c.shell.type(*SERIES).stdout == a.shell.type(*SERIES).stdout
    assert "nightly" in c.shell.type(*SERIES).stdout
    assert c.shell.answer("leaderboard") == board
    assert c.shell.answer("warehouse", "check")["damages"] == []

    postgres.create("lost")
    d = Machine(tmp_path / "d" / "data", sandbox, url_of(postgres, "lost"))
    refused = d.shell.type("warehouse", "rebuild")
    assert (refused.exit_code, refused.stdout) == (1, "0 runs recorded\n")
    assert refused.stderr.count("was never recorded by this console") == 3
    assert d.shell.type("warehouse", "rebuild", "--believe-folders").stdout == "3 runs recorded\n"
    assert d.shell.answer("leaderboard") == board
    assert d.core.annotations.of(runs[0].run_id).name == "renamed afterwards"
    postgres.drop("lost")


def test_cleaning_removes_objects_and_the_copies_of_other_machines(
    machine: Callable[[str], Machine], sandbox: SandboxProcess
) -> None:
    a, b = machine("a"), machine("b")
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    a.follower.start()
    run = a.core.runs.launch(SPEC, "lab", named(PERSON))
    wait(lambda: not a.core.ledger.active(), "the run to end")
    assert b.log(run)

    cleaned = b.shell.type("clean", run.run_id, "--folder", "--yes")

    assert cleaned.exit_code == 0, cleaned.output
    names = [stat.path for stat in objects_of(a, run)]
    assert names
    assert [name for name in names if "/logs/" in name] == []
    wait(lambda: not a.log(run), "the log to go on A")
    assert a.core.files.record(run.run_id)
    assert a.core.cleaning.removals(run.run_id) == b.core.cleaning.removals(run.run_id) != ()


def test_a_cut_from_obs_loses_nothing(machine: Callable[[str], Machine], sandbox: SandboxProcess) -> None:
    a, b = machine("a"), machine("b")
    sandbox.script(by="hold", outputs=GOOD, log="step 1\n")
    b.follower.start()
    run = a.core.runs.launch(SPEC, "lab", named(PERSON))
    wait(lambda: "step 1" in a.log(run), "the log")

    sandbox.faults(*[{"service": "obs", "path": "/team/", "status": 503}] * 500)
    sandbox.advance(a.core.ledger.get(run.run_id).job_id)
    wait(lambda: a.core.ledger.get(run.run_id).is_retrying, "the last step to wait for OBS")
    assert "step 1" in a.log(run), "people see what is here"
    sandbox.faults()

    wait(lambda: not a.core.ledger.active(), "the run to end")
    assert a.core.ledger.get(run.run_id).state is RunState.COMPLETED
    wait(lambda: a.core.files.record(run.run_id), "its record")


def objects_of(machine: Machine, run: Run) -> list[ObjectStat]:
    objects = Clouds(machine.core.settings, 30.0)("lab").objects
    return list(objects.list(f"/{machine.core.regions.profile('lab').bucket}/team/runs/{run.run_id}/"))


def test_code_that_only_the_launching_machine_has_is_sent_at_the_launch(
    machine: Callable[[str], Machine], sandbox: SandboxProcess, tmp_path: Path
) -> None:
    a, b = machine("a"), machine("b")
    shutil.copytree(HOME / "workloads" / "quickstart_digits", a.shell.data_dir / "workloads" / "only_on_a")
    spec = SPEC.model_copy(update={"workload": "only_on_a"})
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    b.follower.start()

    run = a.core.runs.launch(spec, "lab", named(PERSON))
    wait(lambda: not a.core.ledger.active(), "the run to end")

    ended = a.core.ledger.get(run.run_id)
    assert (ended.state, ended.detail) == (RunState.COMPLETED, "")
    assert str(tmp_path / "a") in ended.spec.code_dir
    assert ended.code_sha256


def test_what_a_cell_of_a_series_needs_and_the_follower_lacks_is_said(
    machine: Callable[[str], Machine], tmp_path: Path
) -> None:
    a = machine("a")
    code = tmp_path / "code"
    shutil.copytree(HOME / "workloads" / "quickstart_digits", code)
    spec = SPEC.model_copy(update={"code_dir": str(code), "boot_file": "train.py"})
    chosen = a.core.regions.profile("lab")
    shutil.rmtree(code)

    with pytest.raises(ConfigError, match="launch it where the code is, or copy the code to the same path"):
        a.core.runs.create(spec, chosen, TESTER, lambda run, _: run)

    assert list(a.core.settings.runs_dir.iterdir()) == []
    assert a.core.folders.has("r", "launch.json") is False


def test_folders_that_are_here_already_are_published_and_can_be_again(
    machine: Callable[[str], Machine], sandbox: SandboxProcess, tmp_path: Path
) -> None:
    alone = CommandLine(tmp_path / "a" / "data", sandbox)
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    assert alone.type("run", "quickstart_digits", "--wait").exit_code == 0
    refused = alone.type("run-folders", "publish")
    assert (refused.exit_code, "set run_folders to obs://bucket/prefix" in refused.stderr) == (2, True)
    a, c = machine("a"), machine("c")
    copy = ("ledger", "copy", a.shell.environment["AISBENCH_LEDGER"])
    wait(lambda: alone.type(*copy).exit_code == 0, "the follower of the run to be gone for some seconds")

    published = [a.shell.type("run-folders", "publish").stdout for _ in range(2)]

    assert published == ["1 run folder published\n"] * 2
    assert c.shell.type("warehouse", "rebuild").stdout == "1 run recorded\n"
    assert c.shell.answer("leaderboard") == a.shell.answer("leaderboard")
    run = c.core.ledger.page()[0]
    assert c.log(run) == a.log(run) != ""


def test_the_doctor_and_health_try_to_publish(machine: Callable[[str], Machine], sandbox: SandboxProcess) -> None:
    a = machine("a")

    fine = {each["check"]: each for each in a.shell.answer("doctor")}["run_folders"]
    healthy = {each["name"]: each["ok"] for each in a.shell.answer("health")["services"]}
    sandbox.faults(*[{"service": "obs", "path": "/team/", "status": 403, "code": "AccessDenied"}] * 4)
    refused = a.shell.type("doctor")
    sandbox.faults(*[{"service": "obs", "path": "/team/", "status": 403, "code": "AccessDenied"}] * 4)
    with pytest.raises(AisbenchError):
        a.core.runs.launch(SPEC, "lab", named(PERSON))
    sandbox.faults()

    assert fine["state"] == "ok"
    assert healthy == {"OBS": True, "ModelArts": True, "run folders": True}
    assert "run_folders" in refused.output
    assert a.core.ledger.count() == 0, "nothing was launched that could not be kept"


def test_a_damaged_object_is_a_warning_beside_what_is_whole(
    machine: Callable[[str], Machine], sandbox: SandboxProcess
) -> None:
    a, b = machine("a"), machine("b")
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    a.follower.start()
    run = a.core.runs.launch(SPEC, "lab", named(PERSON))
    wait(lambda: not a.core.ledger.active(), "the run to end")
    objects = Clouds(a.core.settings, 30.0)("lab").objects
    log = next(stat.path for stat in objects_of(a, run) if "worker-0.log" in stat.path)

    objects.put(log, b"not what was published")

    shown = b.shell.type("show", run.run_id)
    logs = b.shell.type("logs", run.run_id)
    assert shown.exit_code == 0
    assert "this machine's copies" not in shown.stderr
    assert logs.exit_code == 0
    assert f"worker-0.log of run {run.run_id} cannot be fetched from {log}" in logs.stderr


@pytest.mark.parametrize("rounds", [1, pytest.param(2, marks=pytest.mark.exhaustive)])
def test_followers_without_a_shared_folder_are_killed_in_every_state_and_lose_nothing(
    machine: Callable[[str], Machine], sandbox: SandboxProcess, rounds: int
) -> None:
    a, b = machine("a"), machine("b")
    sandbox.script(by="hold", outputs=GOOD, log="step 1\n")
    sandbox.latency(MS_PER_REQUEST, MS_PER_REQUEST)
    followers = TwoFollowers(a.shell, a.core, b.shell)
    killings = Killings(a.core, sandbox, followers)

    completed: list[Run] = []
    stopped: list[Run] = []
    while len(completed) < rounds or (len(completed) < MOST_ROUNDS and not killings.in_every_state()):
        completed.append(walk(a.core, sandbox, killings, unlucky=False))
        stopped.append(walk_and_stop(a.core, killings, followers))
    followers.start()
    followers.wait(lambda: not a.core.ledger.active(), "all runs to end")
    followers.end()

    assert killings.in_every_state(), killings.hits
    assert a.shell.type("warehouse", "rebuild").exit_code == 0  # each machine's own has the runs that it recorded
    killings.assert_nothing_lost_or_doubled(completed, stopped)
    for run in [*completed, *stopped]:
        assert b.core.files.record(run.run_id) == a.core.files.record(run.run_id)
        assert b.log(run) == a.log(run)


def test_what_does_not_change_costs_no_request(machine: Callable[[str], Machine], sandbox: SandboxProcess) -> None:
    a, b = machine("a"), machine("b")
    sandbox.script(by="hold", outputs=GOOD, log="step 1\n")
    b.follower.start()
    run = a.core.runs.launch(SPEC, "lab", named(PERSON))
    wait(lambda: "step 1" in a.log(run), "the log")
    wait(lambda: a.core.files.job(run.run_id).events, "what the platform says")

    def is_free() -> bool:
        """Whether nothing was sent or fetched while somebody looked on for longer than a copy counts as fresh."""
        sandbox.forget_requests()
        until = time.monotonic() + 1.5 * REFRESH_SECONDS
        while time.monotonic() < until:
            a.log(run), a.core.files.job(run.run_id), a.core.annotations.names([run])
            time.sleep(0.1)
        obs = sandbox.requests()["obs"]
        return obs.get("PUT", 0) == obs.get("GET", 0) == obs.get("DELETE", 0) == 0

    wait(is_free, "the last change to be published and fetched")

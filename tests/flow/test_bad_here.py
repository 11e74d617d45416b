"""Bad days on this machine: a warehouse that is busy or damaged, code that is edited, two followers."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pytest

from aisbench_core.cloud.clouds import Clouds
from aisbench_core.cloud.obs.objects import ObsStore
from aisbench_core.cloud.ports import Cloud, OnProgress
from aisbench_core.config.credentials import find_credentials
from aisbench_core.config.settings import Settings
from aisbench_core.model import RunState
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.wiring import Core, open_core
from tests.actors import named
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, PERSON, SPEC, Bench, bench_on
from tests.flow.trouble import IMPATIENT, assert_completed_once, assert_one_sentence, assert_retrying, with_cloud
from tests.sandbox_process import SandboxProcess
from tests.training_client import await_true

HOLD_THE_FILE = "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD)
    return bench_on(sandbox, tmp_path / "data", **IMPATIENT)


# --- the warehouse --------------------------------------------------------------------------------------


@pytest.fixture
def hold() -> Iterator[Callable[[Path], "subprocess.Popen[str]"]]:
    """Lets another process keep a DuckDB file open until its standard input ends."""
    holders: list[subprocess.Popen[str]] = []

    def start(file: Path) -> "subprocess.Popen[str]":
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLD_THE_FILE, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        holders.append(holder)
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        return holder

    yield start
    for holder in holders:
        holder.kill()
        holder.communicate()


def impatient(bench: Bench) -> Bench:
    """The bench with a warehouse that is not waited for long."""
    settings = bench.core.settings
    core = Core(
        settings,
        Ledger(settings.ledger_path),
        Warehouse(settings.warehouse_path, patience_s=0.2),
        Clouds(settings, settings.request_seconds),
        Clouds(settings, settings.look_seconds),
        bench.clock,
    )
    return replace(bench, core=core, follower=core.following.follower())


def test_a_warehouse_that_another_process_holds_is_waited_for(
    bench: Bench, sandbox: SandboxProcess, hold: Callable[[Path], "subprocess.Popen[str]"]
) -> None:
    bench = impatient(bench)
    bench.follow(bench.launch())
    run = bench.follow(bench.launch(), RunState.COLLECTING)
    holder = hold(bench.core.settings.warehouse_path)
    for _ in range(2):
        bench.tick()
    assert_retrying(bench, run, RunState.COLLECTING)
    assert "in use by" in bench.run(run).detail

    holder.communicate()
    bench.follow(run)

    assert_completed_once(bench, sandbox, run)


def test_a_damaged_warehouse_loses_no_run(bench: Bench, sandbox: SandboxProcess) -> None:
    run = bench.follow(bench.launch(), RunState.COLLECTING)
    warehouse = bench.core.settings.warehouse_path
    warehouse.write_bytes(b"this is not a database" * 1000)
    for _ in range(2):
        bench.tick()
    assert_retrying(bench, run, RunState.COLLECTING)
    assert "rebuild" in bench.run(run).detail

    warehouse.unlink()
    bench.follow(run)

    assert_completed_once(bench, sandbox, run)


# --- code and folders -----------------------------------------------------------------------------------


class EditedMeanwhile(ObsStore):
    """An object store during whose first upload a person saves a file."""

    edit: Callable[[], object]

    def put_many(self, pairs: Sequence[tuple[str, Path]], on_progress: OnProgress) -> None:
        self.edit()
        super().put_many(pairs, on_progress)


def test_code_that_is_edited_during_its_upload_is_uploaded_as_it_is_then(
    bench: Bench, sandbox: SandboxProcess, tmp_path: Path
) -> None:
    code = copytree(bench.core.settings.workloads_dir / SPEC.workload / "code", tmp_path / "code")
    boot = code / "train.py"
    edited = boot.read_bytes() + b"# one more line\n"
    settings = bench.core.settings

    def spoil(cloud: Cloud) -> Cloud:
        store = EditedMeanwhile(cloud.profile, find_credentials(settings, cloud.profile), 8, 20.0)
        store.edit = lambda: boot.write_bytes(edited)
        return replace(cloud, objects=store)

    busy = with_cloud(bench, spoil)
    run = busy.launch(SPEC.model_copy(update={"code_dir": str(code), "boot_file": "train.py"}))
    before = busy.follow(run, RunState.UPLOADING).code_sha256
    busy.tick()
    assert_retrying(busy, run, RunState.UPLOADING)
    assert "do not edit the code" in busy.run(run).detail

    busy.follow(run)

    assert_completed_once(busy, sandbox, run)
    assert busy.run(run).code_sha256 != before
    place = f"/{sandbox.bucket}/aisbench/code/{SPEC.workload}/{busy.run(run).code_sha256[:16]}/code/train.py"
    assert busy.objects().read(place) == edited


def test_code_that_is_gone_before_its_upload_fails_the_run(bench: Bench, tmp_path: Path) -> None:
    code = copytree(bench.core.settings.workloads_dir / SPEC.workload / "code", tmp_path / "code")
    run = bench.launch(SPEC.model_copy(update={"code_dir": str(code), "boot_file": "train.py"}))
    code.rename(tmp_path / "moved")

    ended = bench.follow(run)

    assert ended.state is RunState.FAILED
    assert "code_dir" in ended.detail
    assert_one_sentence(ended.detail)


def test_a_run_whose_folder_is_gone_ends_failed_and_says_so(bench: Bench) -> None:
    run = bench.follow(bench.launch(), RunState.RUNNING)
    (bench.core.settings.runs_dir / run.run_id / "launch.json").unlink()

    ended = bench.follow(run)

    assert ended.state is RunState.FAILED
    assert "launch.json (missing)" in ended.detail


# --- two followers --------------------------------------------------------------------------------------


@pytest.fixture
def shell(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[CommandLine]:
    sandbox.script(by="look", outputs=GOOD)
    line = CommandLine(tmp_path / "shell", sandbox)
    yield line
    line.end()


def test_only_one_process_follows_and_the_next_continues_when_it_is_killed(shell: CommandLine) -> None:
    core = open_core(Settings(data_dir=shell.data_dir, profile="lab"))
    waiting = {process.pid for process in (shell.start("follow"), shell.start("follow"))}
    leaders = []
    for _ in range(2):
        run = core.runs.launch(SPEC, "lab", named(PERSON))
        await_true(lambda run=run: core.ledger.get(run.run_id).state.is_terminal, "the run to end")  # type: ignore[misc]
        assert core.ledger.get(run.run_id).state is RunState.COMPLETED
        actors = {event.actor for event in core.ledger.events(run.run_id) if event.source == "follower"}
        leaders += [pid for pid in waiting if any(f"(process {pid})" in actor for actor in actors)]
        os.kill(leaders[-1], signal.SIGKILL)

    assert sorted(leaders) == sorted(waiting), "each followed one run alone, the second after the first was killed"

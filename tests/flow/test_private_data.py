"""Whatever the product writes is for its owner only, and a launch that fails or is killed leaves nothing behind."""

import json
import os
import resource
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aisbench_core.base.errors import DiskError
from aisbench_core.base.messages import Message
from aisbench_core.config.data_folder import open_paths
from aisbench_core.config.settings import Settings
from aisbench_core.running.launches import Launches
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.wiring import open_core
from tests.actors import named
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, PERSON, SPEC, bench_on
from tests.flow.trouble import IMPATIENT
from tests.processes import FORKED
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, job_body


@pytest.fixture
def shell(tmp_path: Path, sandbox: SandboxProcess) -> Iterator[CommandLine]:
    sandbox.script(by="look", outputs=GOOD, log="epoch 1\n")
    line = CommandLine(tmp_path / "data", sandbox)
    (tmp_path / "data/profiles/lab.yaml").chmod(0o644)
    (tmp_path / "data/profiles").chmod(0o755)
    (tmp_path / "data").chmod(0o755)
    yield line
    line.end()


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def in_sight(folder: Path) -> list[str]:
    """What others could read, were they in the folder."""
    paths = [folder, *folder.rglob("*")]
    return [str(path.relative_to(folder)) for path in paths if stat.S_IMODE(path.lstat().st_mode) & 0o077]


def test_a_run_leaves_nothing_that_other_accounts_can_read(shell: CommandLine) -> None:
    ended = shell.start("run", "quickstart_digits", "--wait")
    _, talk = ended.communicate(timeout=60)

    assert ended.returncode == 0, talk
    assert in_sight(shell.data_dir) == ["profiles/lab.yaml"]  # a person's own file, in a folder that nobody enters
    names = {path.name for path in shell.data_dir.rglob("*")}
    assert {"ledger.sqlite3", "warehouse.duckdb", "console.log", "record.json", "worker-0.log"} <= names


def test_a_data_folder_gets_the_rights_of_a_group_by_an_administrator_only(shell: CommandLine) -> None:
    shell.data_dir.chmod(0o2770)  # also what `git clone` leaves in a group's directory
    shell.answer("runs")
    for_the_group = os.geteuid() == 0

    assert stat.S_IMODE(shell.data_dir.stat().st_mode) == (0o2770 if for_the_group else 0o2700)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder that another account may share")
def test_in_a_shared_data_folder_whatever_a_run_leaves_is_the_groups(shell: CommandLine) -> None:
    for path in (shell.data_dir, shell.data_dir / "profiles"):
        path.chmod(0o2770)
    for path in shell.data_dir.glob("profiles/*.yaml"):
        path.chmod(0o660)
    ended = shell.start("run", "quickstart_digits", "--wait")
    _, talk = ended.communicate(timeout=60)
    [found] = [each for each in shell.answer("doctor") if each["check"] == "data"]

    assert ended.returncode == 0, talk
    paths = [path for path in shell.data_dir.rglob("*") if not path.is_symlink()]
    expected = {path: 0o2770 if path.is_dir() else 0o660 for path in paths}
    assert {path: stat.S_IMODE(path.stat().st_mode) for path in paths} == expected
    assert {"ledger.sqlite3", "warehouse.duckdb", "console.log", "record.json"} <= {path.name for path in paths}
    assert (found["state"], found["found"]) == ("ok", f"{shell.data_dir} is private to the group root")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder that another account may share")
def test_the_doctor_names_what_the_group_of_a_shared_data_folder_cannot_change(shell: CommandLine) -> None:
    shell.answer("runs")
    for path in (shell.data_dir, shell.data_dir / "profiles"):
        path.chmod(0o2770)

    found = [each for each in shell.answer("doctor") if each["check"] == "data"]

    ledger = shell.data_dir / "ledger.sqlite3"
    advice = {each["advice"] for each in found if each["state"] == "warn"}
    assert f"chmod -R g+rwX {ledger}" in advice
    assert f"chmod -R g+rwX {shell.data_dir / 'profiles'}" not in advice


def test_a_program_that_opens_the_core_by_itself_writes_private_files_too(shell: CommandLine) -> None:
    core = open_core(Settings(data_dir=shell.data_dir, profile="lab"))
    run = core.runs.launch(SPEC, "lab", named(PERSON))
    core.warehouse.revision()
    core.warehouse.runs.select_recorded([run.run_id])

    for name in ("", "ledger.sqlite3", "warehouse.duckdb", "console.log", f"runs/{run.run_id}/spec.yaml"):
        path = shell.data_dir / name
        assert not path.exists() or not stat.S_IMODE(path.stat().st_mode) & 0o077, name


def test_what_an_older_version_left_open_is_closed_at_the_next_start(shell: CommandLine) -> None:
    shell.answer("runs")
    for path in (shell.data_dir, shell.data_dir / "ledger.sqlite3"):
        path.chmod(0o755)
    runs = shell.data_dir / "runs"
    runs.mkdir(exist_ok=True)
    runs.chmod(0o755)

    shell.answer("runs")

    assert in_sight(shell.data_dir) == ["profiles/lab.yaml"]


def test_the_doctor_names_a_warehouse_elsewhere_that_others_can_read(shell: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "elsewhere" / "results.duckdb"
    shell.environment["AISBENCH_WAREHOUSE"] = str(file)
    shell.answer("leaderboard")
    file.chmod(0o644)

    (open_file,) = (each for each in shell.answer("doctor") if each["check"] == "data")

    assert open_file["state"] == "warn"
    assert str(file) in open_file["found"]
    assert open_file["advice"] == f"chmod -R go-rwx {file}"
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


def test_the_doctor_names_streamlits_secrets_that_others_can_read(tmp_path: Path) -> None:
    data, secrets = tmp_path / "data", tmp_path / ".streamlit" / "secrets.toml"
    data.mkdir(mode=0o700)
    secrets.parent.mkdir()
    secrets.touch(0o644)
    before = open_paths(Settings(data_dir=data), secrets)
    secrets.chmod(0o600)

    after = open_paths(Settings(data_dir=data), secrets)

    assert (before, after) == ([secrets], [])


def test_compacting_leaves_a_shared_warehouse_shared(shell: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "elsewhere" / "results.duckdb"
    shell.environment["AISBENCH_WAREHOUSE"] = str(file)
    shell.answer("leaderboard")
    file.chmod(0o664)

    assert shell.type("warehouse", "compact").exit_code == 0

    assert stat.S_IMODE(file.stat().st_mode) == 0o664


def test_a_file_that_a_person_names_has_the_rights_of_the_persons_files(shell: CommandLine, tmp_path: Path) -> None:
    written = tmp_path / "runs.csv"

    result = shell.type("export", "--region", "cn-north-9", "-o", str(written))

    assert result.exit_code == 0, result.output
    assert stat.S_IMODE(written.stat().st_mode) == 0o644


def test_a_job_of_the_sandbox_makes_files_as_in_the_cloud(tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from aisbench_sandbox.engine.node.processes import start\n"
    code += "from aisbench_core.base.private_files import private_umask\n"
    code += "with private_umask():\n"
    code += " here = Path(sys.argv[1]); done = start('t', 'l', ['/usr/bin/touch', 'made'], {}, here, here / 'out')\n"
    code += " done.popen.wait()\n"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)

    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o644
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o600


def test_a_sandbox_keeps_its_folder_to_itself(tmp_path: Path) -> None:
    (tmp_path / "region").mkdir(mode=0o755)
    sandbox = SandboxProcess.start(tmp_path / "region")
    try:
        client = TrainingClient(sandbox)
        client.put("code/train.py", "pass")
        client.create(job_body())

        assert in_sight(tmp_path / "region") == []
        assert list((tmp_path / "region/jobs").glob("*.json"))
    finally:
        sandbox.stop()


# --- launches that fail ---------------------------------------------------------------------------------


def launch_on_a_full_disk(folder: Path) -> None:
    settings = Settings(data_dir=folder, profile="lab")
    core = open_core(settings)
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, usual[1]))
    try:
        core.runs.launch(SPEC, "lab", named(PERSON))
    except DiskError:
        os._exit(0)
    os._exit(1)


def test_a_launch_on_a_full_disk_leaves_no_folder(shell: CommandLine) -> None:
    shell.answer("runs")
    process = FORKED.Process(target=launch_on_a_full_disk, args=(shell.data_dir,))
    process.start()
    process.join(60)

    assert process.exitcode == 0
    assert not list((shell.data_dir / "runs").glob("*"))
    assert not list((shell.data_dir / "launching").glob(".*"))


def die_while_launching(folder: Path, run_id: str) -> None:
    launches = Launches(folder / "launching", RunFolders(folder / "runs"), lambda _: False)
    with launches.prepare_run(run_id):
        (folder / "runs" / run_id).mkdir(parents=True)
        (folder / "runs" / run_id / "launch.json").write_text("{", "utf-8")
        os._exit(9)


@pytest.mark.parametrize("is_run", [False, True])
def test_what_a_killed_launch_left_goes_with_the_next_one_unless_it_became_a_run(
    sandbox: SandboxProcess, tmp_path: Path, is_run: bool
) -> None:
    bench = bench_on(sandbox, tmp_path / "data", **IMPATIENT)
    run_id = bench.launch().run_id if is_run else "r20260101-000000-abcdef"
    folder = tmp_path / "data/runs" / run_id
    if is_run:
        for path in sorted(folder.rglob("*")):
            path.unlink()
        folder.rmdir()
    process = FORKED.Process(target=die_while_launching, args=(tmp_path / "data", run_id))
    process.start()
    process.join(60)
    assert folder.exists()

    after = bench.launch()

    assert folder.exists() is is_run
    assert json.loads((tmp_path / "data/runs" / after.run_id / "launch.json").read_text("utf-8"))
    assert not list((tmp_path / "data/launching").glob(".*"))


def test_a_refused_launch_goes_with_the_next_one_if_the_ledger_could_not_be_read(tmp_path: Path) -> None:
    answers = iter([None, False, True])

    def is_run(_: str) -> bool:
        if (answer := next(answers)) is None:
            raise DiskError(Message("the disk is full"))
        return answer

    launches = Launches(tmp_path / "launching", RunFolders(tmp_path / "runs"), is_run)
    with pytest.raises(DiskError), launches.prepare_run("refused"):
        (tmp_path / "runs/refused").mkdir(parents=True)
    assert (tmp_path / "runs/refused").exists()

    with launches.prepare_run("run"):
        (tmp_path / "runs/run").mkdir(parents=True)

    assert [folder.name for folder in (tmp_path / "runs").iterdir()] == ["run"]
    assert not list((tmp_path / "launching").glob(".*"))

"""`aisbench backup` and `restore`: a console in use comes back whole, and its runs are followed to their end."""

import io
import os
import re
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.private_files import process_name
from aisbench_core.config.settings import Settings
from aisbench_core.model import RunState
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.values.runs import BoardQuery
from aisbench_core.wiring import Core, open_core
from tests.actors import named
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, PERSON, SPEC, bench_on
from tests.flow.remote_shell import wait_until
from tests.sandbox_process import SandboxProcess
from tests.source_tree import HOME


@pytest.fixture
def shell(sandbox: SandboxProcess, tmp_path: Path) -> CommandLine:
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    return CommandLine(tmp_path / "data", sandbox)


def content(core: Core) -> dict[str, Any]:
    """What people see of a console."""
    board = core.warehouse.board.list_rows(BoardQuery("sandbox", include_invalid=True))
    return {
        "runs": core.ledger.page(limit=100),
        "events": [core.ledger.events(run.run_id) for run in core.ledger.page(limit=100)],
        "series": [series.plan for series in core.series.newest(10)],
        "schedules": core.schedules.all(),
        "leaderboard": board.rows,
        "baselines": core.warehouse.trends.list_baselines(),
        "files": {run.run_id: core.files.record(run.run_id) for run in core.ledger.page(limit=100)},
    }


def restored(shell: CommandLine, backup: Path, folder: Path) -> CommandLine:
    """A shell over the folder to which the backup was restored."""
    other = object.__new__(CommandLine)
    other.data_dir, other.environment, other._started = (
        folder,
        {**shell.environment, "AISBENCH_DATA_DIR": str(folder)},
        [],
    )
    result = other.type("restore", str(backup))
    assert result.exit_code == 0, result.output
    return other


def test_a_console_in_use_comes_back_whole_and_its_active_run_is_followed_to_its_end(
    sandbox: SandboxProcess, shell: CommandLine, tmp_path: Path
) -> None:
    bench = bench_on(sandbox, tmp_path / "data")
    core, me = bench.core, named(PERSON)
    ended = bench.follow(bench.launch())
    core.warehouse.mark_baseline([ended.run_id], None, me, bench.clock())
    series = core.series.launch(core.series.plan(SPEC, {"repeats": 2}, "sandbox").plan, "sandbox", me)
    core.schedules.add(series.plan, {"name": "nightly", "cron": "0 2 * * *"}, "sandbox", me)
    sandbox.script(by="hold", outputs=GOOD, log="step 1\n")
    active = bench.follow(bench.launch(), RunState.RUNNING)

    backup = shell.type("backup", str(tmp_path / "backup.tar.gz"))
    other = restored(shell, tmp_path / "backup.tar.gz", tmp_path / "restored")

    assert backup.exit_code == 0, backup.output
    assert "1 recorded run" in backup.stdout
    assert (tmp_path / "backup.tar.gz").stat().st_mode & 0o777 == 0o600
    assert content(open_core(Settings(data_dir=other.data_dir, profile="sandbox"))) == content(core)
    assert other.type("warehouse", "check").exit_code == 0
    for _ in range(3):
        sandbox.advance(active.job_id)
    second = bench_on(sandbox, other.data_dir)
    second.core.series.stop(series.series_id, me)
    again = second.follow(active)
    assert again.state is RunState.COMPLETED
    assert again.job_id == active.job_id
    assert {path.name for path in other.data_dir.iterdir()}.isdisjoint({"sandbox", "uploads", "aisbench-backup.json"})


def test_nothing_in_a_restored_folder_can_be_read_by_others(shell: CommandLine, tmp_path: Path) -> None:
    keys = tmp_path / "data" / "credentials.yaml"
    keys.write_text("lab: {access_key: AK, secret_key: not-for-others}\n", "utf-8")
    keys.chmod(0o600)
    shell.type("backup", str(tmp_path / "b.tar.gz"))

    other = restored(shell, tmp_path / "b.tar.gz", tmp_path / "restored")

    assert (other.data_dir / "credentials.yaml").read_bytes() == keys.read_bytes()
    assert [path for path in other.data_dir.rglob("*") if path.stat().st_mode & 0o077] == []


def test_a_backup_replaces_no_file_and_lies_outside_of_what_it_copies(shell: CommandLine, tmp_path: Path) -> None:
    there = tmp_path / "there.tar.gz"
    there.write_bytes(b"precious")

    refused = shell.type("backup", str(there))
    inside = shell.type("backup", str(tmp_path / "data" / "b.tar.gz"))
    missing = shell.type("backup", str(tmp_path / "no" / "folder" / "b.tar.gz"))

    assert (refused.exit_code, inside.exit_code, missing.exit_code) == (2, 2, 2)
    assert "already exists (name another file, or add --replace)" in refused.stderr
    assert "lies in the data folder" in inside.stderr
    assert "cannot be written: No such file or directory" in missing.stderr
    assert there.read_bytes() == b"precious"
    assert shell.type("backup", "--replace", str(there)).exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"data", "there.tar.gz"}, "no draft is left over"


def test_a_folder_with_data_is_never_restored_over(shell: CommandLine, tmp_path: Path) -> None:
    shell.type("backup", str(tmp_path / "b.tar.gz"))
    before = sorted(path.name for path in shell.data_dir.iterdir())

    refused = shell.type("restore", str(tmp_path / "b.tar.gz"))

    assert refused.exit_code == 2
    assert f"the data folder {shell.data_dir} is not empty" in refused.stderr
    assert sorted(path.name for path in shell.data_dir.iterdir()) == before


def test_what_a_killed_restore_has_left_is_removed_by_the_next(shell: CommandLine, tmp_path: Path) -> None:
    shell.type("backup", str(tmp_path / "b.tar.gz"))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(60)
    left = tmp_path / "restored" / f".restore-{process_name().replace(f'-{os.getpid()}-', f'-{ended.pid}-')}half"
    left.mkdir(parents=True)
    (left / "ledger.sqlite3").write_bytes(b"half")

    other = restored(shell, tmp_path / "b.tar.gz", tmp_path / "restored")

    assert not list(other.data_dir.glob(".restore-*"))


def test_the_folder_of_a_fresh_clone_counts_as_empty(shell: CommandLine, tmp_path: Path) -> None:
    shell.type("backup", str(tmp_path / "b.tar.gz"))
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / "README.md").write_text((HOME / "data" / "README.md").read_text("utf-8"), "utf-8")

    other = restored(shell, tmp_path / "b.tar.gz", clone)

    assert {path.name for path in other.data_dir.iterdir()} >= {"README.md", "profiles", "warehouse.duckdb"}


def archive_with(file: Path, name: str, content: bytes = b"x", kind: bytes = tarfile.REGTYPE) -> None:
    """An archive of one member."""
    with tarfile.open(file, "w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size, member.type, member.linkname = len(content), kind, "/etc/passwd"
        archive.addfile(member, io.BytesIO(content))


def cut(file: Path, backup: Path) -> None:
    whole = backup.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])


def with_damaged_ledger(file: Path, backup: Path) -> None:
    with tarfile.open(backup, "r:gz") as old, tarfile.open(file, "w:gz") as new:
        for member in old:
            source = old.extractfile(member)
            assert source
            content = source.read()
            if member.name == "ledger.sqlite3":
                content = content[:4096] + b"\xff" * (len(content) - 4096)
            new.addfile(member, io.BytesIO(content))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda *_: None, "there is no such file"),
        (lambda file, _: file.write_bytes(b"no archive"), "not a gzip file"),
        (cut, "cannot be restored"),
        (lambda file, _: archive_with(file, "ledger.sqlite3"), "it has no end"),
        (lambda file, _: archive_with(file, "../evil"), "it holds ../evil, which is not a file of a data folder"),
        (lambda file, _: archive_with(file, "/tmp/evil"), "which is not a file of a data folder"),  # noqa: S108  # the archive is refused
        (lambda file, _: archive_with(file, "runs", b"", tarfile.SYMTYPE), "it holds runs, which is not a file"),
        (with_damaged_ledger, "the ledger"),
    ],
)
def test_what_is_no_whole_backup_is_refused_and_leaves_nothing(
    shell: CommandLine, tmp_path: Path, make: Callable[[Path, Path], None], says: str
) -> None:
    bench_core = open_core(Settings(data_dir=shell.data_dir, profile="lab"))
    bench_core.runs.launch(SPEC, "lab", named(PERSON))
    shell.type("backup", str(tmp_path / "good.tar.gz"))
    file, folder = tmp_path / "bad.tar.gz", tmp_path / "restored"
    make(file, tmp_path / "good.tar.gz")
    shell.environment["AISBENCH_DATA_DIR"] = str(folder)

    refused = shell.type("restore", str(file))

    assert refused.exit_code in (1, 2), refused.output
    assert says in refused.stderr
    assert "Traceback" not in refused.output
    assert list(folder.iterdir()) == []
    assert not (tmp_path / "evil").exists()


def test_the_copy_of_the_ledger_is_of_one_moment_while_it_is_written(shell: CommandLine, tmp_path: Path) -> None:
    core = open_core(Settings(data_dir=shell.data_dir, profile="lab"))
    run = core.runs.launch(SPEC, "lab", named(PERSON))
    backup = tmp_path / "b.tar.gz"
    with ThreadPoolExecutor(1) as pool, core.ledger.transaction() as con:
        con.execute("update runs set detail = 'half' where run_id = ?", [run.run_id])
        made = pool.submit(shell.type, "backup", str(backup))
        # Only its entry in the audit waits for the writer.
        wait_until(lambda: backup.exists() or made.done(), "the backup")

    other = restored(shell, backup, tmp_path / "restored")

    assert made.result().exit_code == 0, made.result().output
    with sqlite3.connect(other.data_dir / "ledger.sqlite3") as con:
        assert con.execute("select detail from runs").fetchall() == [("",)]


def test_a_data_folder_that_cannot_be_made_is_named_with_the_reason(shell: CommandLine, tmp_path: Path) -> None:
    backup, no_folder = tmp_path / "backup.tar.gz", tmp_path / "file"
    no_folder.write_text("")
    assert shell.type("backup", str(backup)).exit_code == 0
    shell.environment["AISBENCH_DATA_DIR"] = str(no_folder / "data")

    result = shell.type("restore", str(backup))

    assert result.exit_code == 2
    assert f"the data folder {no_folder}/data cannot be created: Not a directory" in result.stderr


def test_a_backup_names_the_newest_entry_of_the_audit_and_the_restored_console_looks_for_it(
    shell: CommandLine, tmp_path: Path
) -> None:
    backup = tmp_path / "backup.tar.gz"
    shell.answer("token", "create", "ci")
    made = shell.type("backup", str(backup))
    noted = re.search(r"its audit ends with (1:[0-9a-f]{64})", made.stderr)
    assert noted, made.output
    assert shell.type("audit", "--verify", "--head", noted[1]).exit_code == 0

    other = restored(shell, backup, tmp_path / "other")

    assert other.type("audit", "--verify", "--head", noted[1]).exit_code == 0
    with closing(sqlite3.connect(other.data_dir / "ledger.sqlite3")) as con:
        con.execute("drop trigger audit_is_not_thinned")
        con.execute("delete from audit")
        con.commit()
    assert "the audit is empty" in other.type("audit", "--verify").stderr


def test_a_backup_whose_ledger_lacks_what_its_manifest_names_is_refused(shell: CommandLine, tmp_path: Path) -> None:
    backup, forged = tmp_path / "backup.tar.gz", tmp_path / "forged.tar.gz"
    shell.answer("token", "create", "ci")
    assert shell.type("backup", str(backup)).exit_code == 0
    empty = tmp_path / "empty.sqlite3"
    assert Ledger(empty).count() == 0
    with tarfile.open(backup) as source, tarfile.open(forged, "w:gz") as target:
        for member in source:
            if member.name == "ledger.sqlite3":
                target.add(empty, member.name)
            else:
                target.addfile(member, source.extractfile(member))
    shell.environment["AISBENCH_DATA_DIR"] = str(tmp_path / "other")

    refused = shell.type("restore", str(forged))

    assert refused.exit_code == 2
    assert "the audit in it does not end with entry 1, as its manifest says" in refused.stderr

"""What a sandbox made stays a rehearsal, wherever it is copied and whatever is said about it."""

import json
import shutil
from pathlib import Path

import pytest

from aisbench_core.config.settings import Settings
from aisbench_core.domain.results.result_files import REHEARSAL
from aisbench_core.wiring import open_core
from aisbench_sandbox.engine.stamp import STAMP
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, SPEC, bench_on
from tests.sandbox_process import SandboxProcess

BLOCK = '{"accuracy": "0.97", "throughput_ratio": "200.0"}'


@pytest.fixture
def shell(sandbox: SandboxProcess, tmp_path: Path) -> CommandLine:
    sandbox.script(by="look", outputs=GOOD, log=f"train_result_info: {BLOCK}\n")
    return CommandLine(tmp_path / "other", sandbox)


def test_both_sides_call_the_stamp_the_same() -> None:
    assert STAMP == REHEARSAL


def test_a_run_on_the_sandbox_is_a_rehearsal_also_when_its_profile_says_otherwise(
    sandbox: SandboxProcess, tmp_path: Path
) -> None:
    sandbox.script(by="look", outputs=GOOD)
    bench = bench_on(sandbox, tmp_path / "data")
    shell = CommandLine(tmp_path / "data", sandbox)
    shell.add_profile("sandbox", {**sandbox.profile, "rehearsal": False, "region": "cn-north-4"})

    run = bench.follow(bench.launch(SPEC))

    row = bench.core.warehouse.runs.find_row(run.run_id)
    assert row
    assert (row.region, row.rehearsal) == ("cn-north-4", True)


@pytest.mark.parametrize("part", ["", "train_result_info.json", "logs/worker-0.log"])
def test_a_copied_folder_of_a_run_is_imported_as_a_rehearsal(
    sandbox: SandboxProcess, shell: CommandLine, tmp_path: Path, part: str
) -> None:
    bench = bench_on(sandbox, tmp_path / "data")
    run = bench.follow(bench.launch(SPEC))
    copy = tmp_path / "copy"
    shutil.copytree(bench.core.settings.runs_dir / run.run_id, copy / run.run_id)

    answer = shell.answer("import", str(copy / run.run_id / part), "--region", "cn-north-4")

    assert answer["new"]
    rows = open_core(Settings(data_dir=shell.data_dir, profile="lab")).warehouse.runs.find_rows(answer["new"])
    assert {(row.region, row.rehearsal) for row in rows.values()} == {("imported", True)}


def test_copied_result_files_are_imported_as_a_rehearsal(
    sandbox: SandboxProcess, shell: CommandLine, tmp_path: Path
) -> None:
    bench = bench_on(sandbox, tmp_path / "data")
    run = bench.follow(bench.launch(SPEC))
    objects = bench.objects()
    stats = [stat for stat in objects.list(f"/{sandbox.profile['bucket']}/") if run.job_name in stat.path]
    folder = tmp_path / "results"
    folder.mkdir()
    for stat in stats:
        if stat.path.endswith(".json"):
            objects.get(stat.path, folder / stat.path.rpartition("/")[2])

    preview = shell.answer("import", str(folder), "--region", "cn-north-4", "--dry-run")["results"]

    assert json.loads((folder / STAMP).read_text())["rehearsal"] is True
    assert [(each["region"], each["rehearsal"], each["validity"]) for each in preview] == [
        ("imported", True, "invalid" if preview[0]["failed_checks"] else "claimed")
    ]
    reasons = preview[0]["not_counted"]
    assert "a rehearsal: never compared with measurements" in reasons
    assert "nodes or cards unknown: left out of scaling curves" in reasons

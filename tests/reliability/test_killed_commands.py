"""kill -9 at twenty moments of each command that writes: launching, importing, rebuilding, compacting."""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from aisbench_core.domain.results.record import write_record
from aisbench_core.model import RunRecord, RunState
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.wiring import Core
from tests import records as a
from tests.bundles import EvidenceConsole, make_key
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD
from tests.flow.trouble import jobs_named
from tests.processes import FORKED
from tests.reliability.outcomes import campaign
from tests.sandbox_process import SandboxProcess
from tests.unit.old_logs import BERT_PATH, block, stubs

TIMES = 20
RESULTS = 60
LONGEST_SECONDS = 120.0


def _command(environment: Mapping[str, str], words: Sequence[str]) -> None:
    """One command in this process, silently."""
    from aisbench_core.interfaces.cli import main

    os.environ.update(environment)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    main(list(words))


def run_for(seconds: float, shell: CommandLine, *words: str) -> tuple[float, bool]:
    """Start a command, and kill it after so long; how long it ran, and whether its end was not reached."""
    process = FORKED.Process(target=_command, args=(shell.environment, words))
    process.start()
    begun = time.monotonic()
    process.join(seconds)
    killed = process.is_alive()
    process.kill()
    process.join()
    return time.monotonic() - begun, killed


def kill_at_moments(shell: CommandLine, whole: float, *words: str) -> int:
    """Kill a command at moments spread over the time that it takes whole; how often its end was not reached."""
    return sum(run_for(whole * (number + 0.5) / TIMES, shell, *words)[1] for number in range(TIMES))


def counted(killed: int) -> str:
    return f"{TIMES}, {killed} of them before its end"


def total(warehouse: Warehouse) -> int:
    with warehouse.cursor() as cur:
        cur.execute("select count(*), count(distinct run_id) from runs")
        rows, different = cur.fetchone() or (0, 0)
    assert rows == different
    return int(rows)


def assert_sound(shell: CommandLine) -> None:
    """`aisbench warehouse check` finds nothing, once `compact` has removed the drafts of killed programs."""
    assert shell.type("warehouse", "compact").exit_code == 0
    result = shell.type("warehouse", "check")
    assert result.exit_code == 0, result.output


def test_a_killed_launch_is_a_whole_run_or_none(core: Core, shell: CommandLine, sandbox: SandboxProcess) -> None:
    sandbox.script(by="look", outputs=GOOD)
    words = ("run", "quickstart_digits", "--set", "flavor=sandbox.cpu.2cards", "--cards", "2", "--wait")
    with campaign("`aisbench run --wait` killed", __file__) as row:
        whole, _ = run_for(LONGEST_SECONDS, shell, *words)
        killed = kill_at_moments(shell, whole, *words)
        follow_to_the_end(core, shell)

        runs = core.ledger.page(limit=500)
        assert {run.state for run in runs} == {RunState.COMPLETED}
        assert all(len(jobs_named(sandbox, run.job_name)) == 1 for run in runs)
        whole_folders = {path.name for path in core.settings.runs_dir.iterdir() if (path / "spec.yaml").exists()}
        assert whole_folders == {run.run_id for run in runs}
        assert_sound(shell)
        row.repetitions = counted(killed)
        row.outcome = f"{len(runs)} complete runs, each with one job"


def follow_to_the_end(core: Core, shell: CommandLine) -> None:
    follower = shell.start("follow", "--quiet")
    deadline = time.monotonic() + LONGEST_SECONDS
    while core.ledger.active() and time.monotonic() < deadline:
        time.sleep(0.05)
    follower.terminate()
    follower.communicate()
    assert not core.ledger.active()


def test_a_killed_import_stores_each_result_once(
    core: Core, shell: CommandLine, sandbox: SandboxProcess, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    old.mkdir()
    for number in range(RESULTS):
        result = block(f"{450 + number / 100}", "0.71", "2022-07-13 11:27:19", "2022-07-13 13:24:43")
        log = stubs(BERT_PATH, "2022-7-13 11:27:19", f"2022-7-13 13:25:{number:02}", result)
        (old / f"{number}.log").write_text(log, "utf-8")
    words = ("import", str(old), "--region", "cn-north-4")
    with campaign("`aisbench import` of logs killed", __file__) as row:
        whole, _ = run_for(LONGEST_SECONDS, CommandLine(tmp_path / "first", sandbox), *words)
        killed = kill_at_moments(shell, whole, *words)

        answer = shell.answer(*words)
        assert len(answer["new"]) + answer["known"] == RESULTS
        assert total(core.warehouse) == RESULTS
        assert_sound(shell)
        row.repetitions, row.outcome = counted(killed), f"{RESULTS} results, each once"


def test_a_killed_import_of_a_bundle_takes_each_run_once(
    core: Core, shell: CommandLine, sandbox: SandboxProcess, tmp_path: Path
) -> None:
    records = some_records(RESULTS)
    other = EvidenceConsole(tmp_path / "other", make_key(), print_page=str.encode)
    other.record(records)
    file = tmp_path / "bundle.zip"
    file.write_bytes(other.make(*(record.run.run_id for record in records)))
    words = ("import", str(file))
    with campaign("`aisbench import` of a bundle killed", __file__) as row:
        whole, _ = run_for(LONGEST_SECONDS, CommandLine(tmp_path / "first", sandbox), *words)
        killed = kill_at_moments(shell, whole, *words)

        assert shell.type(*words).exit_code == 0
        assert total(core.warehouse) == RESULTS
        assert_sound(shell)
        row.repetitions, row.outcome = counted(killed), f"{RESULTS} runs, each once"


def test_a_killed_rebuild_leaves_a_warehouse_that_can_be_built_again(core: Core, shell: CommandLine) -> None:
    keep_folders(core, some_records(RESULTS))
    with campaign("`aisbench warehouse rebuild` killed", __file__) as row:
        whole, _ = run_for(LONGEST_SECONDS, shell, "warehouse", "rebuild", "--believe-folders")
        killed = kill_at_moments(shell, whole, "warehouse", "rebuild", "--believe-folders")

        assert total(core.warehouse) == RESULTS, "what was there before stays until the new one is whole"
        assert shell.type("warehouse", "rebuild", "--believe-folders").exit_code == 0
        assert total(core.warehouse) == RESULTS
        assert_sound(shell)
        row.repetitions, row.outcome = counted(killed), f"{RESULTS} runs, before and after"


def test_a_killed_compaction_loses_no_row(core: Core, shell: CommandLine) -> None:
    keep_folders(core, some_records(RESULTS))
    assert shell.type("warehouse", "rebuild", "--believe-folders").exit_code == 0
    with campaign("`aisbench warehouse compact` killed", __file__) as row:
        whole, _ = run_for(LONGEST_SECONDS, shell, "warehouse", "compact")
        killed = kill_at_moments(shell, whole, "warehouse", "compact")

        assert total(core.warehouse) == RESULTS
        assert_sound(shell)
        row.repetitions, row.outcome = counted(killed), f"{RESULTS} runs, before and after"


def some_records(count: int) -> list[RunRecord]:
    """Records of runs that ended one after the other."""
    return [later(record, number) for number, record in enumerate(a.records([8000.0 + n for n in range(count)]))]


def later(record: RunRecord, minutes: int) -> RunRecord:
    ended = record.run.ended_at
    assert ended
    return replace(record, run=replace(record.run, ended_at=ended + timedelta(minutes=minutes)))


def keep_folders(core: Core, records: Iterable[RunRecord]) -> None:
    for record in records:
        folder = RunFolder(core.settings.runs_dir / record.run.run_id)
        write_record(record, folder.record, folder.metrics, folder.events)

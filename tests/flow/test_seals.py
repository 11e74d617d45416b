"""Run folders are believed only as this console recorded them: what anybody changes, invents or deletes is named."""

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.base.errors import ResultError
from aisbench_core.config.settings import Settings
from aisbench_core.maintenance.storage import Rebuilt
from aisbench_core.model import RunPart, RunState
from aisbench_core.store.audit.audit import AuditQuery
from aisbench_core.store.seals.manifest import from_text
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER, named
from tests.flow.following import GOOD, bench_on, settings_for
from tests.sandbox_process import SandboxProcess
from tests.source_tree import HOME


@pytest.fixture(scope="module")
def recorded(scripted_sandbox: SandboxProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with two recorded runs."""
    scripted_sandbox.reset()
    scripted_sandbox.script(by="look", outputs=GOOD, log="step 1\nstep 2\n")
    bench = bench_on(scripted_sandbox, tmp_path_factory.mktemp("recorded") / "data")
    for _ in range(2):
        assert bench.follow(bench.launch()).state is RunState.COMPLETED
    return bench.core.settings.data_dir


@pytest.fixture
def core(recorded: Path, tmp_path: Path) -> Core:
    """A console on a copy of that folder."""
    return open_core(Settings(data_dir=shutil.copytree(recorded, tmp_path / "data")))


@pytest.fixture
def run_id(core: Core) -> str:
    return core.ledger.page()[0].run_id


@pytest.fixture
def folder(core: Core, run_id: str) -> Path:
    return core.settings.runs_dir / run_id


def problems(core: Core) -> list[tuple[str, str]]:
    return [(damage.where, str(damage.sentence)) for damage in core.storage.check(TESTER).damages]


def errors(rebuilt: Rebuilt) -> list[str]:
    return [str(error.message) for error in rebuilt.unread]


def faster(folder: Path) -> None:
    """Another result in the record, in a folder that is consistent."""
    record = folder / "record.json"
    stored = json.loads(record.read_text("utf-8"))
    for card in stored["result"]["rank_results"]:
        card["throughput"] *= 1.5
    record.write_text(json.dumps(stored, indent=2), "utf-8")


def test_a_recorded_run_is_sealed_and_has_one_entry_of_the_audit(core: Core, run_id: str) -> None:
    entries = core.audit.entries(AuditQuery(change="seal.", object=run_id), TESTER)

    assert [(entry.act.change, entry.act.who) for entry in entries] == [
        ("seal.recorded", "aisbench"),
        ("seal.launched", "tester"),
    ]
    assert core.storage.check(TESTER).unsealed == 0
    assert problems(core) == []
    assert core.storage.rebuild(TESTER) == Rebuilt(2)


def test_a_changed_result_is_refused_and_the_honest_copy_stays(core: Core, run_id: str, folder: Path) -> None:
    before = core.warehouse.runs.find_row(run_id)
    faster(folder)

    assert problems(core) == [(f"run {run_id}", "files differ from what was recorded: record.json (changed)")]
    (damage,) = core.storage.check(TESTER).damages
    assert "backup" in damage.hint
    assert "rebuild" not in damage.hint
    for believe in (False, True):
        rebuilt = core.storage.rebuild(TESTER, believe=believe)
        assert (rebuilt.runs, errors(rebuilt)) == (1, ["files differ from what was recorded: record.json (changed)"])
        assert core.warehouse.runs.find_row(run_id) == before


def appended(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"\n")


def same_size(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(bytes([content[0] ^ 1]) + content[1:])


@pytest.mark.parametrize("change", [appended, same_size])
@pytest.mark.parametrize(
    "name", ["logs/worker-0.log", "spec.yaml", "launch.json", "job.json", "train_result_info.json"]
)
def test_each_file_that_was_changed_is_named(
    core: Core, run_id: str, folder: Path, name: str, change: Callable[[Path], None]
) -> None:
    change(folder / name)

    without_logs = core.storage.check(TESTER, with_logs=False).damages
    assert len(without_logs) == (0 if "/" in name else 1)
    assert problems(core) == [(f"run {run_id}", f"files differ from what was recorded: {name} (changed)")]


def test_files_that_are_missing_or_new_or_links_are_named(core: Core, run_id: str, folder: Path) -> None:
    (folder / "spec.yaml").rename(folder.parent.parent / "spec.yaml")
    (folder / "spec.yaml").symlink_to(folder.parent.parent / "spec.yaml")
    (folder / "logs" / "worker-7.log").write_text("step 1\n", "utf-8")

    ((where, sentence),) = problems(core)

    assert where == f"run {run_id}"
    assert sentence.endswith("recorded: spec.yaml (missing), logs/worker-7.log (added)")


def test_annotations_change_without_a_new_seal(core: Core, run_id: str) -> None:
    core.annotations.tag(run_id, ["good"], [], TESTER)
    core.annotations.note(run_id, "as usual", TESTER, None)

    assert problems(core) == []
    assert core.storage.rebuild(TESTER).runs == 2


def test_an_invented_folder_is_refused(core: Core, folder: Path) -> None:
    invented = folder.with_name("r20990101-000000-aaaaaa")
    shutil.copytree(folder, invented)
    text = (invented / "record.json").read_text("utf-8").replace(folder.name, invented.name)
    (invented / "record.json").write_text(text, "utf-8")

    assert problems(core) == [(f"run {invented.name}", "was never recorded by this console")]
    rebuilt = core.storage.rebuild(TESTER)
    assert (rebuilt.runs, errors(rebuilt)) == (2, ["was never recorded by this console"])
    assert core.warehouse.runs.find_row(invented.name) is None


def test_a_copy_under_another_name_is_refused(core: Core, folder: Path) -> None:
    shutil.copytree(folder, folder.with_name("r20990101-000000-aaaaaa"))

    rebuilt = core.storage.rebuild(TESTER)

    assert rebuilt.runs == 2
    assert errors(rebuilt) == [f"r20990101-000000-aaaaaa/record.json is of run {folder.name}"]


def test_a_rehearsal_does_not_become_a_measurement(core: Core, run_id: str, folder: Path) -> None:
    file = folder / "record.json"
    file.write_text(file.read_text("utf-8").replace('"rehearsal": true', '"rehearsal": false'), "utf-8")

    assert "record.json (changed)" in errors(core.storage.rebuild(TESTER))[0]
    forget_seals(core)
    assert errors(core.storage.rebuild(TESTER)) == ["the record differs from the ledger: rehearsal"]
    row = core.warehouse.runs.find_row(run_id)
    assert row
    assert row.rehearsal


def test_a_deleted_folder_is_reported_and_what_is_stored_of_it_stays(core: Core, run_id: str, folder: Path) -> None:
    shutil.rmtree(folder)

    assert problems(core) == [(f"run {run_id}", "its folder is missing")]
    rebuilt = core.storage.rebuild(TESTER)

    assert (rebuilt.runs, errors(rebuilt)) == (1, ["its folder is missing"])
    assert core.warehouse.runs.find_row(run_id)


def test_what_the_product_removes_is_known_afterwards(core: Core, run_id: str, folder: Path) -> None:
    log = (folder / "logs" / "worker-0.log").read_bytes()

    core.cleaning.clean(core.cleaning.plan(run_id, [RunPart.FOLDER]), named("ann"))

    assert problems(core) == []
    entries = core.audit.entries(AuditQuery(change="seal.files_removed"), TESTER)
    assert [(one.act.who, one.act.object, "manifest" in one.act.before) for one in entries] == [("ann", run_id, True)]
    assert core.storage.rebuild(TESTER).runs == 2
    (folder / "logs").mkdir()
    (folder / "logs" / "worker-0.log").write_bytes(log)
    assert problems(core) == [], "a backup brought it back"
    (folder / "logs" / "worker-0.log").write_bytes(log + b"more\n")
    assert "logs/worker-0.log (added)" in problems(core)[0][1]


def test_a_system_description_is_sealed_anew_and_a_changed_record_is_not_written_on(
    core: Core, run_id: str, folder: Path
) -> None:
    core.systems.state(run_id, {"system_name": "cluster A"}, TESTER)

    assert problems(core) == []
    faster(folder)
    with pytest.raises(ResultError, match=r"files differ from what was recorded: record.json"):
        core.systems.state(run_id, {"system_name": "cluster B"}, TESTER)
    assert "record.json (changed)" in problems(core)[0][1]


def test_whoever_is_killed_while_the_product_writes_raises_no_alarm(core: Core, run_id: str, folder: Path) -> None:
    killed = core.systems._seals.seal_changes(run_id, ["record.json"], TESTER)
    killed.__enter__()
    appended(folder / "record.json")

    again = open_core(core.settings)

    assert problems(again) == []
    again.systems.state(run_id, {"system_name": "cluster A"}, TESTER)
    faster(folder)
    assert "record.json (changed)" in problems(again)[0][1]


def test_the_demo_is_sealed_and_leaves_a_tombstone(core: Core) -> None:
    count = core.imports.add_demo(TESTER)
    saved = core.settings.data_dir.parent / "saved"
    (demo,) = list(core.settings.runs_dir.glob("*demo*"))[:1]
    shutil.copytree(demo, saved)
    assert core.storage.rebuild(TESTER).runs == count + 2
    assert problems(core) == []

    core.imports.remove_demo(named("ann"))

    assert problems(core) == []
    removed = core.audit.entries(AuditQuery(change="seal.folder_removed", who="ann"), TESTER, limit=1000)
    assert len(removed) == count
    assert all("manifest" in entry.act.before for entry in removed)
    shutil.copytree(saved, demo)
    (error,) = errors(core.storage.rebuild(TESTER))
    assert error.startswith("was removed by ann at 20")


def forget_seals(core: Core) -> None:
    """As earlier versions left ledgers."""
    with closing(sqlite3.connect(core.settings.ledger_path)) as con:
        for trigger in ("changed", "thinned", "replaced"):
            con.execute(f"drop trigger audit_is_not_{trigger}")
        con.execute("delete from audit")
        con.execute("delete from seals")
        con.commit()


def test_runs_of_before_are_believed_as_far_as_warehouse_and_ledger_agree_and_are_sealed_on_request(
    core: Core, run_id: str, folder: Path
) -> None:
    forget_seals(core)

    checked = core.storage.check(TESTER)
    assert (checked.damages, checked.unsealed) == ((), 2)
    assert core.storage.rebuild(TESTER) == Rebuilt(2)
    assert core.storage.check(TESTER, seal=True).unsealed == 0
    assert core.storage.check(TESTER).unsealed == 0
    faster(folder)
    assert "record.json (changed)" in problems(core)[0][1]
    assert core.storage.check(TESTER, seal=True).damages != (), "what is changed is not sealed"
    assert core.warehouse.runs.find_row(run_id)


def test_of_runs_of_before_a_folder_that_contradicts_the_warehouse_replaces_nothing(
    core: Core, run_id: str, folder: Path
) -> None:
    forget_seals(core)
    before = core.warehouse.runs.find_row(run_id)
    faster(folder)

    (damage,) = core.storage.check(TESTER).damages
    assert "its folder says something else than the warehouse" in damage.sentence
    assert core.storage.rebuild(TESTER).runs == 1
    assert core.warehouse.runs.find_row(run_id) == before
    assert core.storage.rebuild(TESTER, believe=True).runs == 2, "on request, and sealed from then on"
    assert core.warehouse.runs.find_row(run_id) != before
    assert problems(core) == []


def test_a_seal_that_the_audit_does_not_name_is_worth_nothing(core: Core, run_id: str, folder: Path) -> None:
    with closing(sqlite3.connect(core.settings.ledger_path)) as con:
        con.execute("update seals set files = replace(files, 'spec.yaml', 'spec.yml') where run_id = ?", [run_id])
        con.commit()
    assert problems(core) == [(f"run {run_id}", "its seal in the ledger is not the one that the audit names")]

    with closing(sqlite3.connect(core.settings.ledger_path)) as con:
        con.execute("delete from seals where run_id = ?", [run_id])
        con.commit()
    assert problems(core) == [(f"run {run_id}", "its seal in the ledger is not the one that the audit names")]
    assert core.storage.rebuild(TESTER).runs == 1
    assert folder.is_dir()


def test_launch_facts_that_are_changed_while_the_job_runs_make_no_result(
    sandbox: SandboxProcess, tmp_path: Path
) -> None:
    sandbox.script(by="look", outputs=GOOD)
    bench = bench_on(sandbox, tmp_path / "data")
    run = bench.follow(bench.launch(), RunState.RUNNING)
    facts = bench.core.settings.runs_dir / run.run_id / "launch.json"
    honest = facts.read_text("utf-8")
    facts.write_text(honest.replace('"rehearsal": true', '"rehearsal": false'), "utf-8")

    ended = bench.follow(run)

    assert ended.state is RunState.FAILED
    assert "files differ from what was recorded: launch.json" in ended.detail
    assert bench.core.warehouse.runs.find_row(run.run_id) is None
    facts.write_text(honest, "utf-8")
    again = bench.follow(bench.core.runs.collect_again(run.run_id, TESTER))
    assert bench.core.warehouse.runs.find_row(again.run_id)
    assert problems(bench.core) == []


def test_a_record_that_is_edited_before_it_is_sealed_is_written_anew(sandbox: SandboxProcess, tmp_path: Path) -> None:
    sandbox.script(by="look", outputs=GOOD)
    bench = bench_on(sandbox, tmp_path / "data")
    run, following, edited = bench.launch(), bench.core.following, list[Path]()

    def edit_and_seal(run_ids: Iterable[str]) -> None:
        if not edited:
            edited.append(bench.core.settings.runs_dir / run.run_id)
            faster(edited[0])
        following.seal(run_ids)

    ended = replace(bench, follower=replace(following, seal=edit_and_seal).follower()).follow(run)

    assert (ended.state, len(edited)) == (RunState.COMPLETED, 1)
    row = bench.core.warehouse.runs.find_row(run.run_id)
    assert row
    assert row.throughput == 200
    assert problems(bench.core) == []
    assert bench.core.storage.rebuild(TESTER) == Rebuilt(1)
    assert bench.core.warehouse.runs.find_row(run.run_id) == row


def test_retention_of_the_audit_leaves_seals_valid(sandbox: SandboxProcess, recorded: Path, tmp_path: Path) -> None:
    data = shutil.copytree(recorded, tmp_path / "data")
    bench = bench_on(sandbox, data, keep_audit_days=30)
    bench.clock.move(60 * 86_400)
    bench.core.annotations.tag(bench.core.ledger.page()[0].run_id, ["old"], [], TESTER)

    assert bench.core.audit.entries(AuditQuery(change="seal."), TESTER) == []
    assert problems(bench.core) == []
    assert bench.core.audit.verify(TESTER).entries > 0


def test_with_a_damaged_ledger_only_what_agrees_with_the_warehouse_is_believed(
    recorded: Path, sandbox: SandboxProcess, tmp_path: Path
) -> None:
    data = shutil.copytree(recorded, tmp_path / "data")
    (data / "ledger.sqlite3").write_bytes(b"no database")
    core = open_core(settings_for(sandbox, data))
    (changed, _) = sorted(core.settings.runs_dir.iterdir())
    faster(changed)

    rebuilt = core.storage.rebuild(TESTER)

    assert (rebuilt.runs, errors(rebuilt)) == (1, ["its folder says something else than the warehouse"])


def test_the_script_of_the_document_prints_what_the_audit_says(
    core: Core, run_id: str, folder: Path, tmp_path: Path
) -> None:
    document = (HOME / "docs" / "seals.md").read_text("utf-8")
    script = tmp_path / "seal.py"
    script.write_text(document.partition("```python\n")[2].partition("```")[0], "utf-8")
    (folder / ".hidden").write_text("a draft", "utf-8")
    core.annotations.note(run_id, "as usual", TESTER, None)

    said, manifest = (
        subprocess.run([sys.executable, "-I", script, folder, *more], capture_output=True, text=True, check=True).stdout
        for more in ([], ["--manifest"])
    )

    (newest,) = core.audit.entries(AuditQuery(change="seal.", object=run_id), TESTER, limit=1)
    assert said == f"{newest.act.after}\n"
    assert (manifest.count("\n"), "logs/worker-0.log\n" in manifest) == (len(from_text(manifest)), True)
    assert len(script.read_text("utf-8").splitlines()) <= 45

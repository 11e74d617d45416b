"""`aisbench system`: what is stated of a system, from the shell to the warehouse and to new runs."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from aisbench_core.config.settings import Settings
from aisbench_core.domain.results.record import write_record
from aisbench_core.interfaces.cli import main
from aisbench_core.model import Imported, RunState, stated_of
from aisbench_core.running.run_files import LaunchFacts, write_facts
from aisbench_core.running.systems.descriptions import SystemTemplate
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.wiring import Core, open_core
from tests import records as a

PROFILE = (
    "region: cn-north-4\nproject_id: p\nobs_server: obs.cn-north-4.myhuaweicloud.com\nbucket: bench\n"
    "flavor: modelarts.kat1.8xlarge\n"
)

Typed = Callable[..., Result]


@pytest.fixture
def core(tmp_path: Path) -> Core:
    """A console with a profile, a run that was recorded (run-1) and one that is on its way (run-2)."""
    core = open_core(Settings(data_dir=tmp_path / "data"))
    core.settings.profiles_dir.mkdir()
    (core.settings.profiles_dir / "beijing.yaml").write_text(PROFILE)
    record = a.record("run-1")
    for run in (record.run, a.run("run-2", state=RunState.RUNNING)):
        core.ledger.add(run)
        write_facts(LaunchFacts(a.FACTS, "cn-north-9", False, "Ascend"), _folder(core, run.run_id).launch)
    folder = _folder(core, "run-1")
    write_record(record, folder.record, folder.metrics, folder.events)
    core.warehouse.record(record)
    return core


@pytest.fixture
def typed(core: Core) -> Typed:
    """One command on that console."""

    def invoke(*words: str) -> Result:
        environment = {"AISBENCH_DATA_DIR": str(core.settings.data_dir)}
        return CliRunner(env=environment).invoke(main, ["system", *words])

    return invoke


def answer(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def stored(core: Core) -> tuple[Any, ...]:
    """What the warehouse has of run-1: description, what of it the job says, fields, tester's configuration."""
    with core.warehouse.cursor() as cur:
        query = "select system, system_from_job, system_fields, tester from runs where run_id = 'run-1'"
        system, from_job, fields, tester = cur.execute(query).fetchall()[0]
    return json.loads(system), json.loads(from_job), fields, json.loads(tester)


def test_a_run_that_nobody_described_shows_what_its_job_says(typed: Typed) -> None:
    shown = typed("show", "run-1")
    told = answer(typed("show", "run-1", "--json"))

    assert "6 of 33 fields stated, 6 of them by the job" in shown.stdout
    assert (told["stated"], told["fields"]) == (6, 33)
    assert told["values"]["number_of_nodes"] == 1
    assert told["values"]["accelerator_model_name"] == "Ascend"
    assert told["values"]["cooling"] is None
    assert "number_of_nodes" in told["from_job"]


def test_an_edit_reaches_the_folder_the_events_and_the_warehouse(typed: Typed, core: Core) -> None:
    result = typed("edit", "run-1", "cooling=air", "host_memory_capacity=768 GB", "test_id=t-7")

    assert result.exit_code == 0, result.output
    assert "8 of 33" in result.stdout
    assert json.loads((_folder(core, "run-1").path / "system.json").read_text()) == {
        "host_memory_capacity": "768 GB",
        "cooling": "air",
    }
    system, from_job, fields, tester = stored(core)
    assert (system["cooling"], fields, tester["test_id"]) == ("air", 8, "t-7")
    assert "cooling" not in from_job
    last = core.ledger.events("run-1")[-1]
    assert last.message == "system description changed: host_memory_capacity, cooling, test_id"
    assert last.actor
    record = core.files.record("run-1")
    assert record
    assert record.events[-1].message == last.message


def test_a_statement_is_taken_back_with_an_empty_value(typed: Typed, core: Core) -> None:
    typed("edit", "run-1", "cooling=air")

    assert typed("edit", "run-1", "cooling=").exit_code == 0

    assert core.systems.of("run-1").stated.values == {}
    assert core.files.record("run-1") == core.files.record("run-1")
    assert not (_folder(core, "run-1").path / "system.json").exists()


def test_a_rebuild_keeps_what_was_stated(typed: Typed, core: Core) -> None:
    typed("edit", "run-1", "cooling=air", "division=open", "scenario=generic")
    before = stored(core)
    for file in core.settings.data_dir.glob("warehouse*"):  # with its log
        file.unlink()

    core.warehouse.rebuild(core.files.records())

    assert stored(core) == before


def test_the_records_hash_covers_what_is_stated_and_only_that(typed: Typed, core: Core) -> None:
    def sha256() -> str:
        found = core.warehouse.runs.find_row("run-1")
        assert found
        return found.record_sha256

    first = sha256()
    typed("edit", "run-1", "cooling=air")
    changed = sha256()
    typed("edit", "run-1", "cooling=")

    assert changed != first
    assert sha256() == first


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run-1", "number_of_nodes=many"), "number_of_nodes: input should be a valid integer"),
        (("run-1", "colling=air"), "colling: is not a field"),
        (("run-1", "cooling"), "is not FIELD=VALUE"),
        (("nothing", "cooling=air"), "no run 'nothing'"),
        (("@nowhere", "cooling=air"), "nowhere"),
        (("@", "cooling=air"), "names no profile"),
        (("@beijing", "framework=MindSpore"), "framework: is known from each job"),
    ],
)
def test_what_cannot_be_stated_is_refused_and_changes_nothing(
    typed: Typed, core: Core, words: tuple[str, ...], said: str
) -> None:
    result = typed("edit", *words)

    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert core.systems.of("run-1").stated.values == {}
    assert not core.settings.systems_dir.exists()


def test_a_statement_against_the_job_is_warned_about(typed: Typed) -> None:
    assert "system.job" in typed("edit", "run-1", "number_of_nodes=4").stderr


def test_upstreams_files_come_in_and_go_out(typed: Typed, tmp_path: Path) -> None:
    system, tester, out = tmp_path / "system.json", tmp_path / "config.json", tmp_path / "out.json"
    system.write_text(json.dumps({"submitter": "实验室", "accelerator_on-chip_memories": "32 MB", "rack": 7}), "utf-8")
    tester.write_text(json.dumps({"testid": "t-1", "tester_server_ip": "127.0.0.1"}))

    result = typed("import", "run-1", str(system), str(tester))
    typed("export", "run-1", "-o", str(out))

    assert result.exit_code == 0, result.output
    assert "system.unknown" in result.stderr
    written = json.loads(out.read_text("utf-8"))
    assert len(written) == 33
    assert (written["submitter"], written["accelerator_on-chip_memories"]) == ("实验室", "32 MB")
    assert (written["number_of_nodes"], written["cooling"]) == (1, "")
    assert json.loads(typed("export", "run-1", "--file", "config.json").stdout)["testid"] == "t-1"


def test_an_import_with_an_error_or_on_trial_changes_nothing(typed: Typed, core: Core, tmp_path: Path) -> None:
    file = tmp_path / "system.json"
    file.write_text('{"cooling": "air", "number_of_nodes": "two"}')
    wrong = typed("import", "run-1", str(file))
    file.write_text('{"cooling": "air"}')

    trial = typed("import", "run-1", str(file), "--dry-run")

    assert (wrong.exit_code, trial.exit_code) == (2, 0)
    assert "system.type" in wrong.stderr
    assert "cooling  air" in trial.stdout
    assert core.systems.of("run-1").stated.values == {}


def test_new_runs_take_over_what_is_kept_and_later_edits_do_not_reach_old_ones(typed: Typed, core: Core) -> None:
    typed("edit", "@beijing", "submitter=lab", "cooling=air")
    typed("edit", "@beijing/modelarts.kat1.8xlarge", "cooling=liquid")
    fine, other = a.run("run-3"), a.run("run-4", a.spec(flavor="other/../flavor"))
    for run in (fine, other):
        core.ledger.add(run)

    counts = [core.systems.take_over(run) for run in (fine, other)]
    typed("edit", "@beijing", "submitter=somebody else")

    assert counts == [2, 2]
    assert core.systems.of("run-3").stated == stated_of({"submitter": "lab", "cooling": "liquid"})
    assert core.systems.of("run-4").stated == stated_of({"submitter": "lab", "cooling": "air"})


def test_a_runs_description_is_kept_for_others_without_what_each_job_decides(typed: Typed, core: Core) -> None:
    typed("edit", "@beijing/modelarts.kat1.8xlarge", "hw_notes=old")
    typed("edit", "run-1", "cooling=air", "framework=MindSpore 1.10 patched", "test_id=t-7")

    result = typed("keep", "run-1")

    assert result.stdout.strip() == "@beijing/modelarts.kat1.8xlarge"
    kept = core.systems.of(SystemTemplate("beijing", "modelarts.kat1.8xlarge"))
    assert kept.stated.values == {"cooling": "air", "test_id": "t-7"}
    assert answer(typed("keep", "run-1", "--any-flavor", "--json")) == {"kept": "@beijing"}


def test_an_import_for_others_leaves_out_what_each_job_decides(typed: Typed, core: Core, tmp_path: Path) -> None:
    file = tmp_path / "system.json"
    file.write_text('{"cooling": "air", "framework": "MindSpore"}')

    result = typed("import", "@beijing", str(file))

    assert "system.run-only" in result.stderr
    assert core.systems.of(SystemTemplate("beijing")).stated.values == {"cooling": "air"}


def test_a_run_on_its_way_can_be_described_and_records_it_at_its_end(typed: Typed, core: Core) -> None:
    result = typed("edit", "run-2", "cooling=air")

    assert result.exit_code == 0, result.output
    assert core.systems.of("run-2").stated.values == {"cooling": "air"}
    assert core.warehouse.runs.find_row("run-2") is None


def test_an_imported_run_says_only_what_its_source_gave(typed: Typed, core: Core) -> None:
    imported = Imported("old.log", a.T0, ("node_count", "framework_version"))
    record = replace(a.record("old-1"), imported=imported, accelerator="")
    folder = _folder(core, "old-1")
    write_record(record, folder.record, folder.metrics, folder.events)

    told = answer(typed("edit", "old-1", "cooling=air", "--json"))

    assert {name: value for name, value in told["values"].items() if value is not None} == {
        "number_of_nodes": 1,
        "framework": "mindspore r1.10",
        "cooling": "air",
        "test_mode": "training",
        "test_model": "resnet50_v1.5",
        "test_object_type": "single",
    }
    assert core.warehouse.runs.find_row("old-1")


def test_a_damaged_file_is_named(typed: Typed, core: Core) -> None:
    (_folder(core, "run-1").path / "system.json").write_text("{")

    result = typed("show", "run-1")

    assert result.exit_code == 1
    assert "run-1/system.json" in result.stderr


def test_a_run_says_how_much_of_its_system_is_stated(core: Core) -> None:
    result = CliRunner(env={"AISBENCH_DATA_DIR": str(core.settings.data_dir)}).invoke(main, ["show", "run-1"])

    assert "6 of 33 fields stated" in result.stdout


def _folder(core: Core, run_id: str) -> RunFolder:
    return RunFolder(core.settings.runs_dir / run_id)

"""Names, tags and notes through the whole product: runs on their way, rebuilt warehouses, other machines, commands."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from aisbench_core.base.errors import RunNotFound, SpecError, StaleRun
from aisbench_core.domain.results.record import write_record
from aisbench_core.interfaces.cli import main
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.actors import TESTER, named
from tests.flow.following import GOOD, PERSON, SPEC, Bench, bench_on
from tests.sandbox_process import SandboxProcess


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD)
    return bench_on(sandbox, tmp_path / "data")


def test_what_is_remarked_of_a_run_on_its_way_is_in_its_record_and_outlives_the_warehouse(bench: Bench) -> None:
    run = bench.launch()
    bench.core.annotations.tag(run.run_id, ["baseline", " night "], [], named(PERSON))
    bench.core.annotations.note(run.run_id, "fan 3 was off", named(PERSON), None)

    bench.follow(run)

    row = bench.core.warehouse.runs.find_row(run.run_id)
    assert row
    assert (row.tags, row.note) == (("baseline", "night"), "fan 3 was off")
    bench.core.annotations.tag(run.run_id, [], ["night"], named(PERSON))
    assert bench.core.storage.check(TESTER).damages == ()
    Path(str(bench.core.warehouse.location)).unlink()
    bench.core.storage.rebuild(TESTER)
    assert bench.core.annotations.of(run.run_id).tags == ("baseline",)
    assert bench.core.annotations.of_runs([bench.run(run)])[run.run_id].tags == ("baseline",)
    assert [each.who for each in bench.core.annotations.of(run.run_id).changes] == [PERSON] * 4


def test_a_run_of_another_machine_is_remarked_of_in_the_warehouse_alone(bench: Bench) -> None:
    bench.core.warehouse.record(a.record("elsewhere"))

    bench.core.annotations.tag("elsewhere", ["seen"], [], named(PERSON))
    bench.core.annotations.note("elsewhere", "read from here", named(PERSON), None)

    known = bench.core.annotations.of("elsewhere")
    assert (known.tags, known.note) == (("seen",), "read from here")
    assert not (bench.core.settings.runs_dir / "elsewhere").exists()
    bench.core.warehouse.record(a.record("elsewhere"))  # its own machine collects it again
    assert bench.core.annotations.of("elsewhere") == known
    with pytest.raises(StaleRun, match=PERSON):
        bench.core.annotations.note("elsewhere", "blind", named("bob"), None)
    assert bench.core.annotations.of("elsewhere").note == "read from here"


def test_what_is_no_tag_changes_nothing_and_nobodys_run_is_not_found(bench: Bench) -> None:
    bench.core.warehouse.record(a.record("one"))

    with pytest.raises(SpecError, match="comma"):
        bench.core.annotations.tag("one", ["good", "a,b"], [], named(PERSON))
    with pytest.raises(SpecError, match="at most 50"):
        bench.core.annotations.tag("one", map(str, range(51)), [], named(PERSON))
    with pytest.raises(SpecError, match="at most 4000 letters"):
        bench.core.annotations.note("one", "x" * 10_000, named(PERSON), None)
    with pytest.raises(RunNotFound):
        bench.core.annotations.tag("nobody", ["a"], [], named(PERSON))
    assert bench.core.annotations.of("one").changes == ()
    assert bench.core.annotations.tag("one", [], ["never there"], named(PERSON)).changes == ()


def type_in(data_dir: Path, *words: str) -> Result:
    return CliRunner().invoke(main, list(words), env={"AISBENCH_DATA_DIR": str(data_dir)})


def test_the_commands_change_show_and_filter(tmp_path: Path) -> None:
    record = a.imported("i-1")
    folder = RunFolder(tmp_path / "runs" / "i-1")
    write_record(record, folder.record, folder.metrics, folder.events)
    Warehouse(tmp_path / "warehouse.duckdb").record_many([record, a.imported("i-2")])

    assert type_in(tmp_path, "tag", "i-1", "+a", "+-hot", "+b").exit_code == 0
    assert json.loads(type_in(tmp_path, "tag", "i-1", "-b", "--hot", "--json").stdout)["tags"] == ["a"]
    assert type_in(tmp_path, "tag", "i-1", "a").exit_code != 0
    assert type_in(tmp_path, "tag", "+a").exit_code == 2
    both = type_in(tmp_path, "tag", "i-1", "i-2", "+both", "--json")
    assert [(each["run_id"], each["tags"]) for each in json.loads(both.stdout)["runs"]] == [
        ("i-1", ["a", "both"]),
        ("i-2", ["both"]),
    ]
    assert type_in(tmp_path, "tag", "i-1", "i-2", "-both").stdout == "i-1  a\ni-2  no tags\n"
    assert type_in(tmp_path, "note", "i-1", "first").stdout.startswith("tags  a\nnote  first (")
    assert "before, by " in type_in(tmp_path, "note", "i-1", "second").stderr
    assert "second" in type_in(tmp_path, "show", "i-1").stdout
    assert len((tmp_path / "runs" / "i-1" / "annotations.jsonl").read_text("utf-8").splitlines()) == 9
    board = type_in(tmp_path, "leaderboard", "--region", "imported", "--tag", "a", "--json")
    assert [row["best_run_id"] for row in json.loads(board.stdout)["rows"]] == ["i-1"]
    assert type_in(tmp_path, "rename", "i-1", "from the archive").stdout == "from the archive\n"
    assert type_in(tmp_path, "rename", "i-1", "").stdout == type_in(tmp_path, "rename", "i-1").stdout != "\n"
    assert type_in(tmp_path, "rename", "i-1", "x" * 81).exit_code == 2
    shutil.rmtree(tmp_path / "runs")
    assert type_in(tmp_path, "note", "i-1").stdout.startswith("tags  a\nnote  second (")
    assert type_in(tmp_path, "note", "i-2").stdout == "no tags, no note\n"


def test_a_run_is_named_after_what_it_sets_differently_until_somebody_names_it(bench: Bench) -> None:
    run = bench.launch(SPEC.model_copy(update={"parameters": {"epochs": 3}}))
    (default,) = bench.core.run_names.of([run]).values()

    bench.core.annotations.rename(run.run_id, " fans at 80 % ", named(PERSON))
    bench.follow(run)

    ended = bench.run(run)
    assert default == "quickstart_digits numpy2 1 × 2 epochs=3"
    assert bench.core.run_names.of([ended]) == {run.run_id: "fans at 80 %"}
    assert [one.run_id for one in bench.core.ledger.page(text="fans AT")] == [run.run_id]
    shutil.rmtree(bench.core.settings.runs_dir / run.run_id)  # cleaned up
    assert bench.core.run_names.of([ended]) == {run.run_id: "fans at 80 %"}
    with pytest.raises(SpecError, match="at most 80 letters"):
        bench.core.annotations.rename(run.run_id, "x" * 81, named(PERSON))
    bench.core.annotations.rename(run.run_id, "", named(PERSON))
    assert bench.core.run_names.of([ended]) == {run.run_id: default}


def test_a_run_is_set_aside_for_a_reason_and_counts_again(bench: Bench) -> None:
    bench.core.warehouse.record(a.record("one"))
    annotations = bench.core.annotations

    with pytest.raises(SpecError, match="must not be empty"):
        annotations.set_aside("one", "  ", named(PERSON))
    with pytest.raises(SpecError, match="at most 500 letters"):
        annotations.set_aside("one", "x" * 501, named(PERSON))
    annotations.set_aside("one", "node 3\n was throttled", named(PERSON))

    change = annotations.of("one").set_aside
    assert change
    assert (change.who, change.text) == (PERSON, "node 3 was throttled")
    assert len(annotations.set_aside("one", "node 3 was throttled", named(PERSON)).changes) == 1
    bench.clock.move(1)
    assert annotations.count_again("one", named("bob")).set_aside is None
    said = [(str(event.message), str(event.actor)) for event in annotations.of("one").timeline("one")]
    assert said == [("set aside: node 3 was throttled", PERSON), ("no longer set aside", "bob")]


def test_the_command_sets_a_run_aside_says_why_and_undoes_it(tmp_path: Path) -> None:
    Warehouse(tmp_path / "warehouse.duckdb").record_many([a.record("r-1"), a.record("r-2")])

    assert type_in(tmp_path, "set-aside", "r-1").stdout == "not set aside\n"
    assert type_in(tmp_path, "set-aside", "r-1", "").exit_code == 2
    assert type_in(tmp_path, "set-aside", "r-1", "cold", "--undo").exit_code == 2
    assert type_in(tmp_path, "set-aside", "r-1", "cold cache").stdout.startswith("set aside by ")
    assert json.loads(type_in(tmp_path, "set-aside", "r-1", "--json").stdout)["set_aside"] == "cold cache"
    assert "cold cache" in type_in(tmp_path, "show", "r-1").stdout
    board = type_in(tmp_path, "leaderboard", "--region", "cn-north-9")
    assert "1 (+1 not valid)" in board.stdout
    assert type_in(tmp_path, "set-aside", "r-1", "--undo").stdout == "not set aside\n"
    assert "not valid" not in type_in(tmp_path, "leaderboard", "--region", "cn-north-9").stdout

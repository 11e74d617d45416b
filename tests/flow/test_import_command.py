"""`aisbench import`: old results from the shell, onto the leaderboard, marked, and never twice."""

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from aisbench_core.cloud.clouds import Clouds
from aisbench_core.domain.results.progress import seconds_in
from aisbench_core.domain.results.record import read_record
from aisbench_core.model import Origin
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow
from aisbench_core.wiring import Core
from tests.flow.command_line import CommandLine
from tests.sandbox_process import SandboxProcess
from tests.unit import test_history_mllog as mllog
from tests.unit.old_logs import BERT, RESNET

MANY = 600
TABLE = "Model,Ver,Nodes,NPUs,Rate,Acc\nmy net,2.1,2,16,900.5,0.81\nmy net,2.1,4,32,1700.5,0.82\n"


@pytest.fixture
def shell(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[CommandLine]:
    shell = CommandLine(tmp_path / "data", sandbox)
    yield shell
    shell.end()


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """The two results that the manuals print, in a folder of logs."""
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "bert.log").write_text(BERT, "utf-8")
    (folder / "resnet.log").write_bytes(RESNET.replace("\n", "\r\n").encode("gbk"))
    return folder


def everything(core: Core, region: str = "imported") -> list[RunRow]:
    query = BoardQuery(region, include_invalid=True, sort="throughput", limit=2 * MANY)
    return list(core.warehouse.runs.list_rows(query).rows)


def test_the_manuals_two_results_reach_the_leaderboard(shell: CommandLine, logs: Path) -> None:
    saved = shell.answer("import", str(logs))
    rows = shell.answer("leaderboard", "--region", "imported", "--origin", "imported")["rows"]

    assert (len(saved["new"]), saved["known"], saved["region"]) == (2, 0, "imported")
    assert [(row["workload"], row["framework_version"], row["node_count"]) for row in rows] == [
        ("mindspore_resnet", "r1.3", 2),
        ("mindspore_bert", "r1.3", 2),
    ]
    assert [row["throughput"] for row in rows] == [14151.181727494011, 450.58182754928634]
    assert {row["origin"] for row in rows} == {"imported"}


def test_a_dry_run_stores_nothing(shell: CommandLine, logs: Path, core: Core) -> None:
    result = shell.type("import", "--dry-run", "--nodes", "4", str(logs))

    assert result.exit_code == 0, result.output
    assert "ResNet-50 v1.5" in result.stdout
    assert "4 × –" in result.stdout, "how many cards a node has was not said"
    assert "claimed, unverified" in result.stdout
    assert "imported results are unverified claims" in result.stderr
    assert core.warehouse.facets.list_regions() == []
    assert not (shell.data_dir / "runs").exists()


def test_a_dry_run_tells_what_is_there_twice_and_what_is_here_already(shell: CommandLine, logs: Path) -> None:
    before = shell.answer("import", "--dry-run", str(logs), str(logs))["results"]
    shown = shell.type("import", "--dry-run", str(logs), str(logs))
    shell.answer("import", str(logs))
    after = shell.answer("import", "--dry-run", str(logs))["results"]

    assert [bool(each["duplicate_of"]) for each in before] == [False, False, True, True]
    assert "duplicate of" in shown.stdout
    assert all(each["here"] for each in after)


def test_the_same_logs_again_change_nothing_and_it_is_said(shell: CommandLine, logs: Path, core: Core) -> None:
    shell.answer("import", str(logs))
    before = everything(core)

    result = shell.type("import", str(logs), str(logs / "bert.log"), "--model", "another")

    assert "0 new in region imported, 3 already imported" in result.stdout
    assert everything(core) == before


def test_answers_go_before_what_the_files_say(shell: CommandLine, logs: Path, core: Core) -> None:
    shell.add_profile(
        "team", {**core.regions.profile().model_dump(mode="json"), "region": "cn-north-9", "rehearsal": False}
    )
    answers = ("--profile", "team", "--framework-version", "r1.5", "--mode", "cluster", "--nodes", "3", "--cards", "8")

    shell.answer("import", str(logs / "bert.log"), *answers)

    (row,) = everything(core, "cn-north-9")
    assert (row.profile, row.framework_version, row.mode, row.node_count) == ("team", "r1.5", "cluster", 3)
    assert row.throughput_definition == "build_then_all_int_s"


@pytest.mark.parametrize(
    "words", [("--nodes", "0"), ("--map", "Rate=speed"), ("--map", "Rate"), ("--region", "x", "--profile", "lab")]
)
def test_answers_that_make_no_sense_are_refused(shell: CommandLine, logs: Path, words: tuple[str, ...]) -> None:
    result = shell.type("import", str(logs), *words)

    assert result.exit_code == 2
    assert not (shell.data_dir / "runs").exists()


def test_a_dry_run_names_columns_and_cells_that_are_not_understood(shell: CommandLine, tmp_path: Path) -> None:
    table = tmp_path / "lab.csv"
    table.write_text("Model,Batch,Kernel,samples/s,Date\nbert,256,flash,900.5,Nov 3\nAverage,,,900.5,\n", "utf-8")

    seen = shell.answer("import", "--dry-run", str(table))
    mapped = shell.answer("import", "--dry-run", str(table), "--map", "Batch=parameter.gbs", "--map", "Kernel=")

    assert seen["not_understood"] == {"lab.csv": ["Batch", "Kernel"]}
    assert seen["tables"]["lab.csv"]["Batch"] == "parameter.batch_size"
    [cell] = seen["dropped"]
    assert (cell["source"], cell["cell"], cell["header"], cell["text"]) == ("lab.csv", "E2", "Date", "Nov 3")
    assert [item["reason"] for item in seen["unread"]] == ["averages and totals, left out: 1 (row 3)"]
    assert mapped["not_understood"] == {}
    assert {name: mapped["tables"]["lab.csv"][name] for name in ("Batch", "Kernel")} == {
        "Batch": "parameter.gbs",
        "Kernel": "",
    }


def test_what_a_column_means_is_said_once(shell: CommandLine, tmp_path: Path, core: Core) -> None:
    table = tmp_path / "old.csv"
    table.write_text(TABLE, "utf-8")
    columns = ("--map", "Rate=throughput_ratio", "--map", "Ver=framework_version")
    said = (*columns, "--definition", "per second", "--unit", "samples/s")

    shell.answer("import", str(table), *said)
    seen = shell.answer("import", "--dry-run", str(table))

    assert [(row.model, row.framework_version, row.throughput) for row in everything(core)] == [
        ("my net", "2.1", 1700.5),
        ("my net", "2.1", 900.5),
    ]
    assert seen["tables"]["old.csv"]["Rate"] == "throughput_ratio"
    assert {each["here"] for each in seen["results"]} == {row.run_id for row in everything(core)}


def test_files_without_results_are_named_and_the_others_are_read(shell: CommandLine, logs: Path) -> None:
    (logs / "empty.log").write_text("nothing\n", "utf-8")

    result = shell.type("import", str(logs))

    assert result.exit_code == 0
    assert "not read: empty.log: " in result.stderr
    assert "2 new in region imported" in result.stdout


def test_nothing_at_all_is_an_error(shell: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "empty.log").write_text("nothing\n", "utf-8")

    result = shell.type("import", str(tmp_path / "empty.log"))

    assert result.exit_code == 2
    assert (result.stdout, "no results found" in result.stderr) == ("", True)


def test_what_need_not_end_is_not_imported(shell: CommandLine, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.log")

    for path in (tmp_path / "pipe.log", Path("/dev/zero")):
        result = shell.type("import", str(path))

        assert result.exit_code == 1
        assert f"{path} is neither a file nor a folder, but a pipe, a socket or a device" in result.stderr


def test_an_imported_run_is_shown_compared_and_exported_as_such(shell: CommandLine, logs: Path) -> None:
    ids = shell.answer("import", str(logs))["new"]

    shown = shell.type("show", ids[0])
    compared = shell.type("compare", *ids)
    exported = shell.type("export", "--region", "imported")

    assert "imported from bert.log (1)" in shown.stdout
    assert "unknown for some runs: parameters, " in compared.stdout
    assert "equal" not in compared.stdout, "they are not comparable, so there is no ratio that holds"
    assert [row["origin"] for row in csv.DictReader(exported.stdout.splitlines())] == ["imported", "imported"]


def test_the_warehouse_is_built_anew_with_imported_results(shell: CommandLine, logs: Path, core: Core) -> None:
    shell.answer("import", str(logs))
    before = everything(core)

    result = shell.type("warehouse", "rebuild")

    assert "2 runs recorded" in result.stdout
    assert everything(core) == before


def test_a_directory_in_obs_is_listed_once_and_stays_a_rehearsal(
    shell: CommandLine, core: Core, sandbox: SandboxProcess
) -> None:
    objects = Clouds(core.settings, 20)("lab").objects
    place = f"/{sandbox.bucket}/old/run-1/"
    contents = {f"throughput_{rank}.json": f"{1000 + rank}.5" for rank in range(8)}
    contents |= {"ranksize.json": "8", "accuracy.json": "0.77"}
    for name, text in contents.items():
        objects.put(place + name, text.encode())

    saved = shell.answer("import", f"obs:/{place}", "--profile", "lab", "--model", "my net")

    (row,) = everything(core)
    assert (saved["region"], saved["rehearsal"]) == ("imported", True)
    assert (row.rehearsal, row.origin, row.ranks_found) == (True, Origin.IMPORTED, 8)
    assert row.throughput == sum(1000.5 + rank for rank in range(8))


def test_a_killed_import_is_completed_by_the_next_and_nothing_is_there_twice(
    shell: CommandLine, tmp_path: Path, core: Core
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(MANY):
        (folder / f"{number}.log").write_text(BERT.replace("450.58182754928634", f"450.{number:05}"), "utf-8")

    process = shell.start("import", str(folder), "--json")
    assert process.stderr
    assert process.stderr.readline() == "400 results\n"
    process.kill()
    process.wait()
    half = len(everything(core))
    result = shell.type("import", str(folder), "--json")

    answer = json.loads(result.stdout)
    assert half >= 400
    assert (len(answer["new"]), answer["known"]) == (MANY - half, half)
    assert len({row.run_id for row in everything(core)}) == MANY
    assert len(list((shell.data_dir / "runs").iterdir())) == MANY


def test_an_import_that_was_a_mistake_is_forgotten_after_the_question(
    shell: CommandLine, core: Core, logs: Path
) -> None:
    shell.answer("import", str(logs))
    (listed,) = shell.answer("imports", "list")["imports"]

    asked = shell.type("imports", "forget", listed["import_id"])
    still = len(everything(core))
    gone = shell.answer("imports", "forget", listed["import_id"][:8], "--yes")

    assert asked.exit_code == 1
    assert "Delete 2 runs of" in asked.stderr
    assert "bert.log" in asked.stderr
    assert (still, gone["forgotten"], everything(core)) == (2, 2, [])
    assert list(core.settings.runs_dir.iterdir()) == []
    assert shell.answer("import", str(logs))["known"] == 0, "the same files can be imported again"


def test_names_in_gbk_do_not_keep_others_from_being_imported(shell: CommandLine, logs: Path) -> None:
    folder = logs / os.fsdecode("测试结果".encode("gbk"))
    folder.mkdir()
    (logs / "bert.log").rename(folder / "bert.log")
    (folder / os.fsdecode(b"damaged\xff.zip")).write_bytes(b"PK\x03\x04 damaged")

    imported = shell.type("import", str(logs))

    assert imported.exit_code == 0, imported.output
    assert "测试结果/damaged%FF.zip" in imported.output
    board = shell.answer("leaderboard", "--region", "imported", "--origin", "imported")["rows"]
    assert [row["workload"] for row in board] == ["mindspore_resnet", "mindspore_bert"]


def test_results_of_mlperf_say_their_system_and_when_they_reached_the_target(
    shell: CommandLine, tmp_path: Path
) -> None:
    results = tmp_path / "lab" / "results" / "cards_512" / "resnet"
    results.mkdir(parents=True)
    for number in range(2):
        (results / f"result_{number}.txt").write_text(mllog.log(blocks=16 + number))
    (tmp_path / "lab" / "systems").mkdir()
    system = {"number_of_nodes": "64", "accelerators_per_node": "8", "status": "available", "cooling": "air"}
    (tmp_path / "lab" / "systems" / "cards_512.json").write_text(json.dumps(system))

    saved = shell.answer("import", str(tmp_path / "lab"), "--definition", "mlperf_blocks")
    rows = shell.answer("leaderboard", "--region", "imported", "--origin", "imported")["rows"]
    described = shell.answer("system", "show", saved["new"][0])
    folder = RunFolder(tmp_path / "data" / "runs" / saved["new"][0])
    events = read_record(folder.record, folder.metrics, folder.events).events

    assert len(saved["new"]) == 2
    assert [(row["model"], row["node_count"], row["cards_per_node"]) for row in rows] == [("resnet", 64, 8)]
    assert (described["values"]["cooling"], described["values"]["test_division"]) == ("air", "closed")
    assert [seconds_in(event) for event in events] == [16 * (mllog.BLOCK_S + 1)]

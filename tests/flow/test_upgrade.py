"""`aisbench upgrade` of data folders of four development versions: nothing is lost, and all numbers are the same."""

import json
import os
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner, Result
from filelock import FileLock

from aisbench_core.config.settings import Settings
from aisbench_core.interfaces.cli import main
from aisbench_core.maintenance.upgrading.ledger_tables import FORMER_COLUMNS, FORMER_TABLES
from aisbench_core.maintenance.upgrading.service import FolderUpgrade
from tests.processes import FORKED

FOLDERS = Path(__file__).parents[1] / "old_folders"
COMMITS = ("a60340b1", "351817c6", "8dabae52", "5ca272ec")
BEFORE_SEALS, NEWEST = COMMITS[0], COMMITS[-1]

Rows = dict[str, list[dict[str, Any]]]

COMPUTED = {
    *("group_id", "fingerprint", "record_sha256", "spec", "spec_sha256", "not_known", "image", "checks", "problems"),
    *("problems_data", "ruleset_id", "ruleset_sha256", "detail_data", "grouped", "launch"),
}
"""What is computed of a run by the formulas of the day, or written in its words."""

DERIVED = {
    *("schema_version", "revision", "spending", "standings", "standings_due", "group_statistics"),
    "group_statistics_due",
}


@pytest.fixture(params=COMMITS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A data folder as a development version left it."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    with tarfile.open(FOLDERS / f"{request.param}.tar.xz") as tar:
        tar.extractall(folder, filter="data")
    return folder


def run(folder: Path, *words: str) -> Result:
    return CliRunner(env={"AISBENCH_DATA_DIR": str(folder), "AISBENCH_PROFILE": "sandbox"}).invoke(main, words)


def ledger_rows(file: Path) -> Rows:
    """Every row by table, under the names of today."""
    tables = {former: name for name, former in FORMER_TABLES.items()}
    with closing(sqlite3.connect(file)) as con:
        con.row_factory = sqlite3.Row
        names = [name for (name,) in con.execute("select name from sqlite_master where type = 'table'")]
        found = {name: [dict(row) for row in con.execute(f"select * from {name}")] for name in names}  # noqa: S608
    return {tables.get(name, name): [renamed(tables.get(name, name), row) for row in found[name]] for name in names}


def renamed(table: str, row: dict[str, Any]) -> dict[str, Any]:
    names = {former: name for name, former in FORMER_COLUMNS.get(table, {}).items()}
    cells = {names.get(name, name): value for name, value in row.items()}
    if table == "seals":  # a record is written and sealed again, with the keys of today
        files = [line for line in cells["files"].splitlines() if not line.endswith(" record.json")]
        cells = {**cells, "files": files, "entry": None}
    return cells


def warehouse_rows(file: Path) -> Rows:
    """Every row by table, under the names of today, with the cells that were not computed."""
    found = {}
    with duckdb.connect(file, read_only=True) as con:
        tables = [name for (name,) in con.execute("select table_name from duckdb_tables()").fetchall()]
        for table in sorted({*tables} - DERIVED):
            asked = con.execute(f"from {table}")
            names = [name for name, *_ in asked.description or ()]
            rows = [dict(zip(names, row, strict=True)) for row in asked.fetchall()]
            kept = [{name: value for name, value in row.items() if name not in COMPUTED} for row in rows]
            found["annotations" if table == "remarks" else table] = kept
    return found


def lost(before: Rows, after: Rows) -> list[tuple[str, dict[str, Any]]]:
    """Rows of before that are not there with all the cells that they had."""
    return [
        (table, row)
        for table, rows in before.items()
        for row in rows
        if not any(is_kept(row, found) for found in after[table])
    ]


def is_kept(row: dict[str, Any], found: dict[str, Any]) -> bool:
    return all(value in (None, "") or found[name] == value for name, value in row.items())


def texts(folder: Path) -> dict[str, bytes]:
    """The files of the folder but of locks and of its log."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".lock", ".queue", ".log")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_a_folder_of_a_development_version_is_refused_with_the_way(folder: Path) -> None:
    before = texts(folder)

    answers = [run(folder, *words) for words in (("runs",), ("leaderboard",), ("warehouse", "check"), ("follow",))]

    for answer in answers:
        assert answer.exit_code == 1
        assert "is of a development version" in answer.stderr
        assert "run `aisbench upgrade`" in answer.stderr
    assert texts(folder) == before


def test_an_upgrade_loses_nothing_and_changes_no_number(folder: Path) -> None:
    ledger, warehouse = ledger_rows(folder / "ledger.sqlite3"), warehouse_rows(folder / "warehouse.duckdb")
    recorded = len(list(folder.glob("runs/*/record.json")))

    upgraded = run(folder, "upgrade")

    assert upgraded.exit_code == 0, upgraded.output
    assert upgraded.stdout == f"{recorded} runs recorded again\n"
    assert lost(ledger, ledger_rows(folder / "ledger.sqlite3")) == []
    assert lost(warehouse, warehouse_rows(folder / "warehouse.duckdb")) == []
    assert len(warehouse["runs"]) == recorded >= 5
    assert len(warehouse["annotations"]) >= 3
    assert len(warehouse["baselines"]) == 1
    [kept] = folder.glob("before-upgrade/*")
    assert ledger_rows(kept / "ledger.sqlite3") == ledger
    assert warehouse_rows(kept / "warehouse.duckdb") == warehouse


def test_an_upgraded_folder_is_sound_and_can_be_used(folder: Path) -> None:
    recorded = len(list(folder.glob("runs/*/record.json")))
    run(folder, "upgrade")

    checked = run(folder, "warehouse", "check")
    again = run(folder, "upgrade")

    assert (checked.exit_code, checked.stdout) == (0, "no problems found\n"), checked.output
    assert f"{recorded} runs" in checked.stderr
    assert (again.exit_code, again.stdout) == (0, "nothing to upgrade\n")
    runs = json.loads(run(folder, "runs", "--json").stdout)["runs"]
    stopped = recorded - 5
    assert sorted(each["state"] for each in runs) == ["completed"] * 3 + ["preparing"] + ["stopped"] * stopped
    assert len(json.loads(run(folder, "baseline", "list", "--json").stdout)) == 1
    assert len(json.loads(run(folder, "series", "list", "--json").stdout)["series"]) == 1
    assert run(folder, "tag", runs[0]["run_id"], "+later").exit_code == 0


@pytest.mark.parametrize("folder", [NEWEST], indirect=True)
def test_run_folders_have_the_names_of_today_after_an_upgrade(folder: Path) -> None:
    noted = {file.parent.name: file.read_bytes() for file in folder.glob("runs/*/remarks.jsonl")}

    run(folder, "upgrade")

    assert list(folder.glob("runs/*/remarks.jsonl")) == []
    assert {file.parent.name: file.read_bytes() for file in folder.glob("runs/*/annotations.jsonl")} == noted != {}
    records = [json.loads(file.read_text()) for file in folder.glob("runs/*/record.json")]
    assert all("final_state" in record["run"] and "verdict" not in record["run"] for record in records)
    assert [record["imported"]["details"] for record in records if record["imported"]] == [[], []]
    [stopped] = [record["run"] for record in records if record["run"]["state"] == "stopped"]
    assert stopped["stop_cause"] == {"kind": "person", "value": "root"}
    shown = json.loads(run(folder, "show", stopped["run_id"], "--json").stdout)["run"]
    assert shown["stop_cause"] == {"kind": "person", "value": "root"}
    assert run(folder, "audit", "--verify").exit_code == 0


@pytest.mark.parametrize("folder", [NEWEST], indirect=True)
def test_budgets_people_tokens_and_schedules_are_there_after_an_upgrade(folder: Path) -> None:
    run(folder, "upgrade")

    found = {table: len(rows) for table, rows in ledger_rows(folder / "ledger.sqlite3").items()}

    assert (found["budgets"], found["tokens"], found["schedules"]) == (2, 1, 1)
    assert found["people"] >= 1
    assert found["attempts"] == 2
    assert run(folder, "audit", "--verify").exit_code == 0


def upgrade_and_die(folder: Path, after: int) -> None:
    """Upgrade a folder up to a report, or until its runs are to be recorded again."""
    reports: Iterator[int] = iter(range(after))

    def report(_sentence: object) -> None:
        if next(reports, None) is None:
            os.kill(os.getpid(), 9)

    with FolderUpgrade(Settings(data_dir=folder), report).upgraded_stores(datetime.now(UTC)):
        os.kill(os.getpid(), 9)


@pytest.mark.parametrize("folder", [BEFORE_SEALS], indirect=True)
@pytest.mark.parametrize("after", [0, 1, 2])
def test_an_upgrade_that_is_killed_is_completed_by_the_next(folder: Path, after: int) -> None:
    ledger, warehouse = ledger_rows(folder / "ledger.sqlite3"), warehouse_rows(folder / "warehouse.duckdb")
    process = FORKED.Process(target=upgrade_and_die, args=(folder, after))
    process.start()
    process.join(60)

    upgraded = run(folder, "upgrade")

    assert process.exitcode == -9
    assert (upgraded.exit_code, upgraded.stdout) == (0, "5 runs recorded again\n"), upgraded.output
    assert lost(ledger, ledger_rows(folder / "ledger.sqlite3")) == []
    assert lost(warehouse, warehouse_rows(folder / "warehouse.duckdb")) == []
    [kept] = folder.glob("before-upgrade/*")
    assert ledger_rows(kept / "ledger.sqlite3") == ledger
    assert warehouse_rows(kept / "warehouse.duckdb") == warehouse
    assert run(folder, "warehouse", "check").exit_code == 0


@pytest.mark.parametrize("folder", [NEWEST], indirect=True)
def test_nothing_is_upgraded_while_somebody_follows(folder: Path) -> None:
    before = texts(folder)

    with FileLock(folder / "follower.lock"):
        refused = run(folder, "upgrade")

    assert refused.exit_code == 2
    assert "a follower is following runs (stop the console and the follower first, on all machines)" in refused.stderr
    assert texts(folder) == before


@pytest.mark.parametrize("folder", [BEFORE_SEALS], indirect=True)
def test_a_folder_that_says_something_else_than_the_old_warehouse_is_not_believed(folder: Path) -> None:
    warehouse = warehouse_rows(folder / "warehouse.duckdb")
    record = min(folder.glob("runs/r*/record.json"))
    changed = json.loads(record.read_text())
    changed["result"]["info"]["throughput_ratio"] *= 2
    record.write_text(json.dumps(changed))

    upgraded = run(folder, "upgrade")

    assert upgraded.exit_code == 1
    assert upgraded.stdout == "4 runs recorded again\n"
    assert "its folder says something else than the warehouse" in upgraded.stderr
    assert lost(warehouse, warehouse_rows(folder / "warehouse.duckdb")) == []


def test_a_new_folder_has_nothing_to_upgrade(tmp_path: Path) -> None:
    answer = run(tmp_path / "data", "upgrade")

    assert (answer.exit_code, answer.stdout) == (0, "nothing to upgrade\n")

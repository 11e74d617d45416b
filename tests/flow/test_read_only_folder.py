"""A data folder that cannot be written: everything can be read, and what stores something is refused in a sentence."""

import json
import shutil
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from aisbench_core.base.private_files import restrict_access
from aisbench_core.model import RunState
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.ledger_file import temporary_copy
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.mlflow_server import tracking_server
from tests.read_only_folder import by_mode, by_mount, content, run
from tests.stored_schemas import unpack_file

READING = (
    ["leaderboard", "--region", "cn-north-9"],
    ["leaderboard", "--region", "cn-north-9", "--ruleset", "aisbench/1"],
    ["compare", "run-0", "run-1"],
    ["regress", "--region", "cn-north-9"],
    ["baseline", "list"],
    ["scaling", "run-0"],
    ["export", "--region", "cn-north-9", "--format", "xlsx", "-o", "{elsewhere}/board.xlsx"],
    ["report", "run-0"],
    ["validate", "--region", "cn-north-9"],
    ["ruleset", "list"],
    ["warehouse", "check"],
    ["warehouse", "snapshot", "{elsewhere}/results.duckdb"],
    ["runs"],
    ["show", "run-0"],
    ["clone", "run-0"],
    ["diff", "run-0", "run-1"],
    ["mlflow", "export", "{mlflow}"],
    ["note", "run-0"],
    ["logs", "run-0"],
    ["clean", "run-0", "--folder", "--dry-run"],
    ["system", "show", "run-0"],
    ["series", "list"],
    ["imports", "list"],
    ["views", "list"],
    ["profiles"],
    ["sql", "select run_id from v_runs"],
    ["preflight", "quickstart_digits"],
    ["spec", "quickstart_digits"],
)
WITHOUT_A_REGION = (["health"], ["doctor"], ["jobs", "list"])
STORING = (
    ["run", "quickstart_digits"],
    ["series", "run", "quickstart_digits"],
    ["reproduce", "run-0", "--launch"],
    ["stop", "run-going"],
    ["collect", "run-0"],
    ["clean", "run-0", "--folder", "--yes"],
    ["follow"],
    ["note", "run-0", "a note"],
    ["tag", "run-0", "+good"],
    ["baseline", "mark", "run-0"],
    ["validate", "--region", "cn-north-9", "--store"],
    ["views", "delete", "leaderboard", "mine"],
    ["imports", "forget", "i1", "--yes"],
    ["import", "{elsewhere}"],
    ["system", "edit", "run-0", "cpu_model=X"],
    ["warehouse", "rebuild"],
    ["warehouse", "compact"],
    ["warehouse", "check", "--mend"],
    ["serve", "--sandbox", "--port", "0"],
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A console's data as a killed one leaves it: the ledger's log lacks its index, the warehouse's is not merged."""
    live, folder = tmp_path / "live", tmp_path / "data"
    live.mkdir()
    Warehouse(live / "warehouse.duckdb").record_many(a.records([7900, 8000, 8100], "run"))
    ledger = Ledger(live / "ledger.sqlite3")
    ledger.add(a.run("run-0"))
    with closing(sqlite3.connect(live / "ledger.sqlite3")) as held:
        held.execute("select * from runs").fetchall()
        ledger.add(a.run("run-going", state=RunState.RUNNING, ended_at=None, duration_s=None))
        shutil.copytree(live, folder)
    (folder / "ledger.sqlite3-shm").unlink()
    profiles = folder / "profiles"
    profiles.mkdir()
    (profiles / "lab.yaml").write_text(
        "name: lab\nregion: cn-north-9\nproject_id: p\nobs_server: http://127.0.0.1:9\n"
        "modelarts_endpoint: http://127.0.0.1:9\nbucket: bench\nflavor: sandbox.cpu.1card\n"
    )
    restrict_access([folder, *folder.rglob("*")])
    return folder


def typed(words: Sequence[str], folder: Path, commands: Sequence[Sequence[str]]) -> list[tuple[int, str, str]]:
    """Each command's exit code and what it said, of a process that begins with these words."""
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    environment = {
        "AISBENCH_DATA_DIR": str(folder),
        "AISBENCH_PROFILE": "lab",
        "AISBENCH_AK": "AKIDEXAMPLE",
        "AISBENCH_SK": "not-a-real-secret",
        "AISBENCH_REQUEST_SECONDS": "1",
        "AISBENCH_LOOK_SECONDS": "1",
    }
    whole = [*words, sys.executable, "-m", "tests.flow.read_only_commands"]
    with tracking_server(folder.parent / "mlflow.db") as mlflow:
        asked = [[word.format(elsewhere=elsewhere, mlflow=mlflow.address) for word in command] for command in commands]
        said = run(whole, environment, json.dumps(asked))
    return [(code, out, err) for code, out, err in json.loads(said)]


@pytest.mark.parametrize("way", [by_mount, by_mode])
def test_everything_can_be_read_and_nothing_is_stored(folder: Path, way: Callable[[Path], list[str]]) -> None:
    closed = way(folder)
    before = content(folder)

    said = typed(closed, folder, [*READING, *WITHOUT_A_REGION, *STORING])

    answered = list(zip(READING, said, strict=False))
    refused = list(zip(STORING, said[-len(STORING) :], strict=True))
    assert [each for each in answered if each[1][0] not in FINE or "error" in each[1][2]] == []
    assert [each for each in refused if each[1] != (2, "", REFUSED.format(folder))] == []
    found = {command[0]: out for command, (_, out, _) in reversed(answered)}
    assert "8,000" in found["leaderboard"]
    assert "run-going" in found["runs"], "what stands in the ledger's log alone is read, too"
    assert [err for _, _, err in said if "Traceback" in err or "internal" in err] == []
    health, doctor, jobs = said[len(READING) : -len(STORING)]
    assert "data folder  read-only" in health[1]
    assert f"{folder} is read-only" in doctor[1]
    assert "127.0.0.1" in jobs[2]
    assert content(folder) == before


def test_what_is_missing_is_empty_and_what_is_older_is_named(folder: Path) -> None:
    for file in folder.glob("*.*"):
        file.unlink()
    empty = typed(by_mode(folder), folder, [["leaderboard", "--region", "cn-north-9"], ["runs"]])
    folder.chmod(0o700)
    unpack_file(19, folder / "warehouse.duckdb")

    (code, out, err), runs = typed(by_mode(folder), folder, [["leaderboard", "--region", "cn-north-9"], ["runs"]])

    assert [each[0] for each in (*empty, runs)] == [0, 0, 0], empty
    assert (code, out) == (1, "")
    assert f"error: the warehouse {folder}/warehouse.duckdb is of a development version" in err
    assert {each.name for each in folder.iterdir()} == {"profiles", "warehouse.duckdb"}


def test_a_ledger_is_copied_with_its_log_and_the_copy_goes(folder: Path) -> None:
    before = content(folder)

    with temporary_copy(folder / "ledger.sqlite3") as copy:
        found = {each.run_id for each in Ledger(copy).page()}

    assert found == {"run-0", "run-going"}
    assert not copy.parent.exists()
    assert content(folder) == before


FINE = (0, 6)
"""There are too few runs for `regress`, which says so."""

REFUSED = (
    "error: the folder {} is read-only: what it holds can be read, but nothing can be stored in it "
    "(make it writable for this user, or copy it and set AISBENCH_DATA_DIR to the copy)\n"
)

"""A damaged ledger: recorded results can be read, and what needs the ledger says how to go on."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from aisbench_core.interfaces.cli import main
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a

READING = (
    ["leaderboard", "--region", "cn-north-9"],
    ["compare", "run-0", "run-1"],
    ["scaling", "run-0"],
    ["export", "--region", "cn-north-9", "--format", "csv"],
    ["report", "run-0"],
    ["show", "run-0"],
    ["sql", "select run_id from v_runs"],
    ["logs", "run-0"],
    ["warehouse", "check"],
    ["warehouse", "compact"],
)
NEEDING = (["runs"], ["show", "run-9"], ["logs", "run-9"], ["stop", "run-0"], ["follow"], ["series", "list"])


def overwritten(file: Path) -> None:
    file.write_bytes(b"\0" * 100 + file.read_bytes()[100:])


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:6000])


@pytest.mark.parametrize("damage", [overwritten, cut])
def test_results_are_read_and_the_rest_says_how_to_recover(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    shell = CliRunner(env={"AISBENCH_DATA_DIR": str(tmp_path)})
    Warehouse(tmp_path / "warehouse.duckdb").record_many(a.records([7900, 8000, 8100], "run"))
    ledger = tmp_path / "ledger.sqlite3"
    Ledger(ledger).add(a.run("run-0"))
    (tmp_path / "runs" / "run-0" / "logs").mkdir(parents=True)
    (tmp_path / "runs" / "run-0" / "logs" / "worker-0.log").write_text("step 1\n", "utf-8")
    damage(ledger)
    content = ledger.read_bytes()

    for words in READING:
        found = shell.invoke(main, words)
        assert (found.exit_code, "error" in found.stderr) == (0, False), (words, found.stderr)
    for words in NEEDING:
        found = shell.invoke(main, words)
        assert (found.exit_code, found.stdout) == (1, ""), words
        assert found.stderr.startswith(f"error: the ledger {ledger} cannot be used: "), words
        assert "move ledger.sqlite3 with its -wal and -shm files to another folder, and start again" in found.stderr
        assert found.stderr.count("\n") == 1
    assert ledger.read_bytes() == content

    healthy = shell.invoke(main, ["health", "--json"])
    assert healthy.exit_code == 1
    assert json.loads(healthy.stdout)["sizes"]["warehouse"] > 0
    assert json.loads(healthy.stdout)["sizes"]["runs"] is None
    assert "move ledger.sqlite3 with its -wal and -shm files" in healthy.stderr

    rebuilt = shell.invoke(main, ["warehouse", "rebuild"])
    assert rebuilt.exit_code == 0, rebuilt.stderr

    for file in tmp_path.glob("ledger.sqlite3*"):
        file.rename(tmp_path / f"damaged-{file.name}")
    assert shell.invoke(main, ["runs"]).exit_code == 0

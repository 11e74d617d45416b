"""`aisbench audit`: what was changed in a shell, with filters, as CSV and JSON, and verified."""

import csv
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.flow.command_line import CommandLine


def test_what_is_changed_in_a_shell_is_listed(shell: CommandLine) -> None:
    shell.answer("token", "create", "ci")
    shell.type("token", "revoke", "0123", "--yes")

    entries = shell.answer("audit")

    assert [(one["change"], one["via"], one["role"], one["outcome"]) for one in entries] == [
        ("token.revoke", "cli", "admin", "failed"),
        ("token.create", "cli", "admin", "done"),
    ]
    assert [one["change"] for one in shell.answer("audit", "--outcome", "failed")] == ["token.revoke"]
    assert shell.answer("audit", "--until", "2001-01-01") == []
    assert "token.create" in shell.type("audit").stdout


def test_the_audit_is_exported_without_formulas(shell: CommandLine, tmp_path: Path) -> None:
    shell.type("stop", "=cmd()", "--yes")
    shell.type("token", "revoke", "=cmd()", "--yes")
    file = tmp_path / "audit.csv"

    shell.type("audit", "--csv", "--output", str(file))

    (row,) = [row for row in csv.DictReader(io.StringIO(file.read_text("utf-8"))) if row["change"] == "token.revoke"]
    assert row["object"] == "'=cmd()"
    assert len(row["hash"]) == 64


def test_a_changed_audit_is_found(shell: CommandLine, tmp_path: Path) -> None:
    shell.answer("token", "create", "ci")
    verified = shell.type("audit", "--verify")
    (ledger,) = tmp_path.rglob("ledger.sqlite3")
    with closing(sqlite3.connect(ledger)) as con:
        con.execute("drop trigger audit_is_not_changed")
        con.execute("update audit set who = 'somebody else'")
        con.commit()

    found = shell.type("audit", "--verify")

    assert "entries verified: 1" in verified.stdout
    assert found.exit_code == 1
    assert "the audit was changed: entry 1" in found.stderr
    assert json.loads(shell.type("audit", "--json").stdout)[0]["who"] == "somebody else"


def test_an_audit_that_was_emptied_is_found_and_a_noted_entry_is_looked_for(shell: CommandLine, tmp_path: Path) -> None:
    shell.answer("token", "create", "ci")
    noted = shell.type("audit", "--verify").stdout.split()[-1]
    found = shell.type("audit", "--verify", "--head", noted)
    unknown = shell.type("audit", "--verify", "--head", f"9:{'0' * 64}")
    nonsense = shell.type("audit", "--verify", "--head", "nine")
    (ledger,) = tmp_path.rglob("ledger.sqlite3")
    with closing(sqlite3.connect(ledger)) as con:
        con.execute("drop trigger audit_is_not_thinned")
        con.execute("delete from audit")
        con.commit()

    emptied = shell.type("audit", "--verify")

    assert found.exit_code == 0, found.output
    assert (unknown.exit_code, emptied.exit_code, nonsense.exit_code) == (1, 1, 2)
    assert "entries 2 to 9 are missing" in unknown.stderr
    assert "NUMBER:HASH" in nonsense.stderr
    assert "the audit is empty, but it had 1 entries (20" in emptied.stderr
    assert "audit-heads.json" in emptied.stderr

"""`aisbench evidence`: keys that sign, and keys that are trusted, in a shell."""

import tarfile
from pathlib import Path

from tests.flow.command_line import CommandLine

THEIRS = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGD679aUvlYj26dKqKhNVmV7jKm9/aLgwdheSpe1Ff9n"
THEIR_FINGERPRINT = "SHA256:3d/lTKsOyfFLNLgOPABHef5j4fqd/i1mPNG3/osIXqk"


def test_a_key_is_shown_trusted_and_withdrawn(shell: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "theirs.pub"
    file.write_text(f"{THEIRS} them\n")

    ours = shell.type("evidence", "keys", "--public").stdout.strip()
    trusted = shell.answer("evidence", "trust", str(file), "--name", "them")
    listed = shell.answer("evidence", "keys")
    withdrawn = shell.type("evidence", "withdraw", THEIR_FINGERPRINT)

    assert ours.startswith("ssh-ed25519 ")
    assert ours != THEIRS
    assert trusted["fingerprint"] == THEIR_FINGERPRINT
    assert [(key["owner"], key["public_key"]) for key in listed] == [("", ours), ("them", THEIRS)]
    assert withdrawn.stdout == f"{THEIR_FINGERPRINT}  withdrawn\n"
    assert "them" in shell.type("evidence", "keys").stdout


def test_a_key_is_replaced_after_a_question(shell: CommandLine) -> None:
    before = shell.type("evidence", "keys", "--public").stdout

    refused = shell.type("evidence", "rotate", stdin="n\n")
    assert (refused.exit_code, shell.type("evidence", "keys", "--public").stdout) == (1, before)
    rotated = shell.type("evidence", "rotate", "--yes").stdout

    assert shell.type("evidence", "keys", "--public").stdout == rotated != before
    assert shell.answer("audit", "--change", "signing_key.rotate")[0]["outcome"] == "done"


def test_a_file_without_a_key_is_invalid_input(shell: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "empty.pub").touch()

    missing = shell.type("evidence", "trust", str(tmp_path / "none.pub"), "--name", "them")
    empty = shell.type("evidence", "trust", str(tmp_path / "empty.pub"), "--name", "them")

    assert (missing.exit_code, empty.exit_code) == (2, 2)
    assert "cannot be read: No such file or directory" in missing.stderr
    assert "not a public Ed25519 key" in empty.stderr


def test_no_backup_holds_the_key(shell: CommandLine, tmp_path: Path) -> None:
    shell.type("evidence", "keys", "--public")

    shell.type("backup", str(tmp_path / "all.tar.gz"))

    with tarfile.open(tmp_path / "all.tar.gz") as archive:
        names = archive.getnames()
    assert "ledger.sqlite3" in names
    assert not [name for name in names if "signing-key" in name]


def test_the_audit_goes_on_from_a_head_that_was_kept(shell: CommandLine, tmp_path: Path) -> None:
    kept = tmp_path / "head.txt"
    kept.write_text(shell.type("evidence", "head").stdout)
    answer = shell.answer("evidence", "head")

    shell.type("evidence", "trust", THEIR_FINGERPRINT, "--name", "them")
    going_on = shell.type("evidence", "check", str(kept))
    empty = shell.type("evidence", "check", __file__)

    assert kept.read_text().split()[0] == f"{answer['number']}:{answer['hash']}"
    assert f"the audit continues from entry {answer['number']} (signed with {answer['key']})" in going_on.stdout
    assert (empty.exit_code, "holds no head of an audit" in empty.stderr) == (2, True)
    kept.write_text(kept.read_text().replace(f"{answer['number']}:", f"{answer['number'] + 1}:", 1))
    changed = shell.type("evidence", "check", str(kept))
    assert (changed.exit_code, "its signature does not fit" in changed.stderr) == (1, True)


def test_a_head_is_written_where_nothing_else_says_so(shell: CommandLine) -> None:
    refused = shell.type("evidence", "head", "--publish")

    assert (refused.exit_code, "head_directory is not set" in refused.stderr) == (2, True)

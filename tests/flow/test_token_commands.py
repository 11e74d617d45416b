"""`aisbench token`: made in a shell, shown once, revoked."""

from tests.flow.command_line import CommandLine


def test_a_token_is_printed_once_and_listed_without_its_text(shell: CommandLine) -> None:
    created = shell.answer("token", "create", "ci", "--role", "engineer", "--days", "7")
    listed = shell.type("token", "list", "--json").stdout

    assert created["token"].startswith(f"aisb_{created['token_id']}_")
    assert created["token_id"] in listed
    assert created["token"].rpartition("_")[2] not in listed
    assert '"state": "active"' in listed
    assert shell.type("token", "create", "ci").stdout.count("aisb_") == 1


def test_a_revoked_token_is_listed_as_revoked(shell: CommandLine) -> None:
    created = shell.answer("token", "create", "ci", "--read-only")

    refused = shell.type("token", "revoke", created["token_id"], stdin="n\n")
    revoked = shell.answer("token", "revoke", created["token_id"][:11], "--yes")

    assert refused.exit_code == 1
    assert revoked["state"] == "revoked"
    assert "viewer, read only" in shell.type("token", "list").stdout


def test_a_wrong_token_request_is_invalid_input(shell: CommandLine) -> None:
    wrong = shell.type("token", "create", "ci", "--days", "400")
    missing = shell.type("token", "revoke", "0123", "--yes")

    assert (wrong.exit_code, missing.exit_code) == (2, 2)
    assert "days" in wrong.stderr
    assert "there is no token '0123'" in missing.stderr

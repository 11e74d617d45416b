"""`aisbench people`: roles and access, given and taken in a shell."""

from tests.flow.command_line import CommandLine


def test_roles_are_given_listed_and_revoked(shell: CommandLine) -> None:
    given = shell.answer("people", "set-role", "ann", "admin")
    shell.answer("people", "set-role", "bob", "engineer")
    refused = shell.type("people", "revoke", "bob", stdin="n\n")
    revoked = shell.answer("people", "revoke", "bob", "--yes")

    assert (given["role"], revoked["revoked"]) == ("admin", True)
    assert refused.exit_code == 1
    listed = shell.answer("people", "list")
    assert [(one["name"], one["role"], one["revoked"]) for one in listed] == [
        ("ann", "admin", False),
        ("bob", "engineer", True),
    ]
    assert "revoked" in shell.type("people", "list").stdout


def test_the_last_admin_and_unknown_people_are_invalid_input(shell: CommandLine) -> None:
    shell.answer("people", "set-role", "ann", "admin")

    last = shell.type("people", "revoke", "ann", "--yes")
    unknown = shell.type("people", "release", "eve")

    assert (last.exit_code, unknown.exit_code) == (2, 2)
    assert "is the last admin" in last.stderr
    assert "nobody has the name 'eve'" in unknown.stderr

"""A launch beyond a person's limit, from the shell: one sentence, exit code 2, and room again once a run has ended."""

from tests.flow.command_line import CommandLine


def test_a_launch_beyond_the_limit_says_what_to_do(shell: CommandLine) -> None:
    shell.environment |= {"AISBENCH_RUNS_AT_ONCE": "1"}
    launch = ("run", "quickstart_digits", "--cards", "2")
    first = shell.type(*launch)

    refused = shell.type(*launch)

    assert (first.exit_code, refused.exit_code) == (0, 2)
    assert refused.stdout == ""
    assert "as many active runs as `runs_at_once` allows (1)" in refused.stderr
    assert "wait until one has ended, or stop one" in refused.stderr
    assert len(shell.answer("runs")["runs"]) == 1

"""`aisbench logs`: the workbench of the console as a command, over the logs of a run of the sandbox."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from aisbench_core.domain.logs.lines import ANSI
from tests.flow.command_line import CommandLine
from tests.sandbox_process import SandboxProcess

NODES = {
    0: b"[ModelArts Service Log][init] download code_url\n2026-01-02 03:04:05 INFO step 1\n"
    b"\x1b[31m2026-01-02 03:04:09 ERROR lost node 1\x1b[0m\n[ModelArts Service Log][end] exit code 1\n",
    1: b"2026-01-02 03:04:06 INFO step 1\n"
    + "Traceback (most recent call last):\n  File x\nValueError: 精度 is NaN\n".encode(),
}


@pytest.fixture
def shell(tmp_path: Path, sandbox: SandboxProcess) -> Iterator[CommandLine]:
    shell = CommandLine(tmp_path / "data", sandbox)
    yield shell
    shell.end()


@pytest.fixture
def run_id(shell: CommandLine, sandbox: SandboxProcess) -> str:
    sandbox.script(by="look", exit_code=1)
    run_id = shell.type("run", "quickstart_digits", "--nodes", "2", "--wait").stdout.strip()
    for node, content in NODES.items():
        (shell.data_dir / "runs" / run_id / "logs" / f"worker-{node}.log").write_bytes(content)
    return run_id


def lines(shell: CommandLine, run_id: str, *words: str) -> list[str]:
    result = shell.type("logs", run_id, *words)
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def test_lines_of_all_nodes_by_time_and_by_what_is_wanted(shell: CommandLine, run_id: str) -> None:
    assert [line[:3] for line in lines(shell, run_id, "--all-nodes")] == ["0: "] * 2 + ["1: "] * 4 + ["0: "] * 2
    assert lines(shell, run_id, "--all-nodes", "--tail", "1", "--no-system") == [
        "0: 2026-01-02 03:04:09 ERROR lost node 1"
    ]
    assert lines(shell, run_id, "--node", "1", "--level", "error") == [
        "Traceback (most recent call last):", "  File x", "ValueError: 精度 is NaN",
    ]  # fmt: skip
    assert lines(shell, run_id, "--since", "03:04:07")[0] == "2026-01-02 03:04:09 ERROR lost node 1"
    assert shell.type("logs", run_id).stdout_bytes == ANSI.sub(b"", NODES[0])  # colours are for terminals only


def test_searches_name_the_nodes_of_what_they_find(shell: CommandLine, run_id: str) -> None:
    assert lines(shell, run_id, "--all-nodes", "--grep", "step 1") == [
        "0: 2026-01-02 03:04:05 INFO step 1", "1: 2026-01-02 03:04:06 INFO step 1",
    ]  # fmt: skip
    assert lines(shell, run_id, "--node", "1", "--regex", "^Value.*精.*$") == ["ValueError: 精度 is NaN"]
    found = json.loads(shell.type("logs", run_id, "--all-nodes", "--grep", "ERROR", "--json").stdout)
    assert [(node["node"], node["count"]) for node in found] == [(0, 1), (1, 0)]
    assert found[0]["lines"][0]["at"] == "2026-01-02T03:04:09"


def test_what_a_search_finds_is_printed_in_the_order_of_nodes(shell: CommandLine, run_id: str) -> None:
    with (shell.data_dir / "runs" / run_id / "logs" / "worker-0.log").open("ab") as log:
        log.write(b"nothing here\n" * 2_000_000)  # node 1 is done long before

    assert [line[:3] for line in lines(shell, run_id, "--all-nodes", "--grep", "step 1")] == ["0: ", "1: "]


def test_the_first_error_of_each_rank_or_node_comes_first(shell: CommandLine, run_id: str) -> None:
    errors = shell.answer("logs", run_id, "--errors")

    assert [(error["line"]["node"], error["cause"]) for error in errors] == [
        (1, "ValueError: 精度 is NaN"), (0, "2026-01-02 03:04:09 ERROR lost node 1"),
    ]  # fmt: skip
    assert [error["at"] for error in errors] == ["2026-01-02T03:04:06", "2026-01-02T03:04:09"]
    assert "ValueError: 精度 is NaN" in shell.type("logs", run_id, "--errors").stdout


def test_following_an_ended_run_prints_what_there_is(shell: CommandLine, run_id: str) -> None:
    assert len(lines(shell, run_id, "--follow", "--all-nodes", "--no-system")) == 6


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--regex", "("], "the regular expression cannot be used: missing )"),
        (["--since", "noon"], "'noon' is not a time"),
        (["--grep", "a", "--regex", "b"], "--grep cannot be combined with --regex"),
        (["--errors", "--node", "0"], "--errors cannot be combined with --node"),
        (["--all-nodes", "--node", "0"], "--all-nodes cannot be combined with --node"),
        (["--follow", "--json"], "--follow cannot be combined with --json"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(shell: CommandLine, run_id: str, words: list[str], why: str) -> None:
    result = shell.type("logs", run_id, *words)

    assert result.exit_code == 2
    assert why in result.stderr

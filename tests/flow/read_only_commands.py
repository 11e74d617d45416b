"""Types commands and prints what each answered; all in one process, because starting one takes long."""

import json
import sys

from click.testing import CliRunner

from aisbench_core.interfaces.cli import main


def answers() -> list[tuple[int, str, str]]:
    """Exit code, stdout and stderr of each command that stands on stdin, as JSON."""
    shell = CliRunner()
    done = [shell.invoke(main, words) for words in json.load(sys.stdin)]
    return [(each.exit_code, each.stdout, each.stderr) for each in done]


if __name__ == "__main__":
    json.dump(answers(), sys.stdout)

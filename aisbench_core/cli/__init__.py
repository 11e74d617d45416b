"""The command line: stdout is the answer, stderr is the talk."""

from aisbench_core.cli.entry import main

__all__ = ["main"]

"""The command line: stdout is the answer, stderr is the talk."""

from aisbench_core.interfaces.cli.entry import main

__all__ = ["main"]

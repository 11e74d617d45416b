"""`python -m aisbench_core.interfaces.cli` is `aisbench`."""

from aisbench_core.interfaces.cli import main

main(prog_name="aisbench")

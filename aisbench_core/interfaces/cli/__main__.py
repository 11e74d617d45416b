"""`python -m aisbench_core.interfaces.cli` is `aisbench`."""

from aisbench_core.interfaces.cli.entry import main

main(prog_name="aisbench")

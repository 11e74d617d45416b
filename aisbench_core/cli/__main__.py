"""`python -m aisbench_core.cli` is `aisbench`."""

from aisbench_core.cli import main

main(prog_name="aisbench")

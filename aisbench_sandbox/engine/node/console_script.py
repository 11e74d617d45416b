"""Runs a package's command with the node's Python: `python console_script.py torchrun ARGS…`."""

import sys
from importlib.metadata import entry_points

NOT_FOUND = 127


def main(name: str, arguments: list[str]) -> None:
    """Become the command; exits with 127 if no installed package has it."""
    found = list(entry_points(group="console_scripts", name=name))
    if not found:
        print(f"{name}: command not found", file=sys.stderr, flush=True)
        sys.exit(NOT_FOUND)
    sys.argv = [name, *arguments]
    sys.exit(found[0].load()())


if __name__ == "__main__":
    del sys.path[0]  # this file's directory; modules are to be found in the job's
    main(sys.argv[1], sys.argv[2:])

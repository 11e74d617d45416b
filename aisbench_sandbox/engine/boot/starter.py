"""Execs a framework's own command if it is installed: `python starter.py NAME MODULE HINT ARGS…`."""

import importlib.util
import os
import sys

NOT_FOUND = 127


def main(name: str, module: str, hint: str, *arguments: str) -> None:
    """Run the module as `python -m` does, in this process; print a hint and exit with 127 if it is not installed."""
    # Only the package: to find a module in it, find_spec would import it.
    package = module.partition(".")[0]
    if importlib.util.find_spec(package) is None:
        print(f"[ModelArts Service Log][init] {name}: command not found. {hint}", file=sys.stderr, flush=True)
        sys.exit(NOT_FOUND)
    os.execv(sys.executable, [sys.executable, "-m", module, *arguments])  # noqa: S606 - becoming it is the purpose


if __name__ == "__main__":
    del sys.path[0]  # this file's directory; modules are to be found in the job's
    main(*sys.argv[1:])

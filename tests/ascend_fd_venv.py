"""A virtual environment with a stand-in of ascend-fd, or with a Python that does something else."""

import sys
from pathlib import Path

STAND_IN = Path(__file__).parent / "flow" / "ascend_fd_environment"
WITH_STAND_IN = f'PYTHONPATH="{STAND_IN}" exec "{sys.executable}" "$@"'


def venv_of(folder: Path, script: str = WITH_STAND_IN) -> str:
    """Its path. `script`: what its Python does, as a shell script."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    return str(folder)

"""A Python environment per node, so that a job may install packages without touching the sandbox's."""

import os
import sys
from pathlib import Path

NAME = f"python-{sys.version_info.major}.{sys.version_info.minor}"
_LIBRARY = Path("lib") / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
# The manuals' scripts call sudo. No job gets privileges here, least of all those of the sandbox's user.
_SUDO = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
exec "$@"
"""
# Modules of preset images that this machine may lack: moxing.
MODULES = Path(__file__).parents[2] / "modules"


def make_interpreter(folder: Path) -> None:
    """Make a virtual environment that sees the sandbox's packages, and after them the modules of preset images.

    Packages installed into it take precedence. It takes a millisecond; the `venv` module takes many."""
    (folder / "bin").mkdir(parents=True)
    (folder / _LIBRARY).mkdir(parents=True)
    base = Path(getattr(sys, "_base_executable", "") or os.path.realpath(sys.executable))
    # Python takes a directory with this file above a link to its interpreter for a virtual environment (PEP 405).
    (folder / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n", "utf-8")
    for name in ("python", "python3", NAME.replace("-", "")):
        (folder / "bin" / name).symlink_to(base)
    for name in ("pip", "pip3"):
        write_program(folder / "bin" / name, '#!/bin/sh\nexec "$(dirname "$0")/python" -m pip "$@"\n')
    write_program(folder / "bin" / "sudo", _SUDO)
    # Two files, read in this order: the sandbox's packages, including a real moxing, precede our modules.
    # addsitedir rather than the bare path, so that .pth files in there count, such as those of editable installs.
    add = "".join(f"import site; site.addsitedir({path!r})\n" for path in list_package_folders())
    (folder / _LIBRARY / "a-sandbox.pth").write_text(add, "utf-8")
    (folder / _LIBRARY / "b-image.pth").write_text(f"{MODULES}\n", "utf-8")


def list_package_folders() -> list[str]:
    """The directories of packages on the sandbox's own path."""
    names = ("site-packages", "dist-packages")
    return [path for path in sys.path if Path(path).name in names and Path(path).is_dir()]


def write_program(file: Path, text: str) -> None:
    """Write an executable file."""
    file.write_text(text, "utf-8")
    file.chmod(0o755)

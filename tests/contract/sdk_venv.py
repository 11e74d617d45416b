"""A virtual environment that holds the package `modelarts`: a wheel that somebody has, or the stand-in for it."""

import os
import subprocess
import sysconfig
import venv
from pathlib import Path

WHEEL = "AISBENCH_MODELARTS_WHEEL"
"""The variable that names a wheel, which is on no registry and may not be shipped."""

STANDIN = Path(__file__).parent / "standin" / "modelarts"


def made_venv(place: Path, package: Path = STANDIN) -> Path:
    """The environment, with the package in it (a link, so that it is what stands here)."""
    wheel = os.environ.get(WHEEL, "")
    if wheel and package == STANDIN:
        return _with_wheel(place, Path(wheel).expanduser())
    venv.create(place, symlinks=True)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(place)}))
    (site / package.name).symlink_to(package)
    about = site / "modelarts-0.0.standin.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: modelarts\nVersion: 0.0.standin\n", "utf-8")
    return place


def _with_wheel(place: Path, wheel: Path) -> Path:
    """The environment with that wheel and what it needs, which pip fetches as it is configured to."""
    venv.create(place, symlinks=True, with_pip=True)
    subprocess.run([place / "bin" / "pip", "install", "--quiet", str(wheel)], check=True)
    return place

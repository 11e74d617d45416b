"""A virtual environment that holds the stand-in for the package `modelarts`."""

import sysconfig
import venv
from pathlib import Path

STANDIN = Path(__file__).parent / "standin" / "modelarts"


def made_venv(place: Path, package: Path = STANDIN) -> Path:
    """The environment, with the package in it (a link, so that it is what stands here)."""
    venv.create(place, symlinks=True)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(place)}))
    (site / package.name).symlink_to(package)
    about = site / "modelarts-0.0.standin.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: modelarts\nVersion: 0.0.standin\n", "utf-8")
    return place

"""Where the package `modelarts` is, which `api: sdk` and `sdk-v1` need. It is looked for, never imported."""

import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from aisbench_core.messages import Message, verbatim
from aisbench_core.settings import HOME, Profile

PACKAGE = "modelarts"
WHEEL = "modelarts-latest-py2.py3-none-any.whl"
INSTALL = Message(
    "the package is on no registry: get {wheel} from the cloud's support, install it "
    "into a virtual environment of its own (Python 3.7 to 3.9) and name that as sdk_venv "
    "in the profile, or set api: v2; see docs/cloud.md",
    wheel=WHEEL,
)


def is_installed(profile: Profile) -> bool:
    """Whether the package is where the profile says, or else beside the console."""
    if profile.sdk_venv:
        return any(_in_venv(profile, f"{PACKAGE}/__init__.py"))
    found = find_spec(PACKAGE)
    return found is not None and found.origin is not None  # a mere folder of that name has no origin


def installed_version(profile: Profile) -> str:
    """Its version; empty when it does not tell."""
    if profile.sdk_venv:
        names = (place.name.removesuffix(".dist-info") for place in _in_venv(profile, f"{PACKAGE}-*.dist-info"))
        return next((name.partition("-")[2] for name in names), "")
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return ""


def place_of(profile: Profile) -> Message:
    """Where it is looked for, for a person."""
    return verbatim(profile.sdk_venv) if profile.sdk_venv else Message("the console's own environment")


def python_of(profile: Profile) -> str:
    """The Python that can import it."""
    return str(_venv(profile) / "bin" / "python") if profile.sdk_venv else sys.executable


def _in_venv(profile: Profile, pattern: str) -> Iterator[Path]:
    return _venv(profile).glob(f"lib/python3*/site-packages/{pattern}")


def _venv(profile: Profile) -> Path:
    return HOME / Path(profile.sdk_venv).expanduser()

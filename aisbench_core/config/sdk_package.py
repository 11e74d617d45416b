"""Locates the package `modelarts`, which `api: sdk` and `sdk-v1` need, without importing it."""

import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from aisbench_core.base.messages import Message, make_verbatim
from aisbench_core.config.settings import HOME, Profile

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
    spec = find_spec(PACKAGE)
    return (
        spec is not None and spec.origin is not None
    )  # a plain folder of that name is a namespace package, which has no origin


def installed_version(profile: Profile) -> str:
    """Its version; empty if its metadata has none."""
    if profile.sdk_venv:
        names = (folder.name.removesuffix(".dist-info") for folder in _in_venv(profile, f"{PACKAGE}-*.dist-info"))
        return next((name.partition("-")[2] for name in names), "")
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return ""


def package_path(profile: Profile) -> Message:
    """Where the package is searched, as a text."""
    return make_verbatim(profile.sdk_venv) if profile.sdk_venv else Message("the console's own environment")


def python_of(profile: Profile) -> str:
    """The Python executable that can import it."""
    return str(_get_venv(profile) / "bin" / "python") if profile.sdk_venv else sys.executable


def _in_venv(profile: Profile, pattern: str) -> Iterator[Path]:
    return _get_venv(profile).glob(f"lib/python3*/site-packages/{pattern}")


def _get_venv(profile: Profile) -> Path:
    return HOME / Path(profile.sdk_venv).expanduser()

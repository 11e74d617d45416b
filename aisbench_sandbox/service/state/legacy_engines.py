"""The numbered preset images of the older API (v1): under their current and their former names."""

import re

from aisbench_sandbox.catalogue import ENGINES, EngineImage

_MINDSPORE = re.compile(r"mindspore_([0-9.]+)-cann_([0-9.]+)-py_([0-9.]+)-euler_([0-9.]+)-aarch64")


def _old_name(version: str) -> str:
    """The former name, such as `MindSpore-1.3-cann_5.0.2-python3.7-euleros2.8-aarch64`; empty if there is none."""
    match = _MINDSPORE.fullmatch(version)
    if not match:
        return ""
    number, cann, python, system = match.groups()
    euleros = ".".join(system.split(".")[:2])
    return f"MindSpore-{number.removesuffix('.0')}-cann_{cann}-python{python}-euleros{euleros}-aarch64"


# Today's names first, so that their numbers stay when former names are added.
# The offered images, each with its current one; numbers begin with 1.
OFFERED: tuple[tuple[EngineImage, EngineImage], ...] = (
    *((engine, engine) for engine in ENGINES),
    *((EngineImage(engine.name, old), engine) for engine in ENGINES if (old := _old_name(engine.version))),
)

"""Resolves a launch once and stores the outcome in the run's folder: whatever was stored first stays."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from aisbench_core.cloud.ports import Cloud
from aisbench_core.messages import Message
from aisbench_core.model import NOTHING_RESOLVED, Clock, Level, Resolved, ResolvedContent, Run, RunSpec
from aisbench_core.running import run_paths
from aisbench_core.running.resolving.algorithms import resolve_algorithm
from aisbench_core.running.resolving.config_files import resolve_files
from aisbench_core.running.resolving.descriptions import describe_resolved
from aisbench_core.running.resolving.images import resolve_image
from aisbench_core.running.resolving.inputs import resolve_input
from aisbench_core.running.resolving.stored import write_resolved
from aisbench_core.running.run_files import read_facts
from aisbench_core.running.run_paths import RunFolder

Note = Callable[[Level, Message], None]
"""Tells people what was found."""


@dataclass(frozen=True, slots=True)
class Resolver:
    """Asks a cloud what names stand for now, and never fails because of it.

    `on_page`: called with the number of objects of a directory that are listed; it may raise to give up."""

    cloud: Cloud
    clock: Clock
    on_page: Callable[[int], None]

    def resolve(self, run: Run, folder: RunFolder) -> Resolved:
        """The names in a run's spec; its code has been uploaded. Raises ResultError if the launch's facts are damaged.

        Code and image of a run of an algorithm are those of the algorithm."""
        spec, objects, algorithm = run.spec, self.cloud.objects, None
        speed = read_facts(folder.launch).workload.speed_parameters or {}
        code_path = run_paths.code_path(spec, run.code_sha256, self.cloud.profile) if spec.code_dir else ""
        if spec.algorithm:
            algorithm = resolve_algorithm(spec.algorithm, self.cloud, self.clock, self.on_page)
        channels = [channel for channel in spec.inputs if channel.path]
        return Resolved(
            inputs={one.name: resolve_input(objects, one.path, self.clock, self.on_page) for one in channels},
            files=resolve_files(spec, speed, algorithm.code_path if algorithm else code_path, objects),
            code=algorithm.code if algorithm else None,
            image=algorithm.image if algorithm else self._image(spec),
        )

    def _image(self, spec: RunSpec) -> ResolvedContent | None:
        return resolve_image(self.cloud.images, spec.image_url, self.cloud.profile) if spec.image_url else None


def resolve_once(resolve: Callable[[], Resolved], file: Path, note: Note) -> None:
    """Resolve a launch and store the outcome, unless an earlier attempt at the launch did."""
    if file.exists() or (resolved := resolve()) == NOTHING_RESOLVED:
        return
    write_resolved(resolved, file)
    for level, message in describe_resolved(resolved):
        note(level, message)

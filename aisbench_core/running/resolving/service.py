"""Resolves a launch and stores the outcome in the run's folder, sealed."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import write_whole
from aisbench_core.cloud.ports import Cloud
from aisbench_core.domain.llm.llm_settings import without_llm
from aisbench_core.model import NOTHING_RESOLVED, Clock, Level, Resolved, ResolvedContent, Run, RunSpec
from aisbench_core.running.resolving.algorithms import resolve_algorithm
from aisbench_core.running.resolving.config_files import resolve_files
from aisbench_core.running.resolving.descriptions import describe_resolved
from aisbench_core.running.resolving.images import resolve_image
from aisbench_core.running.resolving.inputs import list_pages, resolve_input
from aisbench_core.running.run_files import read_facts
from aisbench_core.store.run_folders import run_paths
from aisbench_core.store.run_folders.resolved import dump_resolved
from aisbench_core.store.run_folders.run_paths import RunFolder

Sealing = Callable[[str, bytes | None], AbstractContextManager[None]]
"""A context in which this content of a run's file is written, or the file removed."""


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
        speed = without_llm(read_facts(folder.launch).workload.speed_parameters or {})
        code_path: str | None = ""
        if spec.code_dir:
            code_path = run_paths.code_path(spec, run.code_sha256, self.cloud.profile)
        if spec.algorithm:
            algorithm = resolve_algorithm(spec.algorithm, self.cloud, self.clock, self.on_page)
            code_path = algorithm.code_path if algorithm.code.sha256 else None
        channels = [channel for channel in spec.inputs if channel.path]
        inputs = {one.name: resolve_input(objects, one.path, self.clock, self.on_page) for one in channels}
        listed = [name for name, found in inputs.items() if found.sha256]
        return Resolved(
            inputs=inputs,
            files=resolve_files(
                spec, speed, None if code_path is None else self._iter_names(code_path), listed, objects
            ),
            code=algorithm.code if algorithm else None,
            image=algorithm.image if algorithm else self._resolve_image(spec),
        )

    def _iter_names(self, code_path: str) -> Iterator[set[str]]:
        """The names of the code's objects, page by page; an empty path has none."""
        for page in list_pages(self.cloud.objects, code_path, self.clock, self.on_page) if code_path else ():
            yield {stat.path.removeprefix(code_path) for stat in page}

    def _resolve_image(self, spec: RunSpec) -> ResolvedContent | None:
        return resolve_image(self.cloud.images, spec.image_url, self.cloud.profile) if spec.image_url else None


def store_resolved(resolved: Resolved, folder: RunFolder, sealing: Sealing) -> list[tuple[Level, Message]]:
    """Store what a launch's names stand for now: what an earlier attempt stored may be hours old, and had no job.

    Returns what to tell people. Raises DiskError and the ledger's errors."""
    content = None if resolved == NOTHING_RESOLVED else dump_resolved(resolved)
    if content is not None or folder.resolved.exists():
        with sealing(folder.path.name, content):
            folder.resolved.unlink(missing_ok=True) if content is None else write_whole(folder.resolved, content)
    return list(describe_resolved(resolved))

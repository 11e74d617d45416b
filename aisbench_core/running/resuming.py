"""Copies what an earlier run left in its outputs, such as checkpoints, into the outputs of the run that resumes it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from aisbench_core.cloud.ports import ObjectStat, ObjectStore, OnProgress
from aisbench_core.config.settings import Profile
from aisbench_core.domain.liveness.step_reports import step_file_node
from aisbench_core.domain.passport.collecting import is_passport_file
from aisbench_core.domain.results.card_samples import is_card_file
from aisbench_core.domain.results.reported import is_reported_file
from aisbench_core.domain.results.result_files import is_result_file
from aisbench_core.model import Run
from aisbench_core.store.run_folders import run_paths

COPIES_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class LeftFile:
    """An object of the earlier run, and the path where the resumed run finds it."""

    stat: ObjectStat
    target: str


def left_files(objects: ObjectStore, run: Run, earlier: Run, profile: Profile) -> list[LeftFile]:
    """What the earlier run left in the outputs that both have: without its result, which is not the new run's."""
    return list(_iter_left_files(objects, run, earlier, profile))


def copy_left(objects: ObjectStore, left: list[LeftFile], directories: set[str], on_progress: OnProgress) -> None:
    """Copy inside OBS what is not in these directories yet, so that a repeated step copies the rest."""
    stored = {stat.path: stat.size for directory in directories for stat in objects.list(directory)}
    missing = [one for one in left if stored.get(one.target) != one.stat.size]
    on_progress(len(left) - len(missing), len(left))
    with ThreadPoolExecutor(COPIES_AT_ONCE) as pool:
        copies = pool.map(lambda one: objects.copy(one.stat.path, one.target), missing)
        for done, _ in enumerate(copies, start=len(left) - len(missing) + 1):
            on_progress(done, len(left))


def _is_measured(name: str) -> bool:
    is_of_rank = is_card_file(name) or is_reported_file(name) or step_file_node(name) is not None
    return is_result_file(name) or is_of_rank or is_passport_file(name)


def _iter_left_files(objects: ObjectStore, run: Run, earlier: Run, profile: Profile) -> Iterator[LeftFile]:
    targets = {channel.name: channel.path for channel in run_paths.list_outputs(run, profile)}
    for position, channel in enumerate(run_paths.list_outputs(earlier, profile)):
        if channel.name not in targets:
            continue
        for stat in objects.list(channel.path):
            name = stat.path.removeprefix(channel.path)
            # Further outputs may lie below the first one; they are copied by their own names.
            is_other = position == 0 and name.partition("/")[0] in targets
            is_measured = position == 0 and _is_measured(name)
            if name and not name.endswith("/") and not is_other and not is_measured:
                yield LeftFile(stat, targets[channel.name] + name)

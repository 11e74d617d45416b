"""The directories in OBS that are one run's own, so that nothing else can be removed in its name."""

from collections.abc import Sequence

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.config.settings import Profile
from aisbench_core.model import Run, RunPart
from aisbench_core.store.run_folders import run_paths

BUCKET = 1  # position in a path /bucket/directory/ that is split at its slashes


def own_directories(run: Run, profile: Profile, part: RunPart) -> tuple[str, ...]:
    """The run's own directories of outputs or logs. Raises SpecError if one of them is not its own.

    A run launched with another prefix or bucket than the profile's present one has other directories, in vain."""
    paths = [run_paths.log_path(run, profile)]
    if part is RunPart.OUTPUTS:
        paths = [output.path for output in run_paths.list_outputs(run, profile)]
    return tuple(dict.fromkeys(own_directory(path, run) for path in paths))


def own_directory(path: str, run: Run) -> str:
    """The directory named after the run's job that a path leads to or through. Raises SpecError if there is none.

    A job's name holds the run's id, so no other run of any console writes there; all of API v1's versions are in it."""
    names = path.split("/")
    directories = names[BUCKET + 1 : -1]
    is_named = bool(run.run_id) and run.job_name.endswith(f"-{run.run_id}") and run.job_name in directories
    is_whole = names[0] == "" and names[-1] == "" and all(map(_is_plain, names[1:-1]))
    if not is_named or not is_whole:
        reason = Message("only the directory that is named after the run's job can be removed")
        raise SpecError(Message("run {run_id}", run_id=run.run_id), [Problem("path", reason, path)])
    last = names.index(run.job_name, BUCKET + 1)
    return "/".join(names[: last + 1]) + "/"


def _is_plain(name: str) -> bool:
    return name not in ("", ".", "..") and name.isprintable()


def has_overlap(paths: Sequence[str], others: Sequence[str]) -> bool:
    """Whether a directory of one list is, or contains, one of the other."""
    return any(a.startswith(b) or b.startswith(a) for a in paths for b in others)

"""Which files of this machine a spec may name: launching uploads them, and the job can print them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from aisbench_core.access.permissions import has_role
from aisbench_core.errors import NotAllowed
from aisbench_core.messages import Message
from aisbench_core.model import Actor, Role, RunSpec


def require_open_files(spec: RunSpec, actor: Actor, open_folders: Sequence[Path]) -> None:
    """Raise NotAllowed if the spec names a file or folder that this actor may not read through a job.

    `open_folders`: whose files everybody who may launch may name; admins may name all, as they can read all."""
    if has_role(actor, Role.ADMIN):
        return
    for field, path in _paths(spec):
        # Resolved, or a link or `..` would lead out of an open folder.
        real = Path(path).expanduser().resolve()
        if not any(real.is_relative_to(folder.resolve()) for folder in open_folders):
            raise NotAllowed(
                Message("{field} names files on the server", field=field),
                Message("use the code of a workload, or ask an admin to launch it"),
            )


def _paths(spec: RunSpec) -> Iterator[tuple[str, str]]:
    if spec.code_dir:
        yield "code_dir", spec.code_dir
    yield from ((f"update.{package}", path) for package, path in spec.update.packages.items())

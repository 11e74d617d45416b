"""Symbolic links of a node, resolved as the job's processes see them; they never lead to files of this machine."""

import posixpath
from pathlib import Path

from aisbench_sandbox.engine.node.container import ContainerView, host_path

# The number of links that Linux follows before it reports a loop.
_MAX_LINKS = 40


def find_source(root: Path, view: ContainerView | None, file: Path) -> Path | None:
    """The regular file that `file` is or links to, if it is one of the node's own below `root`.

    With a view, links are paths inside the container."""
    path = file
    for _ in range(_MAX_LINKS):
        if root not in path.parents:
            return None
        link = _first_link(root, path)
        if link is None:
            return path if path.is_file() else None
        path = _find_target(root, view, link) / path.relative_to(link)
    return None


def _first_link(root: Path, path: Path) -> Path | None:
    # From the outermost on, as the system does: the target of a link decides where the names after it are looked up.
    within = [part for part in (path, *path.parents) if root in part.parents]
    return next((part for part in reversed(within) if part.is_symlink()), None)


def _find_target(root: Path, view: ContainerView | None, link: Path) -> Path:
    # All links so far are resolved, so `..` can be handled textually
    folder = view.inside(str(link.parent)) if view else str(link.parent)
    target = posixpath.normpath(posixpath.join(folder, link.readlink()))
    return host_path(root, target) if view else Path(target)

"""Symbolic links of a node, read as the job's processes read them; they never lead to files of this machine."""

import posixpath
from pathlib import Path

from aisbench_sandbox.engine.node.container import ContainerView, host_path

_MOST_LINKS = 40
"""As many as Linux follows before it says that they go round in circles."""


def source(root: Path, view: ContainerView | None, file: Path) -> Path | None:
    """The regular file that `file` is or leads to, if it is one of the node's own; all of them are below `root`.

    With a view, links mean paths inside the container."""
    path = file
    for _ in range(_MOST_LINKS):
        if root not in path.parents:
            return None
        link = _first_link(root, path)
        if link is None:
            return path if path.is_file() else None
        path = _target(root, view, link) / path.relative_to(link)
    return None


def _first_link(root: Path, path: Path) -> Path | None:
    within = [part for part in (path, *path.parents) if root in part.parents]
    return next((part for part in reversed(within) if part.is_symlink()), None)


def _target(root: Path, view: ContainerView | None, link: Path) -> Path:
    # Links were followed up to here, so that `..` can be taken from the text
    folder = view.inside(str(link.parent)) if view else str(link.parent)
    target = posixpath.normpath(posixpath.join(folder, link.readlink()))
    return host_path(root, target) if view else Path(target)

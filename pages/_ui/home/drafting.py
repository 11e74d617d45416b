"""Opens the form of a launch with a draft made of a run."""

from collections.abc import Callable, Mapping
from pathlib import Path

from aisbench_core.base.errors import AisbenchError
from aisbench_core.model import RunSpec
from pages._ui.configure import drafts
from pages._ui.shell import navigation
from pages._ui.shell.core import core
from pages._ui.shell.errors import show_error

FindSpec = Callable[[str], RunSpec]


def open_draft(run_id: str, page: Path, selection: Mapping[str, str], find_spec: FindSpec | None = None) -> None:
    """With the run's spec, or with the one that `find_spec` makes of it."""
    try:
        original = core().clones.original(run_id)
        chosen = {**selection, "draft": drafts.clone(original, find_spec(run_id) if find_spec else None)}
    except AisbenchError as error:
        show_error(error)
        return
    if original.profile in core().regions.names():
        chosen["profile"] = original.profile
    navigation.open_page(page, chosen)

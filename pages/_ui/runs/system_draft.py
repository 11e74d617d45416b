"""Changes of a run's system description that are not saved yet: kept in the ledger, so that they survive a reload."""

import json

from aisbench_core.system.described import Described
from pages._ui.shell.browser import own_draft
from pages._ui.shell.callbacks import whole
from pages._ui.shell.core import core

Value = str | int | None


def changes(run_id: str) -> dict[str, Value]:
    """Fields that were changed and not saved, with their new values; an empty one takes a statement back."""
    found: dict[str, Value] = json.loads(core().ledger.draft(_key(run_id)) or "{}")
    return found


def change(run_id: str, described: Described, values: dict[str, Value]) -> None:
    """Keep more changes; what equals the statement that is saved is none."""
    saved = described.stated.values
    merged = {**changes(run_id), **values}
    kept = {name: value for name, value in merged.items() if (value or "") != saved.get(name, "")}
    if kept:
        core().ledger.save_draft(_key(run_id), json.dumps(kept), core().clock())
    else:
        core().ledger.drop_draft(_key(run_id))


def type_in(run_id: str, field: str, value: Value) -> None:
    """Keep what a person enters into a field."""
    change(run_id, core().systems.of(run_id), {field: value})


@whole
def discard_system_draft(run_id: str) -> None:
    """Forget every change that is not saved."""
    core().ledger.drop_draft(_key(run_id))


def _key(run_id: str) -> str:
    return own_draft(f"system-{run_id}.", f"system-{run_id}")

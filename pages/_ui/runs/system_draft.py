"""Unsaved changes of a run's system description: kept in the ledger, so that they survive a reload."""

import json

from aisbench_core.running.systems.descriptions import SystemValues
from pages._ui.shell.browser import own_draft
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.core import core

Value = str | int | None


def read_changes(run_id: str) -> dict[str, Value]:
    """The changed fields with their new values; an empty one withdraws what was stated."""
    values: dict[str, Value] = json.loads(core().ledger.draft(_build_key(run_id)) or "{}")
    return values


def change(run_id: str, described: SystemValues, values: dict[str, Value]) -> None:
    """Add changes; what equals the saved statement is no change."""
    saved = described.stated.values
    merged = {**read_changes(run_id), **values}
    changed = {name: value for name, value in merged.items() if (value or "") != saved.get(name, "")}
    if changed:
        core().ledger.save_draft(_build_key(run_id), json.dumps(changed), core().clock())
    else:
        core().ledger.drop_draft(_build_key(run_id))


@repeat_if_aborted
def discard_system_draft(run_id: str) -> None:
    core().ledger.drop_draft(_build_key(run_id))


def _build_key(run_id: str) -> str:
    return own_draft(f"system-{run_id}.", f"system-{run_id}")

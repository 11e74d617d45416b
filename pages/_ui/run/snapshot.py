"""The run that a page shows, as it is now."""

from aisbench_core.running.progress.snapshots import RunSnapshot
from pages._ui.shell.core import core, ledger_answer


def read_snapshot(run_id: str) -> RunSnapshot:
    """The same for everybody who looks at the run. Raises what reading the ledger raises."""
    run, progress = ledger_answer(core().ledger.get, run_id), ledger_answer(core().ledger.progress, run_id)
    return core().snapshots.of(run, progress)

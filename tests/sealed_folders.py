"""Where tests import results to: folders with a ledger and an audit of their own."""

from pathlib import Path

from aisbench_core.base.clock import utc_now
from aisbench_core.exchange.importing.saving import SealedFolders
from aisbench_core.store.audit.audit import Audit
from aisbench_core.store.audit.audit_heads import AuditHeads
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.seals.service import Seals
from tests.actors import TESTER


def sealed_folders(runs: Path) -> SealedFolders:
    """The folders in `runs`, whose seals are in a ledger beside it."""
    ledger, folders = Ledger(runs.parent / "ledger.sqlite3"), RunFolders(runs)
    audit = Audit(ledger, 0, utc_now, AuditHeads(runs.parent / "audit-heads.json", ""))
    return SealedFolders(folders, Seals(ledger, folders, audit, utc_now), TESTER)

"""What a backup says of itself; it is the archive's last file, so an archive without it is not whole."""

from collections.abc import Mapping
from datetime import datetime

from aisbench_core.model import Frozen
from aisbench_core.store.audit.audit_heads import AuditHead

MANIFEST = "aisbench-backup.json"


class BackupManifest(Frozen):
    """When a backup was made, and the number of recorded runs in it.

    `with_ledger`, `with_warehouse`: whether it has them; a team's have backups of their own. `audit`: the
    newest entry of the audit in it; None if there was none, or in backups of earlier versions. `rewritten`: the files
    of run folders that changed meanwhile and were archived again, by run; what the archive holds beside is older."""

    created_at: datetime
    runs: int
    with_warehouse: bool
    with_ledger: bool = True
    audit: AuditHead | None = None
    rewritten: Mapping[str, tuple[str, ...]] = {}
    format: int = 1

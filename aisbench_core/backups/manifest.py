"""What a backup says of itself; it is the archive's last file, so an archive without it is not whole."""

from datetime import datetime

from aisbench_core.model import Frozen

MANIFEST = "aisbench-backup.json"


class BackupManifest(Frozen):
    """When a backup was made, and the number of recorded runs in it.

    `with_warehouse`: whether it has the warehouse; a team's has backups of its own."""

    created_at: datetime
    runs: int
    with_warehouse: bool
    format: int = 1

"""Run folders of a development version: files and keys of records under the names of today, and sealed so."""

import json
import logging
from dataclasses import dataclass
from typing import Any

from aisbench_core.base.errors import ResultError
from aisbench_core.base.private_files import write_whole
from aisbench_core.domain.results.record import ANNOTATIONS_FILE
from aisbench_core.maintenance.upgrading.stop_causes import find_stop_cause
from aisbench_core.model import Actor
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.seals.service import Seals

FORMER_ANNOTATIONS = "remarks.jsonl"

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunFolderUpgrade:
    """Upgrades all run folders; can be killed and repeated at any time."""

    folders: RunFolders
    ledger: Ledger
    seals: Seals

    def upgrade_folders(self, by: Actor) -> None:
        """Rename and rewrite what has former names. Damaged and changed files stay. Raises CloudError, ConfigError."""
        for run_id, error in self.folders.fetch_all():
            LOG.warning("run %s: %s", run_id, error)
        for path in sorted(self.folders.runs_dir.glob("*/")):
            self._rename_annotations(path.name)
            self._rewrite_record(path.name, by)

    def _rename_annotations(self, run_id: str) -> None:
        folder = self.folders.path(run_id).path
        former, file = folder / FORMER_ANNOTATIONS, folder / ANNOTATIONS_FILE
        if former.exists():
            self.folders.update(run_id, [file.name], lambda: write_whole(file, former.read_bytes()))
            former.unlink()
            self.folders.remove(run_id, [former.name])

    def _rewrite_record(self, run_id: str, by: Actor) -> None:
        file, run = self.folders.path(run_id).record, self.ledger.find(run_id)
        if not file.exists() or (run and not run.state.is_terminal):  # its follower writes it anew
            return
        content = file.read_bytes()
        renamed = rename_keys(content)
        if renamed == content:
            return
        try:
            with self.seals.seal_changes(run_id, [file.name], by):
                self.folders.update(run_id, [file.name], lambda: write_whole(file, renamed))
        except ResultError as error:
            LOG.warning("run %s: %s", run_id, error)


def rename_keys(content: bytes) -> bytes:
    """The content of a record's file with the keys of today; unchanged if it has them, or is damaged."""
    try:
        record: dict[str, Any] = json.loads(content)
        run, imported = record["run"], record.get("imported")
        if "verdict" not in run:
            return content
        run["final_state"] = run.pop("verdict")
        cause = find_stop_cause(run.get("detail_data", ""))
        run["stop_cause"] = cause and {"kind": cause.kind, "value": cause.value}
        if imported:
            imported["details"] = imported.pop("told", [])
    except (ValueError, LookupError, TypeError, AttributeError):
        return content
    record.pop("remarks", None)
    return json.dumps(record, ensure_ascii=False, indent=2).encode()

"""Machines that share a ledger and a bucket and no file system, for tests of published run folders."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from aisbench_core.base.errors import CloudUnavailable, ResultError
from aisbench_core.base.messages import make_verbatim
from aisbench_core.cloud.ports import ObjectStat, ObjectStore
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.cache import CacheLocks
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.ledger import FileLedger
from aisbench_core.store.run_folders.parts import FolderPart
from aisbench_core.store.run_folders.published import PublishedFiles
from tests.memory_store import MemoryStore

RUN = "r20260101-000000-aaaaaa"
DIRECTORY = "/team/bench/runs/"
LOG = "logs/worker-0.log"


class Bucket(MemoryStore):
    """Remembers what was sent and read, in bytes, and may be out of reach."""

    def __init__(self) -> None:
        super().__init__({})
        self.sent = self.read_bytes = 0
        self.etags: dict[str, str] = {}  # of objects whose ETag is not their MD5
        self.is_away = False

    def list(self, prefix: str) -> Sequence[ObjectStat]:
        return [replace(stat, etag=self.etags.get(stat.path, stat.etag)) for stat in super().list(prefix)]

    def put(self, path: str, source: Path | bytes) -> ObjectStat:
        self._answer()
        stat = super().put(path, source)
        self.sent += stat.size
        return stat

    def read(self, path: str, start: int = 0) -> bytes:
        self._answer()
        content = super().read(path, start)
        self.read_bytes += len(content)
        return content

    def _answer(self) -> None:
        if self.is_away:
            raise CloudUnavailable(make_verbatim("no route to host"), operation=make_verbatim("reach OBS"))


class Machine:
    """One of them."""

    def __init__(self, folder: Path, ledger: Ledger, bucket: ObjectStore, patience: float = 60.0) -> None:
        rows = FileLedger(ledger)
        locks = CacheLocks(folder / "publishing", patience)
        self.published = PublishedFiles(folder / "runs", DIRECTORY, rows, lambda: bucket, locks)
        self.folders = RunFolders(folder / "runs", self.published)
        self.folder = folder / "runs" / RUN

    def write(self, name: str, content: bytes) -> None:
        """As atomic writers do."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(".draft")
        draft.write_bytes(content)
        draft.replace(file)

    def append(self, name: str, content: bytes) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as out:
            out.write(content)

    def read(self, name: str) -> bytes | None:
        file = self.folder / name
        return file.read_bytes() if file.exists() else None

    def publish(self) -> None:
        self.folders.publish(RUN)

    def fetch(self, part: FolderPart = FolderPart.ALL) -> list[ResultError]:
        return self.folders.fetch(RUN, part)

"""Seals run folders whenever this console writes to them, in the ledger and its audit."""

import hashlib
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from aisbench_core.base.errors import AisbenchError, ResultError, StaleRun, full_disks_named
from aisbench_core.base.formats import format_size
from aisbench_core.base.messages import Hint, Message, join_parts
from aisbench_core.domain.access.audit_entry import Act, ActOutcome
from aisbench_core.domain.access.permissions import role_of
from aisbench_core.model import Actor, Clock, WayIn
from aisbench_core.store.audit.audit import Audit
from aisbench_core.store.ledger.database.connection import LedgerConnection
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.parts import STATED_FILES, FolderPart
from aisbench_core.store.seals import ledger as stored
from aisbench_core.store.seals.ledger import COLLECTED, Seal, read_seal, store_seal
from aisbench_core.store.seals.manifest import (
    LAUNCHED_FILES,
    RESOLVED_FILE,
    SealedFile,
    in_order,
    read_manifest,
    seal_file,
)

LOG = logging.getLogger(__name__)

RESTORE = Message("restore its folder from a backup")

NAMED = 8  # files that a sentence names

BATCH = 400  # seals per transaction


@dataclass(frozen=True, slots=True)
class Seals:
    """Threads and processes may share it."""

    ledger: Ledger
    folders: RunFolders
    audit: Audit
    clock: Clock

    def seal_launched(self, run_id: str, by: Actor) -> None:
        """Seal what a launch has written. An error is logged: the run is stored, and would be launched again."""
        try:
            self._seal_launched(run_id, by)
        except AisbenchError:
            LOG.exception("run %s: what its launch wrote is not sealed", run_id)

    def _seal_launched(self, run_id: str, by: Actor) -> None:
        folder = self.folders.path(run_id).path
        files = in_order(seal_file(folder, name) for name in LAUNCHED_FILES if (folder / name).is_file())
        seal = Seal(run_id, 0, files, is_recorded=False)
        self._store_seals(lambda _: [(seal, self._make_act(stored.LAUNCHED, seal, by))])

    def seal_recorded(self, run_ids: Iterable[str], by: Actor | None = None) -> None:
        """Seal whole folders of runs that are being recorded, by a follower if `by` is None.

        Raises StaleRun to a follower if what was hashed of the launch, or of the system description, is not as it was
        sealed, or the record not as it was written: its step is repeated, which finds what somebody stated meanwhile,
        names the files, or writes the record anew."""
        remaining = iter(run_ids)
        while some := list(islice(remaining, BATCH)):
            folders = [self.folders.path(run_id).path for run_id in some]
            seals = [Seal(folder.name, 0, read_manifest(folder), is_recorded=True) for folder in folders]
            self._store_seals(partial(self._iterate_recorded, seals=seals, by=by))

    def seal_found(self, run_ids: Iterable[str], by: Actor, read: Callable[[str], object]) -> dict[str, ResultError]:
        """Seal folders that have no seal. Where folders are published, all files of each are fetched first.

        `read` reads a folder's record, and raises ResultError if it must not be believed: what was hashed before is
        sealed if it is still there after that. Returns the runs that were left. Raises CloudError and ConfigError."""
        left: dict[str, ResultError] = {}
        remaining = iter(run_ids)
        while some := list(islice(remaining, BATCH)):
            seals = []
            for run_id in some:
                try:
                    seals.append(self._read_seal(run_id, read))
                except ResultError as error:
                    LOG.warning("run %s is not sealed: %s", run_id, error)
                    left[run_id] = error
            self._store_seals(partial(self._iterate_recorded, seals=seals, by=by))
        return left

    def _read_seal(self, run_id: str, read: Callable[[str], object]) -> Seal:
        for error in self.folders.fetch(run_id):
            raise error
        folder = self.folders.path(run_id).path
        files = read_manifest(folder)
        read(run_id)
        if changed := [
            file.name for file in files if FolderPart.RECORD.holds(file.name) and not is_same(file, folder, file.name)
        ]:
            raise changed_files(changed, Message("it was changed while it was checked: check it again"))
        return Seal(run_id, 0, files, is_recorded=True)

    def _iterate_recorded(
        self, con: LedgerConnection, seals: Sequence[Seal], by: Actor | None
    ) -> Iterator[tuple[Seal, Act]]:
        for seal in seals:
            before = read_seal(con, seal.run_id)
            if before is None:
                yield seal, self._make_act(stored.RECORDED, seal, by)
                continue
            if by is None:
                self._require_current(seal, before)
            changing = before.changing & frozenset(STATED_FILES)  # somebody may be about to write them
            if before.is_recorded and before.files == seal.files and not before.gone_at:
                store_seal(con, replace(before, changing=changing, expected=()))  # the step is repeated
                continue
            after = replace(seal, removed=_filter_removed(before.removed, seal), changing=changing)
            yield after, self._make_act(stored.RECORDED, seal, by, before)

    def _require_current(self, seal: Seal, before: Seal) -> None:
        """Raise StaleRun if files are not as the earlier seal says, or not as the follower was about to write them."""
        folder, sealed, hashed = self.folders.path(seal.run_id).path, before.by_name, seal.by_name
        for name in (*LAUNCHED_FILES, RESOLVED_FILE):
            if name in before.changing or sealed.get(name) == hashed.get(name):
                continue
            if name in sealed or name == RESOLVED_FILE or not (folder / name).exists():
                raise _given_up(seal)
        if any(hashed.get(file.name) != file for file in before.expected):
            LOG.warning(
                "run %s: what collecting wrote was changed before it was sealed; it is collected again", seal.run_id
            )
            raise _given_up(seal)

    def begin_collecting(self, run_id: str) -> bytes | None:
        """Note that a follower is about to collect, which may be given up with only some files written.

        Returns the record of an earlier collecting; None without one, or if something else wrote what is there.
        Raises ResultError if a file of the launch, or of the system description, was changed by something else."""
        self._require_unchanged(run_id, (*LAUNCHED_FILES, RESOLVED_FILE))
        self._remove_unsealed(run_id)
        self._note_changing(run_id, [COLLECTED])
        return self._read_record(run_id)

    def _read_record(self, run_id: str) -> bytes | None:
        """A run's record as it was sealed, or was about to be written; of a run without a seal, whatever is there."""
        file = self.folders.path(run_id).record
        try:
            content = file.read_bytes()
        except OSError:
            return None
        with self.ledger.connection() as con:
            seal = read_seal(con, run_id)
        return content if seal is None or _of_content(file.name, content) in seal.versions(file.name) else None

    def _remove_unsealed(self, run_id: str) -> None:
        """Remove a statement of what names stood for that no seal names, so that nothing is known of them.

        Somebody else wrote it, a follower that was killed and never created a job, or a version that did not seal it:
        these cannot be told apart."""
        with self.ledger.connection() as con:
            seal = read_seal(con, run_id)
        if seal is None or RESOLVED_FILE not in seal.by_name or not seal.decides(RESOLVED_FILE):
            with full_disks_named():
                (self.folders.path(run_id).path / RESOLVED_FILE).unlink(missing_ok=True)

    @contextmanager
    def seal_resolved(self, run_id: str, content: bytes | None) -> Iterator[None]:
        """A context in which a follower writes what names stand for, or removes it (None); sealed after it.

        Whoever is killed in between leaves a file that no seal names; the step is repeated."""
        self._note_changing(run_id, [RESOLVED_FILE])
        yield
        files = [] if content is None else [_of_content(RESOLVED_FILE, content)]
        self._change_seals([run_id], stored.CHANGED, None, lambda seal: _with_files(seal, [RESOLVED_FILE], files))

    def expect(self, run_id: str, contents: Mapping[str, bytes]) -> None:
        """Note what is about to be written into these files, so that it is known if the seal is never made."""
        files = in_order(_of_content(name, content) for name, content in contents.items())
        with self.ledger.transaction() as con:
            if seal := read_seal(con, run_id):
                store_seal(con, replace(seal, expected=files))

    @contextmanager
    def seal_changes(self, run_id: str, names: Collection[str], by: Actor) -> Iterator[None]:
        """A context in which the product writes these files of a run, which are sealed anew after it.

        Whoever is killed in between leaves files about which the seal does not decide. Raises ResultError if one was
        changed by something else, and CloudError."""
        for error in self.folders.fetch(run_id, FolderPart.RECORD):
            raise error
        run = self.ledger.find(run_id)
        if run and not run.state.is_terminal:  # its follower writes the others
            names = [name for name in names if name in STATED_FILES]
        if not self._require_unchanged(run_id, names):
            yield
            return
        self._note_changing(run_id, names)
        try:
            yield
        finally:
            folder = self.folders.path(run_id).path
            files = [seal_file(folder, name) for name in names if (folder / name).is_file()]
            self._change_seals([run_id], stored.CHANGED, by, lambda seal: _with_files(seal, names, files))

    def remove_files(self, run_id: str, is_removed: Callable[[str], bool], by: Actor) -> None:
        """Note that files are about to be removed."""
        self._change_seals([run_id], stored.FILES_REMOVED, by, lambda seal: _remove_from_seal(seal, is_removed))

    def remove_folders(self, run_ids: Iterable[str], by: Actor) -> None:
        """Note that whole folders were removed."""
        at, who = self.clock(), by.name

        def without_folder(seal: Seal) -> Seal:
            return Seal(seal.run_id, 0, (), seal.is_recorded, removed=seal.files, gone_at=at, gone_by=who)

        remaining = iter(run_ids)
        while some := list(islice(remaining, BATCH)):
            self._change_seals(some, stored.FOLDER_REMOVED, by, without_folder)

    def _require_unchanged(self, run_id: str, names: Collection[str]) -> bool:
        """Whether the run is sealed. Raises ResultError."""
        with self.ledger.connection() as con:
            seal = read_seal(con, run_id)
        if seal is None or seal.gone_at:
            return False
        folder = self.folders.path(run_id).path
        sealed = seal.by_name
        changed = [
            difference_of(sealed[name], folder)
            for name in names
            if name in sealed and seal.decides(name)
            if not any(is_same(version, folder, name) for version in seal.versions(name))
        ]
        if changed:
            raise changed_files(changed)
        return True

    def _note_changing(self, run_id: str, names: Collection[str]) -> None:
        with self.ledger.transaction() as con:
            seal = read_seal(con, run_id)
            if seal and not seal.changing.issuperset(names):
                store_seal(con, replace(seal, changing=seal.changing | frozenset(names)))

    def _change_seals(
        self, run_ids: Iterable[str], change: str, by: Actor | None, work: Callable[[Seal], Seal]
    ) -> None:
        """Store what becomes of the seals of these runs, as far as they have one."""

        def changes(con: LedgerConnection) -> Iterator[tuple[Seal, Act]]:
            for before in filter(None, [read_seal(con, run_id) for run_id in run_ids]):
                after = work(before)
                if (after.files, after.gone_at) == (before.files, before.gone_at):
                    store_seal(con, after)
                else:
                    yield after, self._make_act(change, after, by, before)

        self._store_seals(changes)

    def _store_seals(self, work: Callable[[LedgerConnection], Iterable[tuple[Seal, Act]]]) -> None:
        """Store seals with an entry of the audit for each."""
        with self.ledger.transaction() as con:
            changes = list(work(con))
            if not changes:
                return
            head = self.audit.append(con, [act for _, act in changes])
            for number, (seal, _) in enumerate(changes, start=head.number - len(changes) + 1):
                store_seal(con, replace(seal, entry=number))
        self.audit.store_head(head)

    def _make_act(self, change: str, seal: Seal, by: Actor | None, before: Seal | None = None) -> Act:
        detail = f"{len(seal.files)} files, {format_size(sum(file.size for file in seal.files))}"
        who = (by.name, role_of(by) or "", by.via) if by else ("aisbench", "", WayIn.FOLLOWER)
        said = (before.statement if before else "", seal.statement, detail if seal.files else "")
        return Act(*who, change, seal.run_id, ActOutcome.DONE, *said)


def is_same(sealed: SealedFile, folder: Path, name: str) -> bool:
    """Whether a file is as it was sealed; the size is looked at first."""
    file = folder / name
    try:
        return file.stat().st_size == sealed.size and not file.is_symlink() and seal_file(folder, name) == sealed
    except OSError:
        return False


def difference_of(sealed: SealedFile, folder: Path) -> Message:
    """What is wrong with a file that is not as it was sealed. A link is no file of a folder."""
    file = folder / sealed.name
    if file.is_file() and not file.is_symlink():
        return Message("{file} (changed)", file=sealed.name)
    return Message("{file} (missing)", file=sealed.name)


def changed_files(names: Sequence[str], hint: Hint = RESTORE) -> ResultError:
    """The error for files that are not as they were recorded."""
    more = [Message("and {count} more", count=len(names) - NAMED)] if len(names) > NAMED else []
    files = join_parts(", ", [*names[:NAMED], *more])
    return ResultError(Message("files differ from what was recorded: {files}", files=files), hint)


def _given_up(seal: Seal) -> StaleRun:
    return StaleRun(Message("run {run_id} was given up by this follower", run_id=seal.run_id))


def _of_content(name: str, content: bytes) -> SealedFile:
    return SealedFile(name, len(content), hashlib.sha256(content).hexdigest())


def _with_files(seal: Seal, names: Collection[str], files: Iterable[SealedFile]) -> Seal:
    others = [file for file in seal.files if file.name not in names]
    expected = tuple(file for file in seal.expected if file.name not in names)
    return replace(
        seal, files=in_order([*others, *files]), changing=seal.changing - frozenset(names), expected=expected
    )


def _remove_from_seal(seal: Seal, is_removed: Callable[[str], bool]) -> Seal:
    gone = [file for file in seal.files if is_removed(file.name)]
    left = tuple(file for file in seal.files if not is_removed(file.name))
    return replace(seal, files=left, removed=(*seal.removed, *gone))


def _filter_removed(removed: Sequence[SealedFile], seal: Seal) -> tuple[SealedFile, ...]:
    """Those of the removed files that are not there again."""
    return tuple(file for file in removed if file.name not in seal.by_name)

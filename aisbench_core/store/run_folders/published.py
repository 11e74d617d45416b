"""The published files of runs: fetched into a copy here, and sent from it. OBS holds the bytes, the ledger the truth.

A file is there as soon as its row is: a writer sends objects first, then stores the row, then deletes objects that the
row no longer names. Killed in between, it leaves an object that nobody reads, which the end of the run clears away."""

import secrets
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from aisbench_core.base.errors import CloudUnavailable, ResultError
from aisbench_core.base.messages import Message
from aisbench_core.cloud.ports import ObjectStore
from aisbench_core.store.run_folders.cache import (
    CachedFile,
    CacheFolder,
    CacheLocks,
    find_matching_pieces,
    is_plain,
    stat_of,
)
from aisbench_core.store.run_folders.ledger import FileLedger, StaleFile
from aisbench_core.store.run_folders.pieces import PublishedFile, files_of, stale_objects
from aisbench_core.store.run_folders.transfers import RunObjects, at_once

GROWING = ("logs/", "steps/", "summaries/")
"""Directories of files that grow in place; all other files are replaced."""

FETCH_TRIES = 20
"""How often a file is fetched again that is replaced while it is fetched."""

Cached = dict[str, CachedFile]


@dataclass(frozen=True, slots=True)
class PublishedFiles:
    """Files of runs on OBS. Threads, processes and machines may share it.

    `objects` gives the store of the bucket, and raises ConfigError where there are no keys; `directory` is where all
    runs are: /bucket/prefix/."""

    runs_dir: Path
    directory: str
    rows: FileLedger
    objects: Callable[[], ObjectStore]
    locks: CacheLocks

    def fetch(
        self,
        run_id: str,
        files: Collection[PublishedFile],
        is_part: Callable[[str], bool],
        *,
        wait: bool = True,
    ) -> list[Exception]:
        """Bring the copy of a part of a run's folder up to date; `files`: all published ones of that part,
        which `is_part` tells by name.

        A file that was changed here and not yet published stays, unless somebody else published another version.
        Returns the errors of files that could not be fetched; without `wait`, somebody else who
        fetches or sends them is not waited for."""
        with self.locks.turn(run_id, wait=wait) as ours:
            if not ours:
                return [make_busy_error(run_id)] if wait else []
            folder = CacheFolder(self.runs_dir / run_id)
            state = folder.read()
            before = dict(state)
            if {name: cached.file for name, cached in before.items() if is_part(name)} != {f.name: f for f in files}:
                # Another process here may have sent a newer version since `files` were read: it must not be undone.
                files = [file for file in self.rows.of([run_id]).get(run_id, []) if is_part(file.name)]
            missing = [file for file in files if is_plain(file.name) and self._needs_fetch(folder, state, file)]
            self._remove_gone(folder, state, {file.name for file in files}, is_part)
            results = self._get_files(folder, state, missing)
            for file, result in results:
                if isinstance(result, ResultError):  # what is written here next replaces it
                    state[file.name] = CachedFile(file, None)
                elif result is None:
                    state[file.name] = CachedFile(file, stat_of(folder.file(file.name)))
            if state != before:
                folder.write(state)
            return [result for _, result in results if isinstance(result, Exception)]

    def send(self, run_id: str, names: Collection[str] | None = None) -> None:
        """Publish the files of a run (these, or all) that were changed here.

        Raises StaleFile if somebody else published another version of one, CloudError and ConfigError; nothing is
        published then, and everything stays as it is here."""
        with self.locks.turn(run_id) as ours:
            if not ours:
                raise make_busy_error(run_id)
            folder = CacheFolder(self.runs_dir / run_id)
            state = folder.read()
            wanted = folder.names() if names is None else [name for name in names if folder.file(name).is_file()]
            changed = [name for name in wanted if _is_changed(folder, state.get(name), name)]
            if changed:
                self._send_files(run_id, folder, state, changed)

    def remove(self, run_id: str, names: Collection[str]) -> None:
        """Remove files that were removed here. Raises CloudError; then it can be repeated."""
        with self.locks.turn(run_id) as ours:
            if not ours:
                raise make_busy_error(run_id)
            rows = self.rows.of([run_id]).get(run_id, [])
            gone = [file for file in rows if file.name in names]
            if not gone:
                return
            objects = self.of(run_id)
            self.rows.forget(run_id, [file.name for file in gone])
            folder = CacheFolder(self.runs_dir / run_id)
            state = {name: cached for name, cached in folder.read().items() if name not in names}
            folder.write(state)
            objects.delete([name for file in gone for name in file.objects])

    def remove_run(self, run_id: str) -> None:
        """Remove everything that is published of a run. Raises CloudError; then it can be repeated."""
        objects = self.of(run_id)
        self.rows.forget(run_id, [file.name for file in self.rows.of([run_id]).get(run_id, [])])
        objects.delete(objects.names())

    def check(self) -> None:
        """Write, read and delete a small object. Raises CloudError and ConfigError."""
        path = f"{self.directory}.check-{secrets.token_hex(8)}"
        store = self.objects()
        store.put(path, b"aisbench")
        store.read(path)
        store.delete(path)

    def find_damaged(self, run_id: str, names: Collection[str]) -> set[str]:
        """Those of a run's files whose objects are missing or damaged. Raises CloudError and ConfigError."""
        objects = self.of(run_id)
        files = [file for file in self.rows.of([run_id]).get(run_id, []) if file.name in names]
        stats = objects.stats() if files else {}
        return {file.name for file in files if not all(objects.holds(file, piece, stats) for piece in file.pieces)}

    def clear(self, run_id: str) -> None:
        """Delete objects of an ended run that killed writers left. Raises CloudError."""
        objects = self.of(run_id)
        objects.delete_quietly(stale_objects(self.rows.of([run_id]).get(run_id, []), objects.names()))

    def find(self) -> int:
        """Store rows for all runs that the bucket has and the ledger lacks, after a ledger was lost; their number.

        One list of everything that is published. Raises CloudError."""
        names: dict[str, list[str]] = {}
        for page in self.objects().pages(self.directory):
            for stat in page:
                run_id, _, name = stat.path.removeprefix(self.directory).partition("/")
                if name:
                    names.setdefault(run_id, []).append(name)
        known = {run_id for page in self.rows.pages() for run_id in page}
        found = 0
        for run_id in sorted(names.keys() - known):
            files = files_of(run_id, names[run_id])
            self.rows.add(files)
            found += bool(files)
        return found

    def of(self, run_id: str) -> RunObjects:
        """The objects of a run. Raises ConfigError."""
        return RunObjects(self.objects(), f"{self.directory}{run_id}/")

    def _needs_fetch(self, folder: CacheFolder, state: Cached, file: PublishedFile) -> bool:
        """Whether to fetch a file; a copy that turns out to be whole is noted as one."""
        here, cached = stat_of(folder.file(file.name)), state.get(file.name)
        if cached and cached.file == file:
            return here is None
        if cached is None and here is not None and here[2] >= file.size:
            same = find_matching_pieces(folder.file(file.name), file.pieces, appended=False)
            if len(same) == len(file.pieces):  # such as a folder from a backup, or one that was here before
                state[file.name] = CachedFile(file, here if here[2] == file.size else None)
                return False
        return True

    def _get_files(
        self, folder: CacheFolder, state: Cached, files: Iterable[PublishedFile]
    ) -> list[tuple[PublishedFile, Exception | None]]:
        """Fetch files; one that was replaced meanwhile, so that its objects are gone, is fetched as it is now."""
        results = at_once(lambda file: self._get_file(folder, state.get(file.name), file), files)
        for _ in range(FETCH_TRIES):
            damaged = [file for file, result in results if isinstance(result, ResultError)]
            newer = self._find_newer(damaged)
            if not newer:
                break
            again = {file.name for file in newer}
            results = [pair for pair in results if pair[0].name not in again]
            results += at_once(lambda file: self._get_file(folder, state.get(file.name), file), newer)
        return results

    def _find_newer(self, files: Collection[PublishedFile]) -> list[PublishedFile]:
        names = {file.name: file for file in files}
        rows = self.rows.of(list({file.run_id for file in files})) if files else {}
        return [row for each in rows.values() for row in each if row.name in names and row != names[row.name]]

    def _get_file(self, folder: CacheFolder, cached: CachedFile | None, file: PublishedFile) -> None:
        target = folder.file(file.name)
        held = cached.file.pieces if cached and cached.stat and stat_of(target) == cached.stat else ()
        self.of(file.run_id).fetch(file, target, held, grows=file.name.startswith(GROWING))

    def _remove_gone(
        self, folder: CacheFolder, state: Cached, published: Collection[str], is_part: Callable[[str], bool]
    ) -> None:
        """Remove copies of files that somebody removed, unless they were changed here."""
        for name in [name for name in state if is_part(name) and name not in published]:
            cached, file = state.pop(name), folder.file(name)
            if cached.stat is not None and stat_of(file) == cached.stat:
                file.unlink(missing_ok=True)

    def _send_files(self, run_id: str, folder: CacheFolder, state: Cached, changed: Iterable[str]) -> None:
        objects = self.of(run_id)
        stats = {name: stat_of(folder.file(name)) for name in changed}
        before = {name: state[name].file if name in state else PublishedFile(run_id, name, 0, ()) for name in changed}

        def send(name: str) -> PublishedFile:
            cached = state.get(name)
            stat, here = cached.stat if cached else None, stats[name]
            appended = stat is not None and here is not None and stat[0] == here[0] and stat[2] <= here[2]
            return objects.send(folder.file(name), before[name], appended=appended)

        results = at_once(send, changed)
        after = {name: result for name, result in results if isinstance(result, PublishedFile)}
        new = {name: file for name, file in after.items() if file != before[name]}
        sent = [each for name, file in new.items() for each in file.objects - before[name].objects]
        try:
            for _, result in results:
                if isinstance(result, Exception):
                    raise result
            if new:
                self.rows.store(list(new.values()))
        except StaleFile:
            objects.delete_quietly(sent)
            raise
        folder.write(state | {name: CachedFile(file, stats[name]) for name, file in after.items()})
        objects.delete_quietly([each for name, file in new.items() for each in before[name].objects - file.objects])


def _is_changed(folder: CacheFolder, cached: CachedFile | None, name: str) -> bool:
    return cached is None or cached.stat is None or stat_of(folder.file(name)) != cached.stat


def make_busy_error(run_id: str) -> CloudUnavailable:
    """The error of a turn that did not come."""
    return CloudUnavailable(
        Message("the files of run {run_id} are being sent or fetched by another process", run_id=run_id),
        operation=Message("send or fetch files of runs"),
    )

"""The code of a run: its files, one hash over all of them, and the upload of those that OBS does not hold."""

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from aisbench_core.base.errors import CloudRejected, CloudUnavailable, ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.base.messages.file_names import is_utf8
from aisbench_core.base.private_files import write_whole
from aisbench_core.cloud.ports import ObjectStat, ObjectStore, OnProgress
from aisbench_core.domain.access.server_files import code_folder_of, open_within
from aisbench_core.domain.authoring import pre_start
from aisbench_core.domain.authoring.code_folder import NEVER_UPLOADED
from aisbench_core.domain.authoring.workloads import Workload
from aisbench_core.model import RunSpec, canonical_json

BLOCK = 1024 * 1024
# Files whose hashes are remembered, so that launching code again costs a look at each file, not reading it.
REMEMBERED = 20_000

# A file changed later than this many seconds ago is read again: some file systems would tell no second change.
SETTLED_S = 2.0

# Files of a code folder that are open at once while they are sent; a process may have 1,024.
OPEN_AT_ONCE = 100

# By its descriptor, a file is opened again whatever its path leads to by now; Linux alone has that.
_DESCRIPTORS = Path("/proc/self/fd")

# Bytes from which a file is kept once for all code, because sending it again costs minutes and copying it does not.
LARGE = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CodeFile:
    """One file of the code: its path below the code directory, its local path, size in bytes, hashes in hex.

    `within`: the folder in which people may change it, and out of which it must not lead; None for other files."""

    name: str
    source: Path
    size: int
    md5: str
    sha256: str
    within: Path | None = None

    @contextmanager
    def readable(self) -> Iterator[Path]:
        """A path under which the file can be read, and nothing that it is replaced by. Raises ConfigError."""
        if self.within is None or not _DESCRIPTORS.is_dir():
            yield self.source
            return
        with _errors_named():
            handle = open_within(self.source, self.within)
        try:
            yield _DESCRIPTORS / str(handle)
        finally:
            os.close(handle)


@dataclass(frozen=True, slots=True)
class CodeManifest:
    """All files of a run's code, sorted by name."""

    files: tuple[CodeFile, ...]

    @property
    def sha256(self) -> str:
        """SHA-256 (hex) over the names and contents of all files; equal code has equal hashes everywhere."""
        return hashlib.sha256(canonical_json([[file.name, file.sha256] for file in self.files]).encode()).hexdigest()


def read_code(
    spec: RunSpec,
    workload: Workload,
    beside: Mapping[str, Path] = MappingProxyType({}),
    code_folders: Sequence[Path] = (),
) -> CodeManifest:
    """Read the code from the local disk. Raises ConfigError if it cannot be read.

    `beside`: additional files by their path below the code directory; they replace files of the same path.
    `code_folders`: no link leads out of them."""
    folder = Path(spec.code_dir).expanduser()
    with _errors_named():
        sources = dict(_iter_sources(folder))
        for module in workload.reporter_files:
            sources.setdefault(module.name, module)
        sources |= beside
        return CodeManifest(tuple(_code_file(name, source, code_folders) for name, source in sorted(sources.items())))


@contextmanager
def _errors_named() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(
            Message("the code cannot be read: {file}: {why}", file=error.filename, why=error.strerror)
        ) from error


def files_beside(spec: RunSpec, script: Path, passport: Sequence[Path] = ()) -> dict[str, Path]:
    """The files that the console adds to the code: packages, and the script that installs them, written to `script`.

    A ma-pre-start.sh of the user is uploaded under another name, and our script runs it. `passport`: modules that
    capture the nodes of a job whose script does not."""
    modules = passport if spec.code_dir and spec.boot_file and spec.outputs else ()
    if not (modules or pre_start.is_needed(spec)):
        return {}
    own = pre_start.own_script(spec)
    text = pre_start.build_script(spec, with_own=own is not None, with_passport=bool(modules))
    write_whole(script, text.encode())
    extra = {pre_start.get_sibling_path(spec, pre_start.OWN): own} if own else {}
    extra |= {pre_start.get_sibling_path(spec, module.name): module for module in modules}
    return {**pre_start.map_packages(spec), **extra, pre_start.get_sibling_path(spec, pre_start.SCRIPT): script}


def _iter_sources(folder: Path) -> Iterator[tuple[str, Path]]:
    for here, directories, names in os.walk(folder, onerror=_raise_error):
        # Prunes the walk: .git alone may hold 100,000 files.
        directories[:] = [name for name in directories if name not in NEVER_UPLOADED]
        inside = Path(here).relative_to(folder)
        for name in names:
            source = Path(here, name)
            if name not in NEVER_UPLOADED and source.is_file():
                path = (inside / name).as_posix()
                if not is_utf8(path):
                    raise ConfigError(Message("the name of {file} is not UTF-8", file=source), Message("rename it"))
                yield path, source


def _raise_error(error: OSError) -> None:
    raise error


@dataclass(frozen=True, slots=True)
class _OpenFile:
    """A file that was opened: its path and state (device, inode, size, times in ns), which tell its content."""

    source: Path
    state: tuple[int, ...]
    handle: int = field(compare=False)


def _code_file(name: str, source: Path, code_folders: Sequence[Path]) -> CodeFile:
    within = code_folder_of(source, code_folders)
    handle = open_within(source, within) if within else os.open(source, os.O_RDONLY)
    try:
        facts = os.fstat(handle)
        age = time.time() - max(facts.st_mtime, facts.st_ctime)
        hashes = _compute_hashes if age > SETTLED_S else _compute_hashes.__wrapped__
        state = (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
        size, md5, sha256 = hashes(_OpenFile(source, state, handle))
    finally:
        os.close(handle)
    return CodeFile(name, source, size, md5, sha256, within)


@lru_cache(REMEMBERED)
def _compute_hashes(opened: _OpenFile) -> tuple[int, str, str]:
    """Size in bytes, MD5 and SHA-256 in hex."""
    md5, sha256 = hashlib.md5(usedforsecurity=False), hashlib.sha256()  # MD5: OBS answers with it
    size = 0
    while block := os.read(opened.handle, BLOCK):
        md5.update(block)
        sha256.update(block)
        size += len(block)
    return size, md5.hexdigest(), sha256.hexdigest()


def upload_code(objects: ObjectStore, code: CodeManifest, directory: str, shared: str, on_progress: OnProgress) -> int:
    """Make `directory` in OBS equal to the code; returns the number of files sent or copied.

    Large files, such as packages, are sent once to `shared`, in a directory named by their hash, and copied inside OBS.
    Raises CloudUnavailable when the directory differs afterwards: a file was edited meanwhile, or got lost."""
    missing = _find_missing(objects, code, directory)
    on_progress(len(code.files) - len(missing), len(code.files))
    if not missing:
        return 0
    there = len(code.files) - len(missing)
    large = {
        file.name: f"{shared}{file.sha256}/{PurePosixPath(file.name).name}" for file in missing if file.size >= LARGE
    }
    sent = [file for file in missing if file.name not in large or not _is_equal(file, objects.head(large[file.name]))]
    copied = len(missing) - len(sent)
    _send_files(
        objects,
        [(large.get(file.name, directory + file.name), file) for file in sent],
        lambda done: on_progress(there + copied + done, len(code.files)),
    )
    for file in missing:
        if file.name in large:
            try:
                objects.copy(large[file.name], directory + file.name)
            except CloudRejected:  # an OBS that refuses to copy
                with file.readable() as source:
                    objects.put(directory + file.name, source)
    lost = _find_missing(objects, code, directory)
    if lost:
        raise CloudUnavailable(
            Message(
                "{lost} of {count} files are not as they were sent, first of all {file}",
                lost=len(lost),
                count=len(missing),
                file=lost[0].name,
            ),
            operation=Message("upload code"),
            hint=Message("it is tried again; do not edit the code while it is uploaded"),
        )
    return len(missing)


def _send_files(objects: ObjectStore, files: Sequence[tuple[str, CodeFile]], on_sent: Callable[[int], None]) -> None:
    for first in range(0, len(files), OPEN_AT_ONCE):
        _send_open(objects, files[first : first + OPEN_AT_ONCE], first, on_sent)


def _send_open(
    objects: ObjectStore, files: Sequence[tuple[str, CodeFile]], first: int, on_sent: Callable[[int], None]
) -> None:
    with ExitStack() as opened:
        pairs = [(path, opened.enter_context(file.readable())) for path, file in files]
        objects.put_many(pairs, lambda done, _: on_sent(first + done))


def _find_missing(objects: ObjectStore, code: CodeManifest, directory: str) -> list[CodeFile]:
    stored = {stat.path.removeprefix(directory): stat for stat in objects.list(directory)}
    return [file for file in code.files if not _is_equal(file, stored.get(file.name))]


def _is_equal(file: CodeFile, stat: ObjectStat | None) -> bool:
    # The ETag of a multipart upload holds a "-" and is no MD5 of the file; each part was verified by itself.
    return stat is not None and stat.size == file.size and ("-" in stat.etag or stat.etag == file.md5)

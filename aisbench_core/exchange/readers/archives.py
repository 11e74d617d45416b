"""Opens files of folders and archives one by one, without unpacking them to disk, within limits."""

import gzip
import io
import os
import shutil
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from aisbench_core.base.errors import ResultError
from aisbench_core.base.messages import Message
from aisbench_core.base.messages.file_names import readable_name
from aisbench_core.exchange.readers.lines import Readable
from aisbench_core.exchange.readers.names import is_hidden
from aisbench_core.exchange.readers.results import InputFile, Unread

MOST_FILES = 200_000
MOST_BYTES = 16 * 1024**3
MOST_IN_MEMORY = 16 * 1024**2  # larger copies go to a temporary file
HEAD = 512  # contains the magic of tar

DAMAGED = (OSError, EOFError, zlib.error, zipfile.BadZipFile, tarfile.TarError)  # the errors of reading a damaged file

# The errors of opening an archive that is damaged, encrypted or crafted.
EXOTIC = (*DAMAGED, NotImplementedError, RuntimeError, ValueError, struct.error)


class TooMuchError(Exception):
    """An archive unpacks to more than MOST_BYTES or MOST_FILES; the rest of it is not read."""

    def __init__(self, sentence: Message) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(slots=True)
class UnpackingBudget:
    """The remaining limits of one archive, including those inside it."""

    bytes_left: int = MOST_BYTES
    files_left: int = MOST_FILES

    def spend(self, size: int, files: int = 0) -> None:
        """Count unpacked bytes and files. Raises TooMuchError."""
        self.bytes_left -= size
        self.files_left -= files
        if self.bytes_left < 0:
            raise TooMuchError(Message("it unpacks to more than {number} GiB", number=MOST_BYTES // 1024**3))
        if self.files_left < 0:
            raise TooMuchError(Message("it contains more than {number:,} files", number=MOST_FILES))


@dataclass(slots=True)
class Opened:
    """An open file with its first bytes; valid until the next file is requested."""

    name: str
    head: bytes
    _file: Readable
    _rest: bytes = field(default=b"")

    @classmethod
    def begin(cls, name: str, file: Readable) -> "Opened":
        """Read the head of a file."""
        head = b""
        while len(head) < HEAD and (part := file.read(HEAD - len(head))):
            head += part
        return cls(name, head, file, head)

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; empty at the end. Raises ResultError if the file is damaged."""
        part, self._rest = self._rest[:size], self._rest[size:]
        if len(part) == size:
            return part
        try:
            return part + self._file.read(size - len(part))
        except DAMAGED as error:
            raise ResultError(describe_unreadable(error)) from error

    def whole(self, most: int) -> bytes | None:
        """The rest of the file; None if that is more than `most` bytes."""
        content = b""
        while part := self.read(most + 1 - len(content)):
            content += part
            if len(content) > most:
                return None
        return content

    @contextmanager
    def seekable(self) -> Iterator[BinaryIO]:
        """The file from its first byte as a seekable file, copied to a temporary one if necessary."""
        if isinstance(self._file, io.IOBase) and self._file.seekable():
            self._file.seek(0)
            yield cast("BinaryIO", self._file)
            return
        with tempfile.SpooledTemporaryFile(MOST_IN_MEMORY) as copy:
            while part := self.read(MOST_IN_MEMORY):
                copy.write(part)
            copy.seek(0)
            yield cast("BinaryIO", copy)

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """The path of the file, copied to a temporary one if necessary, for libraries that need a path."""
        name = getattr(self._file, "name", None)
        if isinstance(self._file, io.BufferedReader) and isinstance(name, (str, Path)) and Path(name).is_file():
            yield Path(name)
            return
        with self.seekable() as content, tempfile.NamedTemporaryFile(prefix="aisbench-import-") as copy:
            shutil.copyfileobj(content, copy)
            copy.flush()
            yield Path(copy.name)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was not opened because of its name."""

    name: str


def describe_unreadable(error: Exception) -> Message:
    """Why a file cannot be read."""
    if isinstance(error, ResultError | TooMuchError):
        return error.sentence
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Message("it cannot be read: {reason}", reason=why or Message("it is damaged"))


MOST_DEPTH = 32
MOST_LINKS = 20  # symbolic links that are reported by name; the others are counted

LINK = Message("it is a symbolic link, which is not followed")


def walk_folder(folder: Path) -> Iterator[InputFile | Unread]:
    """The files of a folder, sorted by name, at most MOST_FILES. Links are not followed, hidden files ignored."""
    root = readable_name(folder.name)
    pending = [(folder, "", 0)]
    count = links = 0
    while pending:
        directory, name, depth = pending.pop()
        try:
            with os.scandir(directory) as listing:
                listed = sorted(((readable_name(entry.name), entry) for entry in listing), key=itemgetter(0))
        except OSError as error:
            yield Unread(name or folder.name, Message("it cannot be listed: {reason}", reason=error.strerror))
            continue
        count += len(listed)
        if count > MOST_FILES:
            message = Message("it contains more than {number:,} files: choose a smaller folder", number=MOST_FILES)
            yield Unread(root, message)
            return
        entries = [(part, entry) for part, entry in listed if not is_hidden(part)]
        for part, entry in entries:
            if entry.is_symlink():
                links += 1
                if links <= MOST_LINKS:
                    yield Unread(name + part, LINK)
            elif entry.is_file(follow_symlinks=False):
                yield InputFile(name + part, None, partial(_open_binary, Path(entry.path)))
        folders = [(part, entry) for part, entry in entries if entry.is_dir(follow_symlinks=False)]
        if folders and depth == MOST_DEPTH:
            yield Unread(name, Message("its folders are nested more than {number} deep", number=MOST_DEPTH))
            continue
        pending += [(Path(entry.path), f"{name}{part}/", depth + 1) for part, entry in reversed(folders)]
    if links > MOST_LINKS:
        message = Message("symbolic links that are not followed either: {count}", count=links - MOST_LINKS)
        yield Unread(root, message)


def _open_binary(path: Path) -> BinaryIO:
    return path.open("rb")


MOST_NESTED = 4
MOST_TAR_HEADER = 1024**2
MOST_DIRECTORY = 64 * 1024**2  # bytes of a zip's directory, which zipfile reads at once and into ten times the memory
HARMLESS, MOST_RATIO = 256 * 1024**2, 200  # unpacked bytes, and ratio above them; logs reach 50

_HARD_LINK = Message("it is a link to another file in the archive, which is not followed")
_BOMB = Message("it unpacks to more than {number} times its size", number=MOST_RATIO)
_MOST_END = 22 + 65535 + 20 + 56  # a zip's last record with the longest comment, and the two zip64 records before it

Wanted = Callable[[str], bool]
Opener = Callable[[], IO[bytes]]
Files = Iterator[Opened | Skipped | Unread]

_FOREIGN = {
    b"7z\xbc\xaf\x27\x1c": Message("a 7z archive: pack it as .zip or .tar.gz"),
    b"Rar!": Message("a RAR archive: pack it as .zip or .tar.gz"),
    b"BZh": Message("compressed with bzip2: pack it as .zip or .tar.gz"),
    b"\xfd7zXZ": Message("compressed with xz: pack it as .zip or .tar.gz"),
    b"\x28\xb5\x2f\xfd": Message("compressed with zstd: pack it as .zip or .tar.gz"),
    b"\xd0\xcf\x11\xe0": Message("a workbook of Excel 97 to 2003: save it as .xlsx or as CSV"),
    b"\x7fELF": Message("a program"),
    b"%PDF": Message("a PDF document"),
    b"\x89PNG": Message("a picture"),
}


def unpack_files(files: Iterable[InputFile | Unread], wanted: Wanted) -> Files:
    """Open every file with a wanted name; archives yield the files in them. A file is valid until the next one."""
    for file in files:
        if isinstance(file, Unread):
            yield file
        elif not wanted(file.name):
            yield Skipped(file.name)
        else:
            try:
                with closing(file.open()) as content:
                    yield from unpack_open_file(content, file.name, wanted, UnpackingBudget())
            except EXOTIC as error:
                yield Unread(file.name, describe_unreadable(error))


def unpack_open_file(file: BinaryIO, name: str, wanted: Wanted, budget: UnpackingBudget) -> Files:
    """The same for one open file of any name, which stays open."""
    try:
        yield from _unpack_archive(Opened.begin(name, file), wanted, budget, 0)
    except (TooMuchError, ResultError, *EXOTIC) as error:
        yield Unread(name, describe_unreadable(error))


def _unpack_archive(file: Opened, wanted: Wanted, budget: UnpackingBudget, depth: int) -> Files:
    foreign = next((sentence for magic, sentence in _FOREIGN.items() if file.head.startswith(magic)), "")
    if foreign:
        yield Unread(file.name, Message("it is {kind}", kind=foreign))
    elif not _is_archive(file):
        yield file
    elif depth == MOST_NESTED:
        yield Unread(file.name, Message("it is nested in too many archives: unpack the outer ones"))
    elif file.head.startswith(b"PK"):
        yield from _in_zip(file, wanted, budget, depth + 1)
    elif file.head.startswith(b"\x1f\x8b"):
        packed = _Counted(file)
        content = _Metered(gzip.GzipFile(fileobj=cast("BinaryIO", packed)), budget, packed)
        yield from _unpack_archive(Opened.begin(file.name, content), wanted, budget, depth + 1)
    else:
        yield from _in_tar(file, wanted, budget, depth + 1)


def is_workbook(file: Opened) -> bool:
    """Whether it is an Excel workbook, which is a zip archive as well."""
    return file.head.startswith(b"PK") and file.name.lower().endswith((".xlsx", ".xlsm"))


def _is_archive(file: Opened) -> bool:
    if is_workbook(file):
        return False
    is_tar = file.head[257:262] == b"ustar"
    return is_tar or file.head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b"))  # the others: zip and gzip


def _in_zip(file: Opened, wanted: Wanted, budget: UnpackingBudget, depth: int) -> Files:
    with file.seekable() as content, opened_zip(content) as archive:
        for entry in archive.infolist():
            budget.spend(0, files=1)
            name = _join_member_name(file.name, _zip_name(entry))
            if entry.is_dir() or is_hidden(_zip_name(entry)):
                continue
            if not wanted(name):
                yield Skipped(name)
            elif stat.S_ISLNK(entry.external_attr >> 16):
                yield Unread(name, LINK)
            elif entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                yield Unread(name, Message("it is encrypted, or compressed in an uncommon way: pack it without"))
            elif _is_bomb(entry.file_size, entry.compress_size):
                yield Unread(name, _BOMB)
            else:
                yield from _unpack_member(name, partial(archive.open, entry), wanted, budget, depth)


def opened_zip(content: BinaryIO) -> zipfile.ZipFile:
    """The archive in a file. Raises ResultError if its directory would fill the memory, or has wrong names."""
    if _directory_size(content) > MOST_DIRECTORY:
        raise ResultError(Message("its directory is larger than {number} MB", number=MOST_DIRECTORY // 1024**2))
    try:
        return zipfile.ZipFile(content)
    except UnicodeDecodeError as error:
        raise ResultError(Message("it says that its file names are UTF-8, and they are not: pack it again")) from error


def _directory_size(content: BinaryIO) -> int:
    """The size of a zip's directory by its own account, found as zipfile finds it; 0 if the file is not a zip."""
    content.seek(max(0, content.seek(0, io.SEEK_END) - _MOST_END))
    tail = content.read()
    end = tail.rfind(b"PK\x05\x06")
    content.seek(0)
    if end < 0 or len(tail) < end + 22:
        return 0
    large = end - 20 - 56  # zip64 has a locator of 20 bytes and an end record of 56 before the usual one
    if large >= 0 and tail.startswith(b"PK\x06\x07", end - 20) and tail.startswith(b"PK\x06\x06", large):
        return int.from_bytes(tail[large + 40 : large + 48], "little")
    return int.from_bytes(tail[end + 12 : end + 16], "little")


def _is_bomb(unpacked: int, packed: int) -> bool:
    return unpacked > HARMLESS and unpacked > MOST_RATIO * packed


def _in_tar(file: Opened, wanted: Wanted, budget: UnpackingBudget, depth: int) -> Files:
    with tarfile.open(
        fileobj=cast("BinaryIO", file), mode="r|", tarinfo=_SmallHeader, errorlevel=0, encoding="utf-8"
    ) as archive:
        for entry in archive:
            budget.spend(0, files=1)
            cast("Any", archive).members = []  # tarfile keeps all of them otherwise
            inner = readable_name(entry.name)
            name = _join_member_name(file.name, inner)
            if entry.isdir() or is_hidden(inner):
                continue
            if not entry.isreg():
                yield Unread(
                    name, LINK if entry.issym() else _HARD_LINK if entry.islnk() else Message("it is not a file")
                )
                continue
            if wanted(name):
                content = cast("Callable[[], IO[bytes]]", partial(archive.extractfile, entry))  # of a file never None
                yield from _unpack_member(name, content, wanted, budget, depth)
            else:
                yield Skipped(name)


def _unpack_member(name: str, opener: Opener, wanted: Wanted, budget: UnpackingBudget, depth: int) -> Files:
    try:
        with opener() as content:
            yield from _unpack_archive(Opened.begin(name, _Metered(content, budget)), wanted, budget, depth)
    except (ResultError, *EXOTIC) as error:
        yield Unread(name, describe_unreadable(error))


class _Metered:
    """A file in an archive whose bytes count against the budget."""

    def __init__(self, file: Readable, budget: UnpackingBudget, packed: "_Counted | None" = None) -> None:
        self._file, self._budget, self._packed = file, budget, packed
        self._size = 0

    def read(self, size: int, /) -> bytes:
        part = self._file.read(size)
        self._budget.spend(len(part))
        self._size += len(part)
        if self._packed and _is_bomb(self._size, self._packed.size):
            raise ResultError(_BOMB)
        return part


class _Counted:
    """A packed file, with the number of bytes read."""

    def __init__(self, file: Readable) -> None:
        self._file = file
        self.size = 0

    def read(self, size: int, /) -> bytes:
        part = self._file.read(size)
        self.size += len(part)
        return part


class _SmallHeader(tarfile.TarInfo):
    """Refuses headers that are bombs: tarfile reads long names and notes into memory at once."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_SmallHeader":
        entry = super().frombuf(buf, encoding, errors)
        if entry.type in (*tarfile.GNU_TYPES, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE) and (
            entry.size > MOST_TAR_HEADER and entry.type != tarfile.GNUTYPE_SPARSE
        ):
            raise TooMuchError(Message("it contains a name or comment that is too long"))
        return entry


def _join_member_name(archive: str, name: str) -> str:
    return f"{archive}!{name.replace(chr(92), '/').removeprefix('./').lstrip('/')}"


def _zip_name(entry: zipfile.ZipInfo) -> str:
    """The name of a file in a zip. Without the flag for UTF-8 it may be GBK, from Chinese Windows."""
    if entry.flag_bits & 0x800:  # the name is UTF-8
        return entry.filename
    raw = entry.filename.encode("cp437", "replace")
    for encoding in ("utf-8", "gbk"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return entry.filename

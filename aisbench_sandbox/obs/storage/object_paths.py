"""Maps keys to files, and lists the keys below a folder in byte order."""

# Keys read as paths: `runs/7/train.py` is the file `runs/7/train.py` below its bucket's folder, so a person can
# inspect what a job wrote, or drop a data set in. Names that a file system does not accept are escaped with a percent
# sign, which is itself always `%25` (or part of one of these):
#
#     `.` and `..`        `%2E` and `%2E%2E`
#     the empty name      `%`        (the key `logs/` is the file `logs/%`)
#     a name too long     pieces: every one but the last is a folder whose name ends with `%+`
#     `a` beside `a/b`    the later of the two gets a `%` at its end: the file `a` and the folder `a%`
#
# Files with other names, symbolic links and devices are not objects.

# Strings and os calls, because Path objects would double the cost of a listing:
# ruff: noqa: PTH102, PTH106, PTH120

import os
import re
import stat
from collections.abc import Iterator
from itertools import islice

# Linux and macOS allow 255 bytes in a file name; a piece may get `%+` or `%` at its end.
_PIECE_BYTES = 200
# Nearly all names in practice; they skip the loop over their characters.
_EVERYDAY = re.compile(r"[A-Za-z0-9_\-][A-Za-z0-9_.\-]{0,99}")
_ESCAPES = {"%": "%25", "\0": "%00"}
_ESCAPED = re.compile(r"%(25|00|2E)")


def is_folder(path: str) -> bool:
    return _read_kind(path) == stat.S_IFDIR


def is_file(path: str) -> bool:
    return _read_kind(path) == stat.S_IFREG


def facts_of_file(path: str) -> os.stat_result | None:
    """None if there is no regular file."""
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    return facts if stat.S_ISREG(facts.st_mode) else None


def locate(root: str, key: str) -> str:
    """The path that the object has, or would get. It is always below `root`, whatever the key is."""
    folder, _, name = key.rpartition("/")
    return _find_child(locate_folder(root, folder + "/") if "/" in key else root, name, stat.S_IFREG)


def locate_folder(root: str, prefix: str) -> str:
    """The folder that holds the keys beginning with `prefix`, which is empty or ends with a slash."""
    path = root
    for name in prefix.split("/")[:-1]:
        path = _find_child(path, name, stat.S_IFDIR)
    return path


def make_folders(root: str, path: str) -> None:
    """Make the folders between `root` and the file at `path`."""
    missing = []
    while (path := os.path.dirname(path)) != root and not is_folder(path):
        missing.append(path)
    for folder in reversed(missing):
        os.mkdir(folder)


# OBS has no directories, so those without keys are not kept.
def remove_empty_folders(root: str, path: str) -> None:
    """Remove the empty folders between `root` and `path`."""
    while (path := os.path.dirname(path)) != root:
        try:
            os.rmdir(path)
        # Not empty, or a concurrent put is faster: rmdir decides and removes in one step.
        except OSError:
            return


def walk(root: str, prefix: str = "", after: str = "", *, first_of_folders: bool = False) -> Iterator[tuple[str, str]]:
    """Every (key, path) below `root` whose key begins with `prefix` and comes after `after`, in byte order of keys.

    Folders that hold no such key are not opened. `first_of_folders`: only one key of each folder, which is enough to
    list directories, and does not read the millions that they may hold."""
    base = prefix[: prefix.rfind("/") + 1]
    folder = locate_folder(root, base)
    return _first_keys(folder, base, prefix, after) if first_of_folders else _iterate_keys(folder, base, prefix, after)


def _first_keys(folder: str, base: str, prefix: str, after: str) -> Iterator[tuple[str, str]]:
    for key, below, path in _sort_children(folder, base):
        if key.startswith(prefix) and key > after:
            if below:  # a folder may be empty, or hold only files that are no objects
                yield from islice(_iterate_keys(path, key, prefix, ""), 1)
            else:
                yield key, path


def _iterate_keys(folder: str, base: str, prefix: str, after: str) -> Iterator[tuple[str, str]]:
    # An explicit stack, because a key can be 1,000 folders deep.
    stack = [_sort_children(folder, base)]
    while stack:
        for key, below, path in stack[-1]:
            if not key.startswith(prefix):
                continue
            if below:
                # A directory before the marker is passed over unopened, unless the marker lies inside it.
                if key > after or after.startswith(key):
                    stack.append(_sort_children(path, key))
                    break
            elif key > after:
                yield key, path
        else:
            stack.pop()


def common_prefix(key: str, prefix: str, delimiter: str) -> str:
    """The common prefix that represents the key in a listing, or the key itself."""
    end = key.find(delimiter, len(prefix)) if delimiter else -1
    return key if end < 0 else key[: end + len(delimiter)]


def _read_kind(path: str) -> int:
    try:
        return stat.S_IFMT(os.lstat(path).st_mode)
    except OSError:
        return 0


def _find_child(parent: str, name: str, right_kind: int) -> str:
    *heads, tail = _split_name(name)
    plain = "/".join((parent, *(head + "%+" for head in heads), tail))
    # The plain name first: for nearly every key, one system call finds its file.
    kind = _read_kind(plain)
    if kind == right_kind:
        return plain
    marked = plain + "%"
    # An object that once got the mark keeps it when its neighbour goes; else a put would make a second file for its
    # key.
    return marked if kind or _read_kind(marked) == right_kind else plain


def _split_name(name: str) -> list[str]:
    """The name as one or more names that a file system accepts."""
    if _EVERYDAY.fullmatch(name):
        return [name]
    pieces, size = [""], 0
    for character in name:
        width = len(_ESCAPES.get(character, character).encode())
        if size + width > _PIECE_BYTES:
            pieces.append("")
            size = 0
        pieces[-1] += character
        size += width
    return [_escape_piece(piece) for piece in pieces]


def _escape_piece(piece: str) -> str:
    if piece in (".", ".."):
        return piece.replace(".", "%2E")
    return "".join(_ESCAPES.get(character, character) for character in piece) or "%"


def _unescape_piece(piece: str) -> str:
    return "" if piece == "%" else _ESCAPED.sub(lambda match: chr(int(match[1], 16)), piece)


def _sort_children(folder: str, base: str) -> Iterator[tuple[str, bool, str]]:
    """(key, is it a folder, path) of a folder's entries.

    The key of a folder ends with a slash, so that it sorts like its keys."""
    # OBS lists keys in byte order of UTF-8, which is the order of code points, in which Python sorts text.
    return iter(sorted((base + name + "/" * below, below, path) for name, below, path in _list_children(folder, ())))


def _list_children(folder: str, heads: tuple[str, ...]) -> Iterator[tuple[str, bool, str]]:
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return  # removed meanwhile by a concurrent put or delete
    for entry in entries:
        below = entry.is_dir(follow_symlinks=False)
        if below and entry.name.endswith("%+"):
            yield from _list_children(entry.path, (*heads, entry.name[:-2]))
        elif below or entry.is_file(follow_symlinks=False):
            name = _decode_name((*heads, entry.name))
            if name is not None:
                yield name, below, entry.path


def _decode_name(pieces: tuple[str, ...]) -> str | None:
    """The name encoded in these pieces, or None if `_pieces` would never produce them."""
    *heads, tail = pieces
    tail = tail[:-1] if tail.endswith("%") and len(tail) > 1 else tail
    if not heads and _EVERYDAY.fullmatch(tail):
        return tail
    name = "".join(_unescape_piece(piece) for piece in (*heads, tail))
    try:
        # Only the canonical spelling counts, so that no key is listed twice.
        return name if _split_name(name) == [*heads, tail] else None
    except UnicodeEncodeError:  # a name that is not UTF-8 cannot be a key
        return None

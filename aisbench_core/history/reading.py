"""Where reading old results begins: a path, an upload, or files that somebody lists.

One result at a time comes out, while the input is still being read: memory does not grow with its size. A file that
cannot be read becomes an Unread, and never ends the reading of the others.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import tzinfo
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from aisbench_core.errors import ResultError
from aisbench_core.history.archives import Found, Wanted, is_workbook, opened, unpacked
from aisbench_core.history.exported import exported_rows, is_exported
from aisbench_core.history.folders import walk
from aisbench_core.history.found import UPSTREAM_ZONE, FoundResult, InputFile, Table, Unread
from aisbench_core.history.logs import read_log
from aisbench_core.history.mlflow_runs import columns_of_store, is_store, read_store
from aisbench_core.history.names import is_archive, is_database, is_result_file, is_silent, is_table, is_wanted
from aisbench_core.history.opened import Budget, Opened, Passed, TooMuchError
from aisbench_core.history.result_folders import ResultFolders
from aisbench_core.history.rows import Row, sheets
from aisbench_core.history.stamps import Stamps
from aisbench_core.history.tables import read_exported, read_table, table_in
from aisbench_core.messages import Message

Results = Iterator[FoundResult | Unread]


def read_path(path: Path, mapping: Mapping[str, str] | None = None, zone: tzinfo = UPSTREAM_ZONE) -> Results:
    """Every result in a file, a folder or an archive.

    `mapping` says what columns of tables mean (header → Column, or "" for nothing) where the guess from their headers
    is wrong. Times that name no zone are in `zone`. Raises ResultError when there is nothing at that path, and
    ConfigError when a table has a column whose word in the mapping is none of Column's."""
    return _results(_in_path(path, is_wanted), path.name, mapping or {}, zone)


def read_stream(
    file: BinaryIO, name: str, mapping: Mapping[str, str] | None = None, zone: tzinfo = UPSTREAM_ZONE
) -> Results:
    """The same for a file that is open, as uploads are; it need not be able to seek, and stays open."""
    return _results(opened(file, name, is_wanted, Budget()), name, mapping or {}, zone)


def read_files(
    files: Iterable[InputFile | Unread],
    root: str,
    mapping: Mapping[str, str] | None = None,
    zone: tzinfo = UPSTREAM_ZONE,
) -> Results:
    """The same for files that somebody lists, as those of an OBS directory; `root` is what people call the directory.

    A file is opened only if its name says that it may hold a result. What lies in result folders comes last."""
    return _results(unpacked(files, is_wanted), root, mapping or {}, zone)


def columns_of(path: Path) -> Iterator[Table | Unread]:
    """The columns of every table in a file, a folder or an archive, with what they are taken for."""
    return _tables(_in_path(path, _may_hold_tables))


def columns_of_stream(file: BinaryIO, name: str) -> Iterator[Table | Unread]:
    """The same for a file that is open."""
    return _tables(opened(file, name, _may_hold_tables, Budget()))


def _in_path(path: Path, wanted: Wanted) -> Found:
    if path.is_dir():
        return unpacked(walk(path), wanted)
    if not path.exists():
        raise ResultError(Message("{path} is not there", path=path), Message("name a file, a folder or an archive"))
    return unpacked(
        [InputFile(path.name, None, lambda: path.open("rb"))], lambda name: name == path.name or wanted(name)
    )


def _results(files: Found, root: str, mapping: Mapping[str, str], zone: tzinfo) -> Results:
    folders, others, stamps = ResultFolders(zone), Counter[str](), Stamps()
    for file in files:
        if isinstance(file, Unread):
            yield file
            continue
        folders.note(file.name)
        if isinstance(file, Passed):
            others[PurePosixPath(file.name).suffix or "no ending"] += 1
            continue
        try:
            if is_result_file(file.name):
                folders.add(file)
                continue
            if stamps.take(file):
                continue
            yield from stamps.on(_in_file(file, mapping, zone))
        except (ResultError, TooMuchError) as error:
            yield Unread(file.name, _reason(error))
    yield from stamps.on(folders.results(root))
    if others:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in others.most_common(5))
        yield Unread(
            root, Message("{count} files of other kinds were not opened: {kinds}", count=others.total(), kinds=kinds)
        )


def _in_file(file: Opened, mapping: Mapping[str, str], zone: tzinfo) -> Results:
    if is_exported(file):
        yield from read_exported(exported_rows(file), file.name, zone)
        return
    if is_store(file):
        yield from read_store(file, mapping, zone)
        return
    if is_workbook(file) or is_table(file.name):
        for source, rows in _sheets(file):
            yield from read_table(rows, source, mapping, zone)
        return
    for found in read_log(file, file.name, zone):
        if not (isinstance(found, Unread) and found.is_foreign and is_silent(file.name)):
            yield found


def _tables(files: Found) -> Iterator[Table | Unread]:
    for file in files:
        if isinstance(file, Unread):
            yield file
        elif isinstance(file, Opened) and is_store(file):
            try:
                yield from columns_of_store(file)
            except ResultError as error:
                yield Unread(file.name, error.message)
        elif isinstance(file, Opened) and (is_workbook(file) or is_table(file.name)):
            try:
                for source, rows in _sheets(file):
                    table = table_in(rows, source)
                    yield table or Unread(source, Message("it is empty"))
            except (ResultError, TooMuchError) as error:
                yield Unread(file.name, _reason(error))


def _sheets(file: Opened) -> Iterator[tuple[str, Iterator[Row]]]:
    return ((f"{file.name}!{sheet}" if sheet else file.name, rows) for sheet, rows in sheets(file))


def _may_hold_tables(name: str) -> bool:
    return is_table(name) or is_archive(name) or is_database(name)


def _reason(error: ResultError | TooMuchError) -> str:
    return error.message if isinstance(error, ResultError) else error.sentence

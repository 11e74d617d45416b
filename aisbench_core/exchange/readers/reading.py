"""Entry points for reading results: from a path, an open file, or a list of files.

Results are yielded while the input is read, so that memory does not grow with its size. An unreadable file is an
Unread, and does not prevent reading the others.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from aisbench_core.base.errors import ResultError
from aisbench_core.base.messages import Message, choose_plural
from aisbench_core.base.messages.file_names import readable_name
from aisbench_core.exchange.readers import names
from aisbench_core.exchange.readers.archives import (
    Files,
    Opened,
    Skipped,
    TooMuchError,
    UnpackingBudget,
    Wanted,
    is_workbook,
    unpack_files,
    unpack_open_file,
    walk_folder,
)
from aisbench_core.exchange.readers.inference import is_inference, is_wanted, read_results
from aisbench_core.exchange.readers.logs import read_log
from aisbench_core.exchange.readers.mlflow_runs import columns_of_store, is_store, read_store
from aisbench_core.exchange.readers.mllog import Submissions
from aisbench_core.exchange.readers.result_folders import ResultFolders
from aisbench_core.exchange.readers.results import UPSTREAM_ZONE, InputFile, ParsedResult, Results, Table, Unread
from aisbench_core.exchange.readers.rows import TableSheet, exported_rows, is_exported, read_sheets
from aisbench_core.exchange.readers.tables import read_exported, read_table, table_in
from aisbench_core.warehouse.values.inference import InferenceResult


def read_path(path: Path, mapping: Mapping[str, str] | None = None, zone: tzinfo = UPSTREAM_ZONE) -> Results:
    """Every result in a file, a folder or an archive.

    `mapping` overrides the recognized meanings of table columns (header → ColumnMeaning, or "" for none). `zone` is for
    times without a zone. Raises ResultError if the path does not exist, ConfigError for an unknown meaning."""
    return _iter_results(_files_in(path, names.is_wanted), readable_name(path.name), mapping or {}, zone)


def read_stream(
    file: BinaryIO, name: str, mapping: Mapping[str, str] | None = None, zone: tzinfo = UPSTREAM_ZONE
) -> Results:
    """The same for an open file, which need not be seekable and stays open."""
    return _iter_results(unpack_open_file(file, name, names.is_wanted, UnpackingBudget()), name, mapping or {}, zone)


def read_files(
    files: Iterable[InputFile | Unread],
    root: str,
    mapping: Mapping[str, str] | None = None,
    zone: tzinfo = UPSTREAM_ZONE,
) -> Results:
    """The same for a list of files, such as of an OBS directory; `root` is its display name.

    Only files whose names may contain results are opened. Results of result folders come last."""
    return _iter_results(unpack_files(files, names.is_wanted), root, mapping or {}, zone)


def read_inference_path(path: Path) -> Iterator[InferenceResult | Unread]:
    """Every result of inference in a file, a folder or an archive. Raises ResultError if the path does not exist."""
    return read_results(_files_in(path, is_wanted))


def read_inference_files(files: Iterable[InputFile]) -> Iterator[InferenceResult | Unread]:
    """The same for a list of files."""
    return read_results(unpack_files(files, is_wanted))


def columns_of(path: Path, mapping: Mapping[str, str] | None = None) -> Iterator[Table | Unread]:
    """The columns of every table in a file, a folder or an archive."""
    return _iter_tables(_files_in(path, _may_hold_tables), mapping or {})


def columns_of_stream(file: BinaryIO, name: str, mapping: Mapping[str, str] | None = None) -> Iterator[Table | Unread]:
    """The same for an open file."""
    return _iter_tables(unpack_open_file(file, name, _may_hold_tables, UnpackingBudget()), mapping or {})


def _files_in(path: Path, wanted: Wanted) -> Files:
    if path.is_dir():
        return unpack_files(walk_folder(path), wanted)
    if not path.exists():
        message = Message("{path} does not exist", path=path)
        raise ResultError(message, Message("give the path of a file, a folder or an archive"))
    if not path.is_file():  # a device or a pipe need not end
        message = Message("{path} is neither a file nor a folder, but a pipe, a socket or a device", path=path)
        raise ResultError(message, Message("give the path of a file, a folder or an archive"))
    name = readable_name(path.name)
    return unpack_files([InputFile(name, None, lambda: path.open("rb"))], lambda each: each == name or wanted(each))


def _iter_results(files: Files, root: str, mapping: Mapping[str, str], zone: tzinfo) -> Results:
    folders, skipped, stamps, submissions = ResultFolders(zone), Counter[str](), Stamps(), Submissions()
    for file in files:
        if isinstance(file, Unread):
            yield file
            continue
        folders.add_name(file.name)
        if isinstance(file, Skipped):
            skipped[PurePosixPath(file.name).suffix or "no ending"] += 1
            continue
        try:
            if names.is_result_file(file.name):
                folders.add(file)
                continue
            if stamps.read(file) or submissions.read(file):
                continue
            yield from submissions.hold(stamps.mark(_in_file(file, mapping, zone)))
        except (ResultError, TooMuchError) as error:
            yield Unread(file.name, _describe_error(error))
    yield from submissions.results()
    yield from stamps.mark(folders.results(root))
    if skipped:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in skipped.most_common(5))
        message = choose_plural(
            skipped.total(),
            "{number} file of another kind was not opened: {kinds}",
            "{number} files of other kinds were not opened: {kinds}",
            kinds=kinds,
        )
        yield Unread(root, message)


_INFERENCE = Message("a result of inference, and not of a training: `aisbench inference import` reads it")


def _in_file(file: Opened, mapping: Mapping[str, str], zone: tzinfo) -> Results:
    # By content first: names of exports and stores are up to the user.
    if is_inference(file):
        yield Unread(file.name, _INFERENCE)
        return
    if is_exported(file):
        yield from read_exported(exported_rows(file), file.name, zone)
        return
    if is_store(file):
        yield from read_store(file, mapping, zone)
        return
    if is_workbook(file) or names.is_table(file.name):
        for source, sheet in _iter_sheets(file):
            yield from read_table(sheet, source, mapping, zone)
        return
    for result in read_log(file, file.name, zone):
        if not (isinstance(result, Unread) and result.is_foreign and names.is_unlikely(file.name)):
            yield result


def _iter_tables(files: Files, mapping: Mapping[str, str]) -> Iterator[Table | Unread]:
    for file in files:
        if isinstance(file, Unread):
            yield file
        elif isinstance(file, Opened):
            try:
                yield from _tables_in(file, mapping)
            except (ResultError, TooMuchError) as error:
                yield Unread(file.name, _describe_error(error))


def _tables_in(file: Opened, mapping: Mapping[str, str]) -> Iterator[Table | Unread]:
    if is_inference(file):
        return
    if is_store(file):
        yield from columns_of_store(file, mapping)
    elif is_workbook(file) or names.is_table(file.name):
        for source, sheet in _iter_sheets(file):
            yield table_in(sheet, source, mapping) or Unread(source, Message("it is empty"))


def _iter_sheets(file: Opened) -> Iterator[tuple[str, TableSheet]]:
    return ((f"{file.name}!{sheet.name}" if sheet.name else file.name, sheet) for sheet in read_sheets(file))


def _may_hold_tables(name: str) -> bool:
    return names.is_table(name) or names.is_archive(name) or names.is_database(name)


def _describe_error(error: ResultError | TooMuchError) -> Message:
    return error.message if isinstance(error, ResultError) else error.sentence


MOST_RECORD_BYTES = 16 * 1024 * 1024  # a record of ten thousand cards is a tenth of it

# Files of a console's run folder that say whether the run is a rehearsal.
_WRITTEN = frozenset({"launch.json", "record.json"})


class Stamps:
    """Marks results in copied folders of rehearsals. Files come by name, so that a run's record precedes its block."""

    def __init__(self) -> None:
        self._folders: list[str] = []

    def read(self, file: Opened) -> bool:
        """Read a console's file about a run; False for any other file."""
        name = names.last_part(file.name)
        if name not in _WRITTEN:
            return False
        if _is_rehearsal(file):
            self._folders.append(file.name.removesuffix(name))
        return True

    def mark(self, results: Results) -> Results:
        """The results, those in or below a folder of a rehearsal marked as rehearsals."""
        for result in results:
            if isinstance(result, ParsedResult) and any(
                result.source == folder.rstrip("/!") or result.source.startswith(folder) for folder in self._folders
            ):
                yield replace(result, rehearsal=True)
            else:
                yield result


def _is_rehearsal(file: Opened) -> bool:
    try:
        record = json.loads(file.whole(MOST_RECORD_BYTES) or b"{}")
    except (ResultError, ValueError, RecursionError):  # damaged
        return False
    return isinstance(record, dict) and record.get("rehearsal") is True

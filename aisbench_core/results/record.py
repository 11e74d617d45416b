"""A run's record as text in its folder: written once a run has ended, read to rebuild the warehouse."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from aisbench_core.errors import ResultError
from aisbench_core.model import Event, MetricSample, Remarks, RunRecord
from aisbench_core.private_files import write_whole

Unread = Callable[[str, ResultError], None]
"""Told the id and the error of each run or series whose files are damaged."""

_RECORD = TypeAdapter(RunRecord)
_SAMPLE = TypeAdapter(MetricSample)
_EVENT = TypeAdapter(Event)


def write_record(record: RunRecord, record_file: Path, metrics_file: Path, events_file: Path) -> None:
    """Write a record, each file wholly or not at all; the record itself comes last.

    Of samples and events there is a file only if there are any, or were before."""
    for values, adapter, file in ((record.samples, _SAMPLE, metrics_file), (record.events, _EVENT, events_file)):
        if values or file.exists():
            write_whole(file, _lines(adapter, values))
    write_whole(
        record_file,
        _RECORD.dump_json(replace(record, samples=(), events=(), described=None, remarks=Remarks()), indent=2),
    )


def read_record(record_file: Path, metrics_file: Path, events_file: Path) -> RunRecord:
    """Read a record. Raises ResultError, naming the file, when one is missing or damaged."""
    record = read_outline(record_file)
    return replace(record, samples=tuple(read_samples(metrics_file)), events=tuple(read_lines(_EVENT, events_file)))


def read_outline(record_file: Path) -> RunRecord:
    """A record without its samples and events, which may be long. Raises ResultError as read_record does."""
    try:
        return _RECORD.validate_json(record_file.read_bytes())
    except (OSError, ValidationError) as error:
        raise damaged(inside(record_file), error) from error


def read_samples(metrics_file: Path) -> list[MetricSample]:
    """The samples of a run, as far as they were taken; none when there is no file."""
    return list(read_lines(_SAMPLE, metrics_file))


def write_samples(samples: Iterable[MetricSample], metrics_file: Path) -> None:
    """Keep the samples that were taken so far, in place of those known before."""
    write_whole(metrics_file, _lines(_SAMPLE, samples))


def read_lines(adapter: TypeAdapter[Any], file: Path) -> Iterator[Any]:
    """One value a line. Raises ResultError, naming the line, when one is damaged."""
    if not file.exists():
        return
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise damaged(inside(file), error) from error
    for number, line in enumerate(lines, start=1):
        try:
            yield adapter.validate_json(line)
        except ValidationError as error:
            raise damaged(f"{inside(file)}, line {number}", error) from error


def _lines(adapter: TypeAdapter[Any], values: Iterable[Any]) -> bytes:
    return b"".join(adapter.dump_json(value) + b"\n" for value in values)


def inside(file: Path) -> str:
    """A file's name in its folder."""
    return f"{file.parent.name}/{file.name}"


def damaged(what: str, error: OSError | ValidationError) -> ResultError:
    """What is wrong with a file of a run's or a series' folder, and what to do."""
    hint = "bring the file back from a backup; what the warehouse holds of it stays"
    return ResultError(f"{what} cannot be read: {_why(error)}", hint)


def _why(error: OSError | ValidationError) -> str:
    """What is wrong; of several fields the first, and how many more there are."""
    if isinstance(error, OSError):
        return error.strerror or ""
    first = error.errors(include_url=False, include_context=False)[0]
    field = ".".join(map(str, first["loc"]))
    more = error.error_count() - 1
    return f"{field}: " * bool(field) + first["msg"] + f", and {more} more" * bool(more)

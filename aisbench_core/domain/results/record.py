"""A run's record, annotations and system description as files in its folder, to rebuild the warehouse from.

Messages are stored as English text and, in a second key, as template and values for translation. Files of older
versions lack the second key."""

import errno
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from aisbench_core.base.errors import ResultError, disk_error
from aisbench_core.base.messages import Message, join_parts
from aisbench_core.base.messages.stored import from_json, list_from_json, list_to_json, to_json
from aisbench_core.base.private_files import write_whole
from aisbench_core.model import (
    SYSTEM_FIELDS,
    TESTER_FIELDS,
    AnnotationChange,
    Annotations,
    CollectedResult,
    Event,
    MetricSample,
    Run,
    RunRecord,
    Stated,
    stated_of,
)

Unread = Callable[[str, ResultError], None]
"""Called with the id and the error of each run or series whose files are damaged."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _StoredRun(Run):
    detail_data: str = ""


@dataclass(frozen=True, slots=True)
class _StoredResult(CollectedResult):
    problems_data: str = ""


@dataclass(frozen=True, slots=True)
class _StoredRecord(RunRecord):
    run: _StoredRun
    result: _StoredResult | None


@dataclass(frozen=True, slots=True)
class _StoredEvent(Event):
    message_data: str = ""
    actor_data: str = ""


_RECORD = TypeAdapter(_StoredRecord)
_SAMPLE = TypeAdapter(MetricSample)
_EVENT = TypeAdapter(_StoredEvent)
_CHANGE = TypeAdapter(AnnotationChange)
ANNOTATIONS_FILE = "annotations.jsonl"

_IN_OTHER_FILES = {"samples", "card_samples", "events", "described", "annotations"}

SYSTEM_FILE, TESTER_FILE = "system.json", "config.json"

# Fields with another key in the file: MLPerf's spelling, and upstream's (sic).
FILE_KEYS: Mapping[str, str] = {
    "accelerator_on_chip_memories": "accelerator_on-chip_memories",
    "test_id": "testid",
    "test_mode": "Mode",
    "test_model": "Model",
    "test_division": "Divsion",
    "scenario": "Scenario",
}

_NAMES = {key: name for name, key in FILE_KEYS.items()}


def write_record(record: RunRecord, record_file: Path, metrics_file: Path, events_file: Path) -> None:
    """Write a record, each file atomically; the record itself comes last, so that its presence means complete.

    Files of samples and events are written only if there are any, or were before."""
    events = tuple(
        _copy_as(_StoredEvent, event, message_data=to_json(event.message), actor_data=to_json(event.actor))
        for event in record.events
    )
    for values, adapter, file in ((record.samples, _SAMPLE, metrics_file), (events, _EVENT, events_file)):
        if values or file.exists():
            write_whole(file, _dump_lines(adapter, values))
    write_whole(record_file, dump_record(record))


def dump_record(record: RunRecord) -> bytes:
    """The content of a record's file, without what has files of its own."""
    run = _copy_as(_StoredRun, record.run, detail_data=to_json(record.run.detail))
    result = record.result and _copy_as(
        _StoredResult, record.result, problems_data=list_to_json(record.result.problems)
    )
    stored = _copy_as(_StoredRecord, record, run=run, result=result)
    return _RECORD.dump_json(stored, indent=2, exclude=_IN_OTHER_FILES)


def build_record_schema(generator: type[GenerateJsonSchema]) -> dict[str, Any]:
    """The JSON Schema of a record's file."""
    schema = _RECORD.json_schema(mode="serialization", schema_generator=generator)
    kept = {name: field for name, field in schema["properties"].items() if name not in _IN_OTHER_FILES}
    required = [name for name in schema["required"] if name in kept]
    title = {"$schema": generator.schema_dialect, "title": "record.json of a run"}
    return {**schema, **title, "properties": kept, "required": required}


def read_record(record_file: Path, metrics_file: Path, events_file: Path) -> RunRecord:
    """Read a record. Raises ResultError, naming the file, when one is missing or damaged."""
    record = read_outline(record_file)
    return replace(record, samples=tuple(read_samples(metrics_file)), events=tuple(_iter_stored_events(events_file)))


def read_outline(record_file: Path) -> RunRecord:
    """A record without its samples and events, which may be long. Raises ResultError like read_record."""
    try:
        return parse_outline(record_file.read_bytes())
    except (OSError, ValidationError) as error:
        raise make_damage_error(get_inner_path(record_file), error) from error


def parse_outline(content: bytes) -> RunRecord:
    """The same from the content of a record's file. Raises ValidationError."""
    stored = _RECORD.validate_json(content)
    run = _copy_as(Run, stored.run, detail=from_json(stored.run.detail, stored.run.detail_data))
    result = stored.result and _copy_as(
        CollectedResult,
        stored.result,
        problems=tuple(list_from_json(stored.result.problems, stored.result.problems_data)),
    )
    return _copy_as(RunRecord, stored, run=run, result=result)


def read_samples(metrics_file: Path) -> list[MetricSample]:
    """The samples of a run so far; empty when there is no file."""
    return list(read_lines(_SAMPLE, metrics_file))


def write_samples(samples: Iterable[MetricSample], metrics_file: Path) -> None:
    """Replace the stored samples of a run."""
    write_whole(metrics_file, _dump_lines(_SAMPLE, samples))


def read_lines(adapter: TypeAdapter[Any], file: Path) -> Iterator[Any]:
    """One value per line. Raises ResultError, naming the line, when one is damaged."""
    if not file.exists():
        return
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise make_damage_error(get_inner_path(file), error) from error
    for number, line in enumerate(lines, start=1):
        try:
            yield adapter.validate_json(line)
        except ValidationError as error:
            where = Message("{file}, line {number}", file=get_inner_path(file), number=number)
            raise make_damage_error(where, error) from error


def read_annotations(folder: Path) -> Annotations:
    """The annotations in a run's folder. Raises ResultError, naming the line, when one is damaged."""
    return Annotations.of(read_lines(_CHANGE, folder / ANNOTATIONS_FILE))


def annotations_sha256(changes: Iterable[AnnotationChange]) -> str:
    """The hash of changes in their order, by which the audit knows them."""
    return hashlib.sha256(b"".join(_CHANGE.dump_json(change) + b"\n" for change in changes)).hexdigest()


def add_annotations(folder: Path, changes: Iterable[AnnotationChange]) -> None:
    """Append the changes that the folder does not contain yet."""
    new = set(changes) - set(read_annotations(folder).changes)
    if new:
        _append_lines(folder / ANNOTATIONS_FILE, b"".join(_CHANGE.dump_json(change) + b"\n" for change in sorted(new)))


def file_text(stated: Stated, fields: tuple[str, ...], *, whole: bool) -> str:
    """One of the two files. `whole`: fields without a value are included as empty text, as MLPerf requires."""
    values = stated.values
    content = {FILE_KEYS.get(name, name): values.get(name, "") for name in fields if whole or name in values}
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def write_stated(stated: Stated, folder: Path) -> None:
    """Replace both files; a document without values has no file."""
    for name, names in ((SYSTEM_FILE, SYSTEM_FIELDS), (TESTER_FILE, TESTER_FIELDS)):
        if any(field in stated.values for field in names):
            write_whole(folder / name, file_text(stated, names, whole=False).encode())
        else:
            (folder / name).unlink(missing_ok=True)


def read_stated(folder: Path) -> Stated | None:
    """The description in a folder; None when it has no files. Raises ResultError when one is damaged."""
    files = [file for file in (folder / SYSTEM_FILE, folder / TESTER_FILE) if file.exists()]
    values = {name: value for file in files for name, value in _stated_values(file).items()}
    return stated_of(values) if files else None


def _iter_stored_events(file: Path) -> Iterator[Event]:
    for stored in read_lines(_EVENT, file):
        message, actor = from_json(stored.message, stored.message_data), from_json(stored.actor, stored.actor_data)
        yield _copy_as(Event, stored, message=message, actor=actor)


def _copy_as(kind: type[T], value: Any, **changes: object) -> T:
    """The value as another dataclass: fields of the same name are copied."""
    same = {field.name: getattr(value, field.name) for field in fields(kind) if hasattr(value, field.name)}  # type: ignore[arg-type]  # only of dataclasses
    return kind(**same | changes)


def _dump_lines(adapter: TypeAdapter[Any], values: Iterable[Any]) -> bytes:
    return b"".join(adapter.dump_json(value) + b"\n" for value in values)


def get_inner_path(file: Path) -> str:
    """A file's path from the folder of its run."""
    return f"{file.parent.name}/{file.name}"


def make_damage_error(file: str, error: OSError | ValidationError) -> ResultError:
    """The error for a damaged file of a run's or series' folder."""
    hint = Message("bring the file back from a backup; what the warehouse holds of it stays")
    return ResultError(Message("{what} cannot be read: {reason}", what=file, reason=_describe_error(error)), hint)


def _describe_error(error: Exception) -> str:
    """The first error, and how many more there are."""
    if isinstance(error, OSError):
        return error.strerror or ""
    if not isinstance(error, ValidationError):
        return Message("it is not a JSON object")
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(map(str, first["loc"]))
    text = join_parts(": ", [where, first["msg"]]) if where else str(first["msg"])
    more = error.error_count() - 1
    return Message("{reason}, and {number} more", reason=text, number=more) if more else text


def _append_lines(file: Path, lines: bytes) -> None:
    """One write, so that lines of two processes do not mix. A full disk leaves no partial line."""
    with file.open("ab", buffering=0) as target:
        before = target.seek(0, os.SEEK_END)
        try:
            whole = target.write(lines) == len(lines)
            os.fsync(target.fileno())
        except OSError as error:
            raise disk_error(error, file) or error from error
        if not whole:
            target.truncate(before)
            full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))
            raise disk_error(full) or full


def _stated_values(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_bytes()).items()
        values = {_NAMES.get(key, key): value for key, value in content if value not in ("", None)}
        stated_of(values)
    except (OSError, ValueError, AttributeError) as error:  # ValidationError is a ValueError
        message = Message("{what} cannot be read: {reason}", what=get_inner_path(file), reason=_describe_error(error))
        raise ResultError(message) from error
    return values

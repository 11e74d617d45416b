"""Reads upstream's system.json and config.json; tolerantly, because their exact format is undocumented."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from pydantic import ValidationError

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.base.value_errors import value_error
from aisbench_core.domain.authoring.config_file import ConfigFile, decode_text
from aisbench_core.domain.results.record import SYSTEM_FILE, TESTER_FILE
from aisbench_core.model import COUNTS, SYSTEM_FIELDS, TESTER_FIELDS, Division, Finding, SystemStatus, stated_of
from aisbench_core.model.system import MOST_LETTERS
from aisbench_core.running.systems.descriptions import StatedFields, make_finding

Entry = tuple[str, object]

_SPELLINGS = {"divison": "division", "divsion": "division", "testid": "test_id"}
# Short names that mean fields of the test in config.json, but not in system.json.
_TESTER_KEYS = {"mode": "test_mode", "model": "test_model", "division": "test_division"}

_WORDS: Mapping[str, Mapping[str, str]] = {
    "division": {"close": Division.CLOSED, **{division.value: division for division in Division if division}},
    "status": {
        **dict.fromkeys(("rdi", "rdo", "research", "internal"), SystemStatus.RESEARCH),
        **dict.fromkeys(("on-premise", "onprem", "on-prem", "available on-prem"), SystemStatus.ON_PREMISE),
        "cloud": SystemStatus.CLOUD,
        **{status.value.lower(): status for status in SystemStatus if status},
    },
}


def read_fields(files: Sequence[ConfigFile]) -> StatedFields:
    """The fields that the files state. Raises ConfigError for a file that is not a JSON object."""
    values: dict[str, str | int] = {}
    findings: list[Finding] = []
    notes: list[str] = []
    for file in files:
        entries = _parse_entries(file)
        of_tester = _is_of_tester(file.name, entries)
        for key, value in entries:
            field = _find_field(key, of_tester=of_tester)
            if field == "status" and isinstance(value, str) and value.strip().lower() not in _WORDS[field]:
                notes += [f"status: {value.strip()}"] if value.strip() else []
            else:
                findings += _add_value(values, key, field, value)
    if notes:  # MLPerf's word changed over the years
        noted: dict[str, str | int] = {}
        text = "; ".join([str(values.get("hw_notes", "")), *notes]).lstrip("; ")[:MOST_LETTERS]
        findings += _add_value(noted, "status", "hw_notes", text)
        values |= noted
    return StatedFields(values, tuple(findings))


def _parse_entries(file: ConfigFile) -> list[Entry]:
    """The file's keys and values, repeated keys included; keys of nested objects are dotted paths."""
    try:
        pairs = json.loads(decode_text(file), object_pairs_hook=tuple)
        if not isinstance(pairs, tuple):
            raise ConfigError(
                Message("{file} is not a JSON object", file=file.name), Message("it must be key-value pairs in braces")
            )
        return list(_flatten_pairs(pairs))
    except json.JSONDecodeError as error:
        raise ConfigError(
            Message("{file} is not JSON: line {line}: {why}", file=file.name, line=error.lineno, why=error.msg)
        ) from None
    except (ValueError, RecursionError):  # a number of thousands of digits; thousands of brackets
        raise ConfigError(
            Message("{file} cannot be read: a number is too long, or it is nested too deeply", file=file.name)
        ) from None


def _flatten_pairs(pairs: Sequence[Entry], path: str = "") -> Iterator[Entry]:
    for key, value in pairs:
        if isinstance(value, tuple):
            yield from _flatten_pairs(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def _is_of_tester(name: str, entries: Sequence[Entry]) -> bool:
    if name in (TESTER_FILE, SYSTEM_FILE):
        return name == TESTER_FILE
    keys = {_normalize_key(key) for key, _ in entries}
    return bool(keys & {"test_id", *TESTER_FIELDS}) and not keys & (set(SYSTEM_FIELDS) - {"division"})


def _normalize_key(key: str) -> str:
    """The last part of a key, spelled like our fields: `Host Memory-Capacity` → `host_memory_capacity`."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", key.rpartition(".")[2])
    name = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
    return _SPELLINGS.get(name, name)


def _find_field(key: str, *, of_tester: bool) -> str:
    """The field that a key means; empty for an unknown key."""
    name = _normalize_key(key)
    if of_tester:
        name = _TESTER_KEYS.get(name, name)
    return name if name in SYSTEM_FIELDS or name in TESTER_FIELDS else ""


def _add_value(values: dict[str, str | int], key: str, field: str, value: object) -> Iterator[Finding]:
    if value in ("", None, []):
        return
    if not field:
        yield make_finding("system.unknown", key[:80], Message("is not a known key and was left out"))
    elif field in values:
        message = Message("{key} gives it again and is ignored", key=key[:80])
        yield make_finding("system.duplicate", field, message)
    else:
        try:
            values |= stated_of({field: _convert_value(field, value)}).values
        except ValidationError as error:
            why = value_error(error.errors()[0])
            yield make_finding(
                "system.type",
                field,
                Message("{why}: found {found}", why=why, found=json.dumps(value, ensure_ascii=False)[:80]),
            )


def _convert_value(field: str, value: object) -> object:
    """The value as the type of its field: lists and numbers as text, words of closed sets in our spelling."""
    if isinstance(value, list) and not any(isinstance(item, list | tuple) for item in value):
        return "; ".join(map(str, value))
    if isinstance(value, int | float) and field not in COUNTS:
        return str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, str):
        return _WORDS.get(field, {}).get(value.strip().lower(), value)
    return value

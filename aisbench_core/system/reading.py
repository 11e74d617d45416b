"""Reads upstream's system.json and config.json: tolerantly, because no document says what exactly they hold."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from pydantic import ValidationError

from aisbench_core.authoring.upstream.found import ConfigFile
from aisbench_core.authoring.upstream.source import decoded
from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message
from aisbench_core.model import COUNTS, SYSTEM_FIELDS, TESTER_FIELDS, Division, Finding, SystemStatus, stated_of
from aisbench_core.results.stated import SYSTEM_FILE, TESTER_FILE
from aisbench_core.system.described import StatedFields, finding
from aisbench_core.value_errors import value_complaint

Entry = tuple[str, object]

_SPELLINGS = {"divison": "division", "divsion": "division", "testid": "test_id"}
_TESTER_KEYS = {"mode": "test_mode", "model": "test_model", "division": "test_division"}
"""Short names that mean the test in config.json, and the system (or nothing) in system.json."""

_WORDS: Mapping[str, Mapping[str, str]] = {
    "division": {"close": Division.CLOSED, **{each.value: each for each in Division if each}},
    "status": {"rdi": SystemStatus.RESEARCH, **{each.value.lower(): each for each in SystemStatus if each}},
}


def read(files: Sequence[ConfigFile]) -> StatedFields:
    """What the files state. Raises ConfigError for a file that is no JSON object."""
    values: dict[str, str | int] = {}
    findings: list[Finding] = []
    for file in files:
        entries = _entries(file)
        of_tester = _is_of_tester(file.name, entries)
        for key, value in entries:
            findings += _take(values, key, _field(key, of_tester=of_tester), value)
    return StatedFields(values, tuple(findings))


def _entries(file: ConfigFile) -> list[Entry]:
    """The file's keys, those of nested objects with a dotted path, each with its value; repeated ones too."""
    try:
        found = json.loads(decoded(file), object_pairs_hook=tuple)
        if not isinstance(found, tuple):
            raise ConfigError(
                Message("{file} is not a JSON object", file=file.name),
                Message("it must hold keys and values in braces"),
            )
        return list(_flat(found))
    except json.JSONDecodeError as error:
        why = Message("{file} is not JSON: line {line}: {why}", file=file.name, line=error.lineno, why=error.msg)
        raise ConfigError(why) from None
    except (ValueError, RecursionError):  # a number of thousands of digits; thousands of brackets
        why = Message("{file} cannot be read: it holds a number or a nesting without an end", file=file.name)
        raise ConfigError(why) from None


def _flat(found: Sequence[Entry], path: str = "") -> Iterator[Entry]:
    for key, value in found:
        if isinstance(value, tuple):
            yield from _flat(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def _is_of_tester(name: str, entries: Sequence[Entry]) -> bool:
    if name in (TESTER_FILE, SYSTEM_FILE):
        return name == TESTER_FILE
    keys = {_plain(key) for key, _ in entries}
    return bool(keys & {"test_id", *TESTER_FIELDS}) and not keys & (set(SYSTEM_FIELDS) - {"division"})


def _plain(key: str) -> str:
    """The last part of a key in the spelling of our fields: `Host Memory-Capacity` → `host_memory_capacity`."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", key.rpartition(".")[2])
    name = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
    return _SPELLINGS.get(name, name)


def _field(key: str, *, of_tester: bool) -> str:
    """The field that a key means; empty if it means none."""
    name = _plain(key)
    if of_tester:
        name = _TESTER_KEYS.get(name, name)
    return name if name in SYSTEM_FIELDS or name in TESTER_FIELDS else ""


def _take(values: dict[str, str | int], key: str, field: str, value: object) -> Iterator[Finding]:
    if value in ("", None, []):
        return
    if not field:
        yield finding("system.unknown", key[:80], Message("is not a known key and was left out"))
    elif field in values:
        again = Message("{key} states it once more and was left out", key=key[:80])
        yield finding("system.duplicate", field, again)
    else:
        try:
            values |= stated_of({field: _meant(field, value)}).values
        except ValidationError as error:
            why = value_complaint(error.errors()[0])
            yield finding("system.type", field, Message("{why}: found {found}", why=why, found=_shown(value)))


def _meant(field: str, value: object) -> object:
    """The value as its field takes it: text for text, one text for a list, words of closed sets as we spell them."""
    if isinstance(value, list) and not any(isinstance(each, list | tuple) for each in value):
        return "; ".join(str(each) for each in value)
    if isinstance(value, int | float) and field not in COUNTS:
        return str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, str):
        return _WORDS.get(field, {}).get(value.strip().lower(), value)
    return value


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)[:80]

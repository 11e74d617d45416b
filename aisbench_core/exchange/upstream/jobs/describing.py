"""From a tree of values to a job: each value by the field of a spec that it is for, without keys and passwords."""

import re
from collections.abc import Collection, Iterator, Mapping

from aisbench_core.base.messages import Hint, Message
from aisbench_core.domain.preflight.rules.secrets import is_likely_secret
from aisbench_core.exchange.upstream.configs.contents import (
    ForeignJob,
    LineFinding,
    Literal,
    NotLiteral,
    SensitiveValue,
    make_finding,
)
from aisbench_core.exchange.upstream.configs.literals import quote_key
from aisbench_core.exchange.upstream.configs.reading import SHORTEST_SECRET
from aisbench_core.exchange.upstream.jobs.names import CARDS, FIELDS, REASONS, SILENT, JobKind
from aisbench_core.exchange.upstream.jobs.trees import get_child, iterate_leaves
from aisbench_core.model import Api

JOB = "job"  # the kind of a job with one role, which a spec describes
_WORKSPACES = ("metadata.workspace_id", "workspace_id", "workspace-id")  # 0 is the default one
_PAIR_NAMES = ("name", "label")
_STORED_APART: Hint = Message("list its name under the spec's secrets: their values are stored apart")
_HIDDEN = "(hidden)"  # the value of a variable whose name says that it is a key or a password
_ASSIGNMENT = re.compile(r"(?<=\w):(?!/)")
_WORDS = re.compile(r"[\s;&|'\"`,]+")


def describe_job(
    kind: JobKind, tree: Literal, source: str, findings: list[LineFinding], keys: Collection[str] = ()
) -> ForeignJob:
    """The job of a tree, with findings about what has no place in a spec. `keys`: of the account, from the file."""
    cleaner = _Cleaner(findings, keys)
    values: dict[str, Literal] = {}
    names: dict[str, str] = {}
    for path, field, literal in iterate_leaves(tree, FIELDS[kind], SILENT[kind]):
        if not field:
            _report_unknown(path, literal, findings)
            continue
        if kind is JobKind.TERRAFORM:
            findings.extend(_iterate_computed(path, literal))
        clean = cleaner.clean(literal, path)
        # Of several statements about the cards the smallest holds: a job may use some cards of a node.
        if field == CARDS and field in values and _to_count(clean) >= _to_count(values[field]):
            continue
        if field == "auto_stop_hours" and not _is_in_hours(tree):
            message = Message("is not in hours, as a spec's is, and is left out")
            findings.append(make_finding("job.left-out", path, message, literal.line))
            continue
        values[field], names[field] = clean, path
    older = kind in (JobKind.V1, JobKind.SDK_V1)
    return ForeignJob(source, tree.line, Api.V1 if older else Api.V2, values, names)


def _report_unknown(path: str, literal: Literal, findings: list[LineFinding]) -> None:
    if (path == "kind" and literal.value == JOB) or (path in _WORKSPACES and str(literal.value) == "0"):
        return
    reason = next((why for start, why in REASONS.items() if path == start or path.startswith(f"{start}.")), None)
    message = reason or Message("has no counterpart in a spec, and is left out")
    findings.append(make_finding("job.left-out", quote_key(path), message, literal.line))


def _iterate_computed(path: str, literal: Literal) -> Iterator[LineFinding]:
    if isinstance(literal.value, SensitiveValue):
        return  # which is a finding of its own
    if isinstance(literal.value, NotLiteral):
        message = Message("is an expression whose value only Terraform knows")
        yield make_finding("job.computed", path, message, literal.line, Message("set it in the draft"))
    elif isinstance(literal.value, Mapping):
        for key, value in literal.value.items():
            yield from _iterate_computed(f"{path}.{quote_key(key)}", value)
    elif isinstance(literal.value, tuple):
        for index, value in enumerate(literal.value):
            yield from _iterate_computed(f"{path}[{index}]", value)


def _is_in_hours(tree: Literal) -> bool:
    unit = get_child(tree, "spec", "auto_stop", "time_unit")
    return unit is None or str(unit.value).upper() in ("HOURS", "HOUR", "NONE")


def _to_count(literal: Literal) -> int:
    text = str(literal.value)
    return int(text) if text.isdecimal() and len(text) < 5 else 0


def _split_pair(item: Literal) -> tuple[str, str]:
    """Name and value of an entry of a list; empty if it has none."""
    if isinstance(item.value, str):
        name, _, text = item.value.partition("=")
        return (name.strip(), text.strip()) if len(name.split()) == 1 else ("", "")
    entries = item.value if isinstance(item.value, Mapping) else {}
    label = next((entries[key].value for key in _PAIR_NAMES if key in entries), None)
    value = entries["value"].value if "value" in entries else None
    if isinstance(label, str) and isinstance(value, SensitiveValue):
        return label, _HIDDEN
    is_pair = isinstance(label, str) and isinstance(value, str | int | float) and not isinstance(value, bool)
    return (str(label), str(value)) if is_pair else ("", "")


def _iterate_options(command: str) -> Iterator[tuple[str, str]]:
    """Names and values in a command: `NAME=value`, `--name=value`, `--name value`, `name: value`."""
    words = [word for word in _WORDS.split(command) if word]
    for word, following in zip(words, [*words[1:], "-"], strict=False):
        name, mark, value = _ASSIGNMENT.sub("=", word, count=1).partition("=")
        if not value and (mark or word.startswith("-")) and not following.startswith("-"):
            value = following
        yield name.lstrip("-").replace("-", "_"), value


class _Cleaner:
    """Takes keys and passwords out of values, and names where they were."""

    def __init__(self, findings: list[LineFinding], keys: Collection[str]) -> None:
        self._findings = findings
        self._keys = [key for key in keys if len(key) >= SHORTEST_SECRET]

    def clean(self, literal: Literal, path: str) -> Literal:
        value = literal.value
        if isinstance(value, SensitiveValue):
            return self._drop(literal, path)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            name = path.rpartition(".")[2].partition("[")[0]
            return self._drop(literal, path) if self._is_secret(name, str(value)) else literal
        if isinstance(value, tuple):
            items = [self._clean_item(item, f"{path}[{index}]") for index, item in enumerate(value)]
            return Literal(tuple(item for item in items if item is not None), literal.line, literal.comment)
        if isinstance(value, Mapping):
            entries = {key: self.clean(entry, f"{path}.{quote_key(key)}") for key, entry in value.items()}
            known = {key: entry for key, entry in entries.items() if not isinstance(entry.value, _Dropped)}
            return Literal(known, literal.line, literal.comment)
        return literal

    def _clean_item(self, item: Literal, path: str) -> Literal | None:
        """An entry of a list; one of name and value, or `NAME=value`, is dropped as a whole."""
        name, value = _split_pair(item)
        if self._is_secret(name, value):
            self._drop(item, f"{path.partition('[')[0]}.{quote_key(name)}")
            return None
        clean = self.clean(item, path)
        return None if isinstance(clean.value, _Dropped) else clean

    def _is_secret(self, name: str, value: str) -> bool:
        if value is _HIDDEN or any(key in value for key in self._keys) or is_likely_secret(name, value):
            return True
        return any(is_likely_secret(option, text) for option, text in _iterate_options(value))

    def _drop(self, literal: Literal, path: str) -> Literal:
        message = Message("looks like a key or a password, and is left out")
        self._findings.append(make_finding("job.secret", path, message, literal.line, _STORED_APART))
        return Literal(_Dropped(), literal.line)


class _Dropped(NotLiteral):
    """Placeholder for a value that was taken out."""

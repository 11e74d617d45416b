"""Typed values of a foreign job. A value of the wrong type is a finding, and counts as not set."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from aisbench_core.base.errors import Problem
from aisbench_core.base.messages import Hint, Message
from aisbench_core.exchange.upstream.configs.contents import (
    ForeignJob,
    LineFinding,
    Literal,
    NotLiteral,
    make_finding,
)
from aisbench_core.exchange.upstream.configs.keys import INPUT, OUTPUT
from aisbench_core.exchange.upstream.configs.literals import quote_key
from aisbench_core.exchange.upstream.jobs.trees import EMPTY, get_child
from aisbench_core.model import AccessMethod, Scalar

_OBS = re.compile(r"(?:obs|s3):/(?=/)")
_WHOLE = re.compile(r"[0-9]{1,9}")
_NAMES = ("name", "label")
_VOLUMES = ("nfs", "efs", "pfs")
_PATHS = (("obs_path",), ("remote", "obs", "obs_url"), ("obs_url",), ("remote_obs_url",))


def to_obs_path(text: str) -> str:
    """obs://bucket/key as /bucket/key; other text as it is."""
    return _OBS.sub("", text.strip(), count=1)


class JobReader:
    """Reads one job field by field."""

    def __init__(self, job: ForeignJob, findings: list[LineFinding]) -> None:
        self.job = job
        self._findings = findings

    def text(self, field: str) -> str:
        """Stripped text; empty if not set."""
        literal = self.job.values.get(field)
        if literal is None or literal.value is None or isinstance(literal.value, NotLiteral):
            return ""
        if isinstance(literal.value, Mapping | tuple):
            self._refuse_type(field, literal, Message("must be text"))
            return ""
        return str(literal.value).strip()

    def whole_number(self, field: str) -> int | None:
        """A whole number, also as text; None if not set."""
        literal = self.job.values.get(field)
        if literal is None or literal.value in EMPTY or isinstance(literal.value, NotLiteral):
            return None
        value = literal.value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
            return int(value)
        self._refuse_type(field, literal, Message("must be a whole number"))
        return None

    def is_true(self, field: str) -> bool:
        return self.text(field).lower() == "true"

    def parameters(self) -> dict[str, Scalar]:
        """Names and values, from a list of `{name, value}`, a list of `{name: value}`, or a mapping."""
        return dict(self._iterate_scalars("parameters"))

    def environments(self) -> dict[str, str]:
        pairs = ((name, value) for name, value in self._iterate_scalars("environments"))
        return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in pairs}

    def channels(self, field: str) -> list[dict[str, Any]]:
        """Inputs or outputs: a path, or what an API or a tool says of each."""
        literal = self.job.values.get(field)
        if literal is None:
            return []
        default = INPUT if field == "inputs" else OUTPUT
        return [
            channel
            for number, item in enumerate(_list_items(literal))
            if (channel := self._read_channel(field, number, item, default))
        ]

    def volumes(self) -> list[dict[str, Any]]:
        share, mount = self.text("share"), self.text("mount")
        own = [{"server_path": share, "local_path": mount}] if share and mount else []
        literal = self.job.values.get("volumes")
        items = _list_items(literal) if literal else ()
        return own + [volume for item in items if (volume := self._read_volume(item))]

    def report(self, rule: str, field: str, message: Message, hint: Hint = "", line: int = 0) -> None:
        """Add a finding about a field, by the name that the file has for it."""
        head, dot, rest = field.partition(".")
        name = f"{self.job.names.get(head, head)}{dot}{rest}"
        literal = self.job.values.get(head)
        found = line or (literal.line if literal else self.job.line)
        self._findings.append(make_finding(rule, name, message, found, hint))

    def refuse(self, problem: Problem) -> None:
        """Add a finding about a value that a spec refuses."""
        message = problem.message
        if problem.value:
            message = Message("{problem} (found {found})", problem=message, found=problem.value)
        self.report("config.range", problem.field, message)

    def _refuse_type(self, field: str, literal: Literal, message: Message) -> None:
        self.report("config.type", field, message, line=literal.line)

    def _iterate_scalars(self, field: str) -> Iterator[tuple[str, Scalar]]:
        literal = self.job.values.get(field)
        names: set[str] = set()
        for name, entry in _iterate_pairs(literal) if literal else ():
            value = entry.value
            if name and name.strip() in names:
                message = Message("is given twice: the last value is taken over")
                self.report("job.left-out", f"{field}.{quote_key(name)}", message, line=entry.line)
            names.add(name.strip())
            if isinstance(value, str | bool | int | float) and name.strip():
                yield name.strip(), value.strip() if isinstance(value, str) else value
            elif value is not None and not isinstance(value, NotLiteral):
                message = Message("must be `name` and `value`, with a value that is text or a number")
                self.report("config.type", f"{field}.{quote_key(name)}" if name else field, message, line=entry.line)

    def _read_channel(self, field: str, number: int, item: Literal, default: str) -> dict[str, Any] | None:
        if isinstance(item.value, str):
            return {"name": default, "path": to_obs_path(item.value)}
        if not isinstance(item.value, Mapping):
            if not isinstance(item.value, NotLiteral):
                self._refuse_type(field, item, Message("must be a path, or a name with a path"))
            return None
        name = _text_of(item, "name") or (default if number == 0 else f"{default}_{number}")
        path = next((text for keys in _PATHS if (text := _text_of(item, *keys))), "")
        if get_child(item, "remote", "dataset") is not None and not path:
            message = Message("data sets of the platform cannot be inputs: name their directory in OBS")
            self.report("job.left-out", f"{field}.{quote_key(name)}", message, line=item.line)
        channel: dict[str, Any] = {"name": name, "path": to_obs_path(path)}
        method = _text_of(item, "access_method").lower()
        if method in list(AccessMethod):
            channel["access_method"] = method
        prefetch = get_child(item, "prefetch_to_local")
        if prefetch is not None and prefetch.value is True:
            channel["prefetch"] = True
        local = _text_of(item, "local_dir") or _text_of(item, "local_path")
        # Replies name the directory that the platform chose.
        if local and not local.startswith("/home/ma-user/modelarts/"):
            channel["local_dir"] = local
        return channel

    def _read_volume(self, item: Literal) -> dict[str, Any] | None:
        kind = next((kind for kind in _VOLUMES if get_child(item, kind) is not None), "")
        facts = get_child(item, kind) if kind else item
        if facts is None or not isinstance(facts.value, Mapping):
            if not isinstance(item.value, NotLiteral):
                self._refuse_type("volumes", item, Message("must be `nfs` or `pfs` with its paths"))
            return None
        local = _text_of(facts, "local_path") or _text_of(facts, "dest_path")
        share = _text_of(facts, "nfs_server_path") or _text_of(facts, "src_path")
        pfs, read_only = to_obs_path(_text_of(facts, "pfs_path")), get_child(facts, "read_only")
        if not local or not (share or pfs):
            message = Message("only shares (nfs) and parallel file systems (pfs) can be mounted")
            self.report("job.left-out", "volumes", message, line=item.line)
            return None
        volume: dict[str, Any] = {"local_path": local, **({"pfs_path": pfs} if pfs else {"server_path": share})}
        volume["read_only"] = read_only is not None and str(read_only.value).lower() == "true"
        number = _text_of(facts, "id")
        return {**volume, "id": number} if number and share else volume


def _list_items(literal: Literal) -> tuple[Literal, ...]:
    return literal.value if isinstance(literal.value, tuple) else () if literal.value in EMPTY else (literal,)


def _iterate_pairs(literal: Literal) -> Iterator[tuple[str, Literal]]:
    """Names and values of a mapping, or of a list of `{name, value}`, `{name: value}` or `NAME=value`."""
    if isinstance(literal.value, Mapping) and not _is_pair(literal):
        yield from literal.value.items()
        return
    for item in _list_items(literal):
        if _is_pair(item):
            yield _label_of(item), get_child(item, "value") or item
        elif _label_of(item):  # a name without a value is no parameter that is called `name`
            yield _label_of(item), item
        elif isinstance(item.value, Mapping):
            yield from item.value.items()
        elif isinstance(item.value, str) and "=" in item.value:
            name, _, value = item.value.partition("=")
            yield name, Literal(value, item.line)
        else:
            yield "", item


def _is_pair(item: Literal) -> bool:
    return isinstance(item.value, Mapping) and "value" in item.value and bool(_label_of(item))


def _label_of(item: Literal) -> str:
    return next((name for key in _NAMES if (name := _text_of(item, key))), "")


def _text_of(item: Literal, *keys: str) -> str:
    found = get_child(item, *keys)
    return str(found.value).strip() if found is not None and isinstance(found.value, str | int) else ""

"""YAML 1.2 scalars, without duplicate keys, aliases and tags.

YAML 1.1, which PyYAML reads by default, takes `1e-4` for text, `no` for false, `1:30` for 90 and a date for a
date, and it silently keeps the last of two equal keys. A hyperparameter must not change its meaning that way.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from aisbench_core.base.messages import Message

MOST_CHARACTERS = 1_000_000
MOST_LEVELS = 32

_RESOLVERS = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", list("-+.")),
)


def load(text: str) -> Any:
    """The document as plain Python values. Raises yaml.YAMLError; all but one kind of it name the line."""
    _refuse_long(text)
    return yaml.load(text, Loader=_Loader)  # noqa: S506  # it is a SafeLoader, and stricter


def compose(text: str) -> yaml.Node | None:
    """The document as nodes, which know their lines; None if it is empty. Raises yaml.YAMLError."""
    _refuse_long(text)
    return yaml.compose(text, Loader=_Loader)


def read_scalar(node: yaml.Node) -> Any:
    """The value of a node without parts. Raises yaml.YAMLError."""
    return _Loader("").construct_object(node)


def _refuse_long(text: str) -> None:
    if len(text) > MOST_CHARACTERS:
        raise yaml.YAMLError(
            Message("it has {length} characters; allowed: {allowed}", length=len(text), allowed=MOST_CHARACTERS)
        )


def find_lines(text: str) -> dict[str, int]:
    """The line of each entry, from 1, by its dotted path; those of lists by number, and by `name` if they have one.

    Raises yaml.YAMLError."""
    return dict(_iterate_lines(yaml.compose(text, Loader=_Loader), ""))


def _iterate_lines(node: yaml.Node | None, path: str) -> Iterator[tuple[str, int]]:
    entries: list[tuple[str, yaml.Node, yaml.Node]] = []
    if isinstance(node, yaml.MappingNode):
        entries = [(str(key.value), key, value) for key, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            entries += [(name, item, item) for name in (str(number), _name_of(item)) if name]
    for name, start, value in entries:
        yield f"{path}{name}", start.start_mark.line + 1
        yield from _iterate_lines(value, f"{path}{name}.")


def _name_of(node: yaml.Node) -> str:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((str(value.value) for key, value in pairs if key.value == "name"), "")


def dump(values: Any) -> str:
    """Plain Python values as text that `load` gives back; older readers of YAML 1.1 read the same."""
    return yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=4096)


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  # PyYAML's own type

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._level = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]  # the stubs leave it out
        mark = event.start_mark
        if isinstance(event, yaml.AliasEvent):
            raise ConstructorError(None, None, Message("aliases (*name) are not accepted"), mark)
        if getattr(event, "tag", None) is not None:
            raise ConstructorError(None, None, Message("tags (!name) are not accepted"), mark)
        if self._level > MOST_LEVELS:
            raise ConstructorError(None, None, Message("more than {allowed} levels", allowed=MOST_LEVELS), mark)
        self._level += 1
        node = super().compose_node(parent, index)
        self._level -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in lines:
                problem = Message(
                    "the key {key!r} is given twice (first in line {line})", key=key.value[:80], line=lines[key.value]
                )
                raise ConstructorError(None, None, problem, key.start_mark)
            lines[key.value] = key.start_mark.line + 1
        return super().construct_mapping(node, deep)

    def construct_whole_number(self, node: yaml.ScalarNode) -> int:
        text = node.value
        try:
            return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
        except ValueError:  # Python refuses thousands of digits
            problem = Message("a number has too many digits")
            raise ConstructorError(None, None, problem, node.start_mark) from None


class _Dumper(yaml.SafeDumper):
    """Quotes text that either version of YAML would read as another type."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        # PyYAML folds text at these four, and reads the last three back as something else.
        style = '"' if set(text) & set("\n\x85\u2028\u2029") else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style)


for _kind, _pattern, _first in _RESOLVERS:
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(rf"(?:{_pattern})\Z"), _first)
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_whole_number)
_Dumper.add_representer(str, _Dumper.represent_text)

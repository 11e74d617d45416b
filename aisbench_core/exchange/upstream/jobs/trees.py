"""Values of a file with their lines: JSON and YAML as trees, and the fields that a table names in such a tree."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from aisbench_core.base import strict_yaml
from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.exchange.upstream.configs.contents import Literal, NotLiteral

EMPTY: tuple[object, ...] = (None, "", (), {})


def parse_tree(text: str, name: str) -> Literal:
    """JSON or YAML as a tree. Raises ConfigError, naming the line but no text of the file, which may hold keys."""
    # JSON may be indented with tabs, which YAML forbids there; inside of its strings there are none.
    text = text.replace("\t", " ") if is_json(text) else text
    try:
        node = strict_yaml.compose(text)
        return _read_node(node) if node is not None else Literal(None, 1)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = error.problem if isinstance(error.problem, Message) else Message("its syntax is wrong")
        raise ConfigError(
            Message("{what} is not YAML: line {line}: {problem}", what=name, line=line, problem=problem)
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise ConfigError(Message("{name} is neither JSON nor YAML", name=name)) from None


def is_json(text: str) -> bool:
    """Whether a text begins as a JSON document does."""
    return text.lstrip()[:1] in ("{", "[")


def parse_notebook(text: str) -> str:
    """The code of a notebook; empty if the text is none. Lines that are no Python (%, !) become blank."""
    try:
        cells = json.loads(text).get("cells") if is_json(text) else None
        code = [cell for cell in cells or () if cell["cell_type"] == "code"]
        sources = ["".join(cell["source"]) for cell in code]
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return ""
    lines = (line for source in sources for line in source.splitlines())
    return "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in lines)


def _read_node(node: yaml.Node) -> Literal:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        return Literal(tuple(map(_read_node, node.value)), line)
    if isinstance(node, yaml.MappingNode):
        entries: dict[str, Literal] = {}
        for key, value in node.value:
            literal = _read_node(value)
            entries[str(key.value)[:200]] = Literal(literal.value, key.start_mark.line + 1)
        return Literal(entries, line)
    value = strict_yaml.read_scalar(node)
    if isinstance(value, str):
        # JSON writes letters beyond 16 bits as two halves.
        value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return Literal(value, line)


def get_child(literal: Literal, *keys: str) -> Literal | None:
    """What is below a mapping's keys; None where one is missing."""
    found: Literal | None = literal
    for key in keys:
        found = found.value.get(key) if found is not None and isinstance(found.value, Mapping) else None
    return found


def to_plain(literal: Literal) -> Any:
    """The value without lines; parts that are no literals are None."""
    if isinstance(literal.value, Mapping):
        return {key: to_plain(value) for key, value in literal.value.items()}
    if isinstance(literal.value, tuple):
        return [to_plain(value) for value in literal.value]
    return None if isinstance(literal.value, NotLiteral) else literal.value


def to_tree(value: Any, line: int = 0) -> Literal:
    """The inverse of `to_plain`, for replies, which have no lines."""
    if isinstance(value, Mapping):
        return Literal({str(key): to_tree(entry, line) for key, entry in value.items()}, line)
    if isinstance(value, list | tuple):
        return Literal(tuple(to_tree(entry, line) for entry in value), line)
    return Literal(value if isinstance(value, str | bool | int | float | None) else str(value), line)


def iterate_leaves(
    tree: Literal, table: Mapping[str, str], silent: tuple[str, ...], path: str = ""
) -> Iterator[tuple[str, str, Literal]]:
    """Dotted name, field and value of everything that is set; the field is empty where the table has none.

    What begins with a name in `silent` is passed over, unless the table names something in it."""
    if tree.value in EMPTY:
        return
    if path in table:
        yield path, table[path], tree
    elif isinstance(tree.value, Mapping) and (not path or _leads_to(path, table) or _leads_to(path, silent)):
        for key, value in tree.value.items():
            yield from iterate_leaves(value, table, silent, f"{path}.{key}" if path else key)
    elif not any(path == name or path.startswith(f"{name}.") for name in silent):
        yield path, "", tree


def _leads_to(path: str, names: Mapping[str, str] | tuple[str, ...]) -> bool:
    return any(name.startswith(f"{path}.") for name in names)

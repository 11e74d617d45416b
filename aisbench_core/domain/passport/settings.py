"""What configuration files say of batches, precision and parallelism: entries by their path in the file."""

import configparser
import tomllib
from collections.abc import Iterator
from typing import Any

import yaml

from aisbench_core.base import strict_yaml
from aisbench_core.model import names_speed

_MOST_ENTRIES = 200
_MOST_VISITED = 20_000


def find_settings(path: str, text: str) -> dict[str, str]:
    """The entries of a file that decide speed by their names; nothing of a file that cannot be read."""
    try:
        values = _parse_text(path.lower(), text)
    except (yaml.YAMLError, ValueError, configparser.Error, RecursionError):
        return {}
    found: dict[str, str] = {}
    for visited, (name, value) in enumerate(_iter_leaves(values)):
        if visited > _MOST_VISITED or len(found) >= _MOST_ENTRIES:
            break
        if names_speed(name):
            found[name] = str(value)
    return found


def _parse_text(path: str, text: str) -> Any:
    if path.endswith(".toml"):
        return tomllib.loads(text)
    if path.endswith((".ini", ".cfg", ".conf")):
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        parser.read_string(text)
        return {name: dict(section) for name, section in parser.items()}
    return strict_yaml.load(text) if path.endswith((".yaml", ".yml", ".json")) else None


def _iter_leaves(values: Any, path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(values, dict):
        for name, value in values.items():
            yield from _iter_leaves(value, f"{path}.{name}" if path else str(name))
    elif isinstance(values, list):
        for number, value in enumerate(values):
            yield from _iter_leaves(value, f"{path}.{number}")
    else:
        yield path, values

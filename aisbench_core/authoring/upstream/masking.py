"""Keys of the account stand in access_config; where a file repeats them elsewhere, they go no further."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from pydantic import SecretStr

from aisbench_core.authoring.upstream.found import Assigned, LineFinding, Literal, NotLiteral, finding
from aisbench_core.authoring.upstream.keys import ACCESS, SECRET
from aisbench_core.messages import Message

MASK = "••••"
SHORTEST_SECRET = 8
"""Shorter ones occur in other text by chance."""


def masked(
    dicts: Mapping[str, Assigned], findings: Iterable[LineFinding]
) -> tuple[dict[str, Assigned], list[LineFinding]]:
    """Dicts and findings without any text or comment that holds a key of access_config."""
    secrets = list(_secrets(dicts.get(ACCESS)))
    added: list[LineFinding] = []
    clean = {name: replace(each, entries=_entries(each, secrets, added)) for name, each in dicts.items()}
    return clean, [replace(each, field=_hidden(each.field, secrets)) for each in (*findings, *added)]


def _secrets(access: Assigned | None) -> Iterator[str]:
    entries = access.entries if access else {}
    for name in SECRET:
        value = entries[name].value if name in entries else None
        secret = value.get_secret_value().strip() if isinstance(value, SecretStr) else ""
        if len(secret) >= SHORTEST_SECRET:
            yield secret


def _entries(each: Assigned, secrets: Collection[str], findings: list[LineFinding]) -> dict[str, Literal]:
    return {key: _without(value, secrets, f"{each.name}.{key}", findings) for key, value in each.entries.items()}


def _without(literal: Literal, secrets: Collection[str], field: str, findings: list[LineFinding]) -> Literal:
    value, comment = literal.value, "" if _holds(literal.comment, secrets) else literal.comment
    if isinstance(value, str) and _holds(value, secrets):
        message = Message("repeats a key of access_config, and is left out")
        findings.append(finding("config.secret", field, message, literal.line))
        return Literal(NotLiteral(), literal.line, comment)
    if isinstance(value, tuple):
        inner = (_without(each, secrets, f"{field}[{index}]", findings) for index, each in enumerate(value))
        return Literal(tuple(inner), literal.line, comment)
    if isinstance(value, Mapping):
        entries = {
            _hidden(key, secrets): _without(each, secrets, f"{field}.{key}", findings) for key, each in value.items()
        }
        return Literal(entries, literal.line, comment)
    return Literal(value, literal.line, comment)


def _hidden(field: str, secrets: Collection[str]) -> str:
    """The field, which may be named after a key that stands in the place of a name."""
    for secret in secrets:
        field = field.replace(secret, MASK)
    return field


def _holds(text: str, secrets: Collection[str]) -> bool:
    return any(secret in text for secret in secrets)

"""How two specs differ: field by field, named as people name them (`parameters.epochs`, `inputs.data_url`)."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aisbench_core.model.spec import RunSpec, canonical_json

CHANNELS = ("inputs", "outputs")
TOLD = ("parameters", "environments")
"""Fields in which an empty text is an answer, and not the lack of one."""


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """One field that is not the same; None on the side that does not set it."""

    field: str
    original: object
    now: object


def flat(spec: RunSpec, fields: Collection[str] | None = None) -> dict[str, object]:
    """Every field that is set, by its dotted name. `fields`: only these of the spec."""
    answers = spec.model_dump(mode="json", include=None if fields is None else {*fields})
    return {name: value for name, value in _flat(answers) if value is not None}


def differences(original: RunSpec, now: RunSpec, known: Collection[str] | None = None) -> tuple[FieldDifference, ...]:
    """The fields in which `now` is another spec. `known`: the only fields that the original is known to have set.

    90, 90.0 and "90" are different answers of a person."""
    before, after = flat(original, known), flat(now, known)
    return tuple(
        FieldDifference(name, before.get(name), after.get(name))
        for name in dict.fromkeys([*before, *after])
        if canonical_json(before.get(name)) != canonical_json(after.get(name))
    )


def not_known(known: Collection[str] | None) -> tuple[str, ...]:
    """The spec's fields that an original does not tell, in the spec's order."""
    return () if known is None else tuple(name for name in RunSpec.model_fields if name not in {*known, "imported"})


def _flat(answers: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for field, value in answers.items():
        if field in CHANNELS:
            yield from _channels(field, value)
        elif isinstance(value, dict):
            yield from ((f"{field}.{name}", each if field in TOLD else _set(each)) for name, each in value.items())
        elif isinstance(value, list):
            yield field, canonical_json(value) if value else None
        else:
            yield field, _set(value)


def _set(value: object) -> object:
    return None if value == "" else value


def _channels(field: str, channels: list[dict[str, Any]]) -> Iterator[tuple[str, object]]:
    for channel in channels:
        yield f"{field}.{channel['name']}", channel["path"] or None
        if channel["access_method"] != "parameter":
            yield f"{field}.{channel['name']}.access_method", channel["access_method"]

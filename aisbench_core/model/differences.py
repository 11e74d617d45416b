"""Differences of two specs by dotted field names (`parameters.epochs`, `inputs.data_url`)."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aisbench_core.model.spec import RunSpec, canonical_json

CHANNELS = ("inputs", "outputs")
# Fields in which empty text is a value; in others it means not set.
EMPTY_COUNTS = ("parameters", "environments")


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """One field that differs; None on the side that does not set it."""

    field: str
    original: object
    now: object


def flat(spec: RunSpec, fields: Collection[str] | None = None) -> dict[str, object]:
    """All fields that are set, by dotted name. `fields`: only these of the spec."""
    values = spec.model_dump(mode="json", include=None if fields is None else {*fields})
    return {name: value for name, value in _flat(values) if value is not None}


def differences(original: RunSpec, now: RunSpec, fields: Collection[str] | None = None) -> tuple[FieldDifference, ...]:
    """The fields in which two specs differ. `fields`: only these, if the original's others are unknown.

    90, 90.0 and "90" are different values."""
    before, after = flat(original, fields), flat(now, fields)
    return tuple(
        FieldDifference(name, before.get(name), after.get(name))
        for name in dict.fromkeys([*before, *after])
        if canonical_json(before.get(name)) != canonical_json(after.get(name))
    )


def unknown_fields(stated: Collection[str] | None) -> tuple[str, ...]:
    """The spec's fields that an imported original does not state, in order; None: all are known."""
    return () if stated is None else tuple(name for name in RunSpec.model_fields if name not in {*stated, "imported"})


def _flat(values: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for field, value in values.items():
        if field in CHANNELS:
            yield from _channels(field, value)
        elif isinstance(value, dict):
            yield from (
                (f"{field}.{name}", item if field in EMPTY_COUNTS else _or_none(item)) for name, item in value.items()
            )
        elif isinstance(value, list):
            yield field, canonical_json(value) if value else None
        else:
            yield field, _or_none(value)


def _or_none(value: object) -> object:
    return None if value == "" else value


def _channels(field: str, channels: list[dict[str, Any]]) -> Iterator[tuple[str, object]]:
    for channel in channels:
        yield f"{field}.{channel['name']}", channel["path"] or None
        if channel["access_method"] != "parameter":
            yield f"{field}.{channel['name']}.access_method", channel["access_method"]

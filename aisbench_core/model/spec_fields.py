"""The differences of two specs by dotted field names (`parameters.epochs`), and what of a spec decides speed."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from aisbench_core.model.spec import Channel, RunSpec, canonical_json
from aisbench_core.model.spec_roles import FormGroup, SpecField, SpecRole

CHANNELS = ("inputs", "outputs")
# Fields in which empty text is a value; in others it means not set.
EMPTY_COUNTS = ("parameters", "environments")


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """One field that differs; None on the side that does not set it."""

    field: str
    original: object
    now: object


def flatten_spec(spec: RunSpec, fields: Collection[str] | None = None) -> dict[str, object]:
    """All fields that are set, by dotted name. `fields`: only these of the spec."""
    values = spec.model_dump(mode="json", include=None if fields is None else {*fields})
    return {name: value for name, value in _flatten_values(values) if value is not None}


def find_differences(
    original: RunSpec, now: RunSpec, fields: Collection[str] | None = None
) -> tuple[FieldDifference, ...]:
    """The fields in which two specs differ. `fields`: only these, if the original's others are unknown.

    90, 90.0 and "90" are different values."""
    before, after = flatten_spec(original, fields), flatten_spec(now, fields)
    return tuple(
        FieldDifference(name, before.get(name), after.get(name))
        for name in dict.fromkeys([*before, *after])
        if canonical_json(before.get(name)) != canonical_json(after.get(name))
    )


def unknown_fields(stated: Collection[str] | None) -> tuple[str, ...]:
    """The spec's fields that an imported original does not state, in order; None: all are known."""
    return () if stated is None else tuple(name for name in RunSpec.model_fields if name not in {*stated, "imported"})


def deciding_fields(stored: Mapping[str, Any]) -> dict[str, object]:
    """What is set of a stored spec and decides speed, flat; without what a workload's facts say (_OF_FACTS).

    Fields that are not set are left out, so that a new one changes nothing for runs without it."""
    return _set_fields(stored, [name for name in fields_of(SpecRole.DECIDES) if name not in _OF_FACTS])


def compared_fields(stored: Mapping[str, Any]) -> dict[str, object]:
    """All that is set of a stored spec and can explain a difference, flat."""
    return _set_fields(stored, fields_of(SpecRole.DECIDES, SpecRole.COMPARED_ALONG, SpecRole.DESCRIBES))


_OF_FACTS = ("workload", "mode", "parameters")

# Fields with one value, which is known where it is not set.
PLAIN_FIELDS = tuple(
    name for name, field in RunSpec.model_fields.items() if isinstance(field.default, bool | int | str | None)
)


def default_of(field: str) -> object:
    """The value of a field that is not set, as a spec's JSON has it."""
    value = RunSpec.model_fields[field].default
    return value.value if isinstance(value, StrEnum) else value or None if isinstance(value, str) else value


def _set_fields(stored: Mapping[str, Any], names: Iterable[str]) -> dict[str, object]:
    defaults = {name: RunSpec.model_fields[name].default for name in names}
    values = {name: stored[name] for name in names if name in stored and stored[name] != defaults[name]}
    # Only channels are told apart by their names; of other lists the order means nothing.
    for name in ("secrets", "volumes"):
        if name in values:
            values[name] = sorted(values[name], key=canonical_json)
    flat_values = {name: value for name, value in _flatten_values(values) if value is not None}
    # Every run writes to paths of its own, but how its job gets them counts.
    outputs = {name: value for name, value in flat_channels("outputs", stored.get("outputs", ())) if "." in name[8:]}
    return flat_values | outputs


def flat_channels(field: str, channels: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, object]]:
    """The paths of inputs or outputs as stored, and whatever else of them is not the default, by dotted name."""
    for channel in channels:
        name = f"{field}.{channel['name']}"
        yield name, channel.get("path") or None
        for key, default in _CHANNEL_DETAILS.items():
            if channel.get(key, default) != default:
                yield f"{name}.{key}", channel[key]


_CHANNEL_DETAILS = {name: field.default for name, field in Channel.model_fields.items() if name not in ("name", "path")}


def _flatten_values(values: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for field, value in values.items():
        if field in CHANNELS:
            yield from flat_channels(field, value)
        elif isinstance(value, dict):
            for name, item in value.items():
                yield f"{field}.{name}", None if item == "" and field not in EMPTY_COUNTS else item
        elif isinstance(value, list):
            yield field, canonical_json(value) if value else None
        else:
            yield field, None if value == "" else value


# --- declarations -----------------------------------------------------------------------------------


def get_declaration(field: str) -> SpecField:
    """What is declared of a field of the spec."""
    return next((one for one in RunSpec.model_fields[field].metadata if isinstance(one, SpecField)), SpecField())


def fields_where(is_meant: Callable[[SpecField], bool]) -> tuple[str, ...]:
    """The fields of the spec with such a declaration, in order."""
    return tuple(name for name in RunSpec.model_fields if is_meant(get_declaration(name)))


def fields_of(*roles: SpecRole) -> tuple[str, ...]:
    """The fields of the spec with one of these roles, in order."""
    return fields_where(lambda field: field.role in roles)


def list_form_fields(group: FormGroup) -> tuple[str, ...]:
    """The fields that the form shows in this group, in order."""
    return tuple(name for name in RunSpec.model_fields if _group_of(name) is group)


def _group_of(field: str) -> FormGroup:
    group = get_declaration(field).group
    is_plain = field in PLAIN_FIELDS or group is FormGroup.OWN
    return group if is_plain else FormGroup.YAML

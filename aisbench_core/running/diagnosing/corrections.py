"""Corrected specs: what a rule's correction changes in the spec of a run, if it can be corrected."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aisbench_core.model import Api, Run, RunSpec, Scalar, flatten_spec
from aisbench_core.running.diagnosing.cause import Fix
from aisbench_core.running.diagnosing.rules import Correction, CorrectionKind

MOST_HOURS = 720
# Only API v2 restarts jobs.
_RESTARTS = ("retries", "retry_on_hang")


@dataclass(frozen=True, slots=True)
class Known:
    """What corrections go by. `defaults`: the manifest's parameters; `groups`: what the clue's pattern named.

    `earlier`: the spec of the newest run of this workload and profile that completed."""

    defaults: Mapping[str, Scalar]
    groups: Mapping[str, str]
    earlier: RunSpec | None


def fixes_of(correction: Correction, run: Run, known: Known) -> tuple[Fix, ...]:
    """What to change; nothing if the correction does not apply to this run."""
    match correction.kind:
        case CorrectionKind.HALVE:
            return tuple(_halve_parameters(correction, {**known.defaults, **run.spec.parameters}))
        case CorrectionKind.LONGER:
            return (("auto_stop_hours", _double_hours(run)),)
        case CorrectionKind.DROP:
            return tuple(_drop_argument(run.spec, known))
        case CorrectionKind.EARLIER:
            return tuple(_earlier_inputs(run.spec, known.earlier))
        case CorrectionKind.SET:
            return tuple(_set_fields(correction.fields, run.spec))


def _halve_parameters(correction: Correction, parameters: Mapping[str, Scalar]) -> Iterator[Fix]:
    for name, value in parameters.items():
        is_meant = any(part in name.lower() for part in correction.parameters)
        if is_meant and isinstance(value, int) and not isinstance(value, bool) and value > 1:
            yield f"parameters.{name}", value // 2


def _double_hours(run: Run) -> int:
    """Twice the hours that it was given, or that it ran for."""
    hours = run.spec.auto_stop_hours or math.ceil((run.duration_s or 0) / 3600) or 1
    return min(MOST_HOURS, 2 * hours)


def _drop_argument(spec: RunSpec, known: Known) -> Iterator[Fix]:
    """Without the argument; the manifest's value, which is passed then, must be another one, or there must be none."""
    for name, value in spec.parameters.items():
        if not _is_same(name, known.groups.get("argument", "")) and not _is_same(name, known.groups.get("unknown", "")):
            continue
        is_passed = name in known.defaults
        is_unknown = "unknown" in known.groups
        if not is_passed or (not is_unknown and known.defaults[name] != value):
            yield f"parameters.{name}", None


def _is_same(name: str, argument: str) -> bool:
    return name.replace("-", "_") == argument.replace("-", "_")


def _earlier_inputs(spec: RunSpec, earlier: RunSpec | None) -> Iterator[Fix]:
    paths = {channel.name: channel.path for channel in earlier.inputs} if earlier else {}
    for channel in spec.inputs:
        path = paths.get(channel.name, "")
        if path and path != channel.path:
            yield f"inputs.{channel.name}", path


def _set_fields(fields: Mapping[str, Scalar], spec: RunSpec) -> Iterator[Fix]:
    values = flatten_spec(spec)
    for field, value in fields.items():
        now = values.get(field)
        is_more = isinstance(now, int) and isinstance(value, int) and now >= value
        if not is_more and (spec.api is Api.V2 or field not in _RESTARTS):
            yield field, value

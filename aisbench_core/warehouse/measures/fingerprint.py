"""The fingerprint of a benchmark configuration: one hash over everything that decides what is measured."""

import hashlib
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from aisbench_core.domain.llm.llm_settings import list_unknown, without_llm
from aisbench_core.model import (
    NOTHING_RESOLVED,
    Origin,
    Passport,
    Resolved,
    RunSpec,
    WorkloadFacts,
    canonical_json,
    deciding_fields,
    image_name,
    names_config_file,
    passport_of,
    path_in_code,
    pinned_image,
    resolved_of,
)
from aisbench_core.model.spec import Update

FORMULA = "aisbench-fingerprint/2"

# The hash of a record covers this one, which follows from other cells of it: so a new formula changes no record.
_FIRST_FORMULA = "aisbench-fingerprint/1"

_OF_WORKLOAD = ("workload", "model", "dataset", "mode", "throughput_definition")

# Separates what is not known of a run.
AND = ";"

# Of a result that a console exported before it told what is not known: its spec is there, not here.
UNKNOWN_SPEC = "spec"

Cells = Mapping[str, Any]
Speed = Mapping[str, object] | None
"""The parameters that decide speed; None where they are unknown."""


def compute_fingerprint(
    spec: RunSpec, facts: WorkloadFacts, resolved: Resolved = NOTHING_RESOLVED, passport: Passport | None = None
) -> str:
    """SHA-256 (hex) over everything that decides what is measured, but not on what.

    In it: workload, model, dataset, mode, throughput definition, every parameter that decides speed (epochs, batch,
    precision ...), and every field of the spec that decides speed and is set; of an input whose objects were listed,
    the hash over their list, not its path; what was captured of these on the nodes. Not in it: fields along which
    people compare, such as framework version, flavor and node count; nor the hashes of code and data that are compared.
    Parameters that are not known are never equal to known ones.
    """
    cells = {**{name: getattr(facts, name) for name in ("model", "dataset", "throughput_definition")}}
    speed = None if facts.speed_parameters is None else dict(facts.speed_parameters)
    cells |= {"workload": spec.workload, "mode": spec.mode.value, "resolved": resolved.text}
    cells |= {"passport": passport.text if passport else None}
    return fingerprint_of(cells, spec.stored, speed)


def fingerprint_of(cells: Cells, spec: Mapping[str, Any], speed: Speed) -> str:
    """The same from stored cells; of an imported run's spec only the known fields."""
    stated = {} if speed is not None or not spec.get("parameters") else {"parameters": spec["parameters"]}
    fields = resolved_fields(spec, cells["resolved"]) | stated
    captured = captured_speed(cells["passport"], cells["resolved"])
    more = {"captured": captured} if captured else {}  # runs without have the hash that they always had
    return _hash_cells(FORMULA, cells, speed_parameters=resolved_speed(speed, cells["resolved"]), spec=fields, **more)


def captured_speed(passport: Passport | str | None, resolved: str | None) -> Mapping[str, str]:
    """What was captured on the nodes and decides what is measured, but for files whose content is known anyway."""
    found = passport_of(passport) if isinstance(passport, str) else passport
    known = {f"config.{name}" for name in resolved_of(resolved).file_hashes}
    return {name: value for name, value in found.speed.items() if name not in known} if found else {}


def resolved_fields(spec: Mapping[str, Any], resolved: str | None) -> dict[str, object]:
    """What is set of a stored spec and decides speed, flat; of an input whose data is known, its hash, not its path.

    The same of an algorithm: its hash, not its id."""
    found = resolved_of(resolved)
    code = {"algorithm": found.code.sha256} if found.code and found.code.sha256 else {}
    inputs = {f"inputs.{name}": sha256 for name, sha256 in found.input_hashes.items()}
    return deciding_fields(spec) | {name: f"sha256:{sha256}" for name, sha256 in {**code, **inputs}.items()}


def resolved_speed(speed: Speed, resolved: str | None) -> Speed:
    """The parameters that decide speed; of a configuration file whose content is known, its hash, not its path."""
    files = resolved_of(resolved).file_hashes
    return None if speed is None else {**speed, **{name: f"sha256:{sha256}" for name, sha256 in files.items()}}


def first_fingerprint_of(cells: Cells, speed: Speed) -> str:
    """The fingerprint by the first formula, which knew of no field of the spec but parameters and mode."""
    return _hash_cells(_FIRST_FORMULA, cells, speed_parameters=speed)


def _hash_cells(formula: str, cells: Cells, **more: object) -> str:
    values = {"formula": formula, **{name: cells[name] for name in _OF_WORKLOAD}, **more}
    return hashlib.sha256(canonical_json(values).encode()).hexdigest()


def image_of(spec: Mapping[str, Any], engine_version: str | None, resolved: str | None) -> str:
    """The software that a run started with: the image, and the packages that replaced the image's own.

    Where the digest of a custom image is known, it stands in place of the tag."""
    # Only the fields of this version: a later one may have stored others.
    update = Update.model_validate({k: v for k, v in (spec.get("update") or {}).items() if k in Update.model_fields})
    packages = [PurePosixPath(path).name for path in update.packages.values()]
    image = pinned_image(spec.get("image_url") or "", resolved_of(resolved).digest)
    return " + ".join([image or engine_version or "", *packages])


def not_known(cells: Cells, spec: Mapping[str, Any], speed: Speed) -> str:
    """What can decide speed and is not known of a run, separated by `;`: runs that look alike may differ in it.

    `image`: a tag names it, which can be moved, and its digest was not found out. `code`: of an algorithm, and was not
    listed. `data`: not all inputs were listed, and the job reported no hash or read several inputs and volumes.
    `parameters`: of an imported result. `parameters.<name>`: names a file outside of the code, whose content nobody
    read. `llm.<name>`: of training a language model, and not stated by the manifest."""
    return AND.join(_list_unknowns(cells, spec, speed))


def _list_unknowns(cells: Cells, spec: Mapping[str, Any], speed: Speed) -> list[str]:
    if cells["origin"] == Origin.IMPORTED:
        unknown = [] if speed is not None or "parameters" in spec else ["parameters"]
        return unknown if cells["dataset_sha256"] or cells["synthetic_data"] else [*unknown, "data"]
    found = resolved_of(cells["resolved"])
    files = [name for name, value in without_llm(speed or {}).items() if _is_unread_file(name, value, spec, found)]
    return [
        *(["image"] if _is_movable(spec, found) else []),
        *(["code"] if spec.get("algorithm") and not (found.code and found.code.sha256) else []),
        *(["data"] if _reads_unknown_data(spec, cells) else []),
        *(f"parameters.{one}" for one in files),
        *list_unknown(speed),
    ]


def reads_one_source(spec: Mapping[str, Any]) -> bool:
    """Whether the hash that its job reported covers all data that it read: of several inputs and volumes it may be of
    one only."""
    return sum(bool(channel.get("path")) for channel in spec.get("inputs", ())) + len(spec.get("volumes", ())) <= 1


def _reads_unknown_data(spec: Mapping[str, Any], cells: Cells) -> bool:
    """Whether it reads a share, which nobody lists, or an input whose objects were not listed."""
    if cells["synthetic_data"] or (cells["dataset_sha256"] and reads_one_source(spec)):
        return False
    listed = resolved_of(cells["resolved"]).input_hashes
    inputs = (channel["name"] for channel in spec.get("inputs", ()) if channel.get("path"))
    return bool(spec.get("volumes")) or any(name not in listed for name in inputs)


def _is_movable(spec: Mapping[str, Any], found: Resolved) -> bool:
    """Whether a tag names the image, of the spec or of its algorithm, and nobody knows what that was."""
    name = image_name(spec.get("image_url") or "")
    has_tag = bool(spec.get("image_url")) and not (name and name.is_digest)
    return (has_tag or found.image is not None) and not found.digest


def _is_unread_file(parameter: str, value: object, spec: Mapping[str, Any], found: Resolved) -> bool:
    """Whether it names a configuration file that is not part of the code, whose hash covers the others."""
    if parameter in found.files:
        return not found.files[parameter].sha256
    if not names_config_file(value):
        return False
    is_inside = bool(path_in_code(str(value), spec.get("local_code_dir") or ""))
    return not (is_inside and (spec.get("code_dir") or spec.get("algorithm")))

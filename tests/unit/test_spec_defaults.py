"""A spec is stored and hashed without the fields that have their default: a default that changes, changes what launched
runs mean. spec_defaults.yaml holds those of the first release."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel
from pydantic_core import PydanticUndefined, to_jsonable_python

from aisbench_core.model import RunSpec
from aisbench_core.model.spec import Channel, LogLevels, Update, Volume

MODELS = (RunSpec, Channel, Volume, LogLevels, Update)
RELEASED: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("spec_defaults.yaml").read_text("utf-8"))


def defaults_of(model: type[BaseModel]) -> dict[str, Any]:
    """JSON values by field; a field that must be set has none."""
    found = {name: field.get_default(call_default_factory=True) for name, field in model.model_fields.items()}
    return {name: to_jsonable_python(value) for name, value in found.items() if value is not PydanticUndefined}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_default_of_the_spec_never_changes(model: type[BaseModel]) -> None:
    today, released = defaults_of(model), RELEASED[model.__name__]

    changed = [name for name in released if name not in today or today[name] != released[name]]

    assert changed == [], (
        f"the default of {', '.join(changed)} differs from that of 0.1: stored runs without the field would mean "
        "something else. Keep the default, and let the form, a manifest or a new field propose the other value "
        "(docs/compatibility.md)"
    )


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_new_field_of_the_spec_notes_its_default(model: type[BaseModel]) -> None:
    assert defaults_of(model).keys() - RELEASED[model.__name__].keys() == set(), "add it to spec_defaults.yaml"


def test_every_part_of_a_spec_is_looked_at() -> None:
    parts = {name for name, part in RunSpec.model_json_schema()["$defs"].items() if part["type"] == "object"}

    assert parts == {model.__name__ for model in MODELS} - {"RunSpec"}


def test_a_spec_is_stored_without_its_defaults() -> None:
    spec = RunSpec(workload="quickstart_digits", node_count=RELEASED["RunSpec"]["node_count"])

    assert spec.stored == {"workload": "quickstart_digits"}

"""Spec files: a RunSpec as YAML that a person writes, reads and keeps beside the results."""

from aisbench_core import strict_yaml
from aisbench_core.documents import parse, parse_yaml
from aisbench_core.model import RunSpec

WHAT = "the spec"


def to_yaml(spec: RunSpec) -> str:
    """The spec as YAML in the model's order; fields at their defaults are left out. `from_yaml` gives it back."""
    return strict_yaml.dump(spec.model_dump(mode="json", exclude_defaults=True))


def from_yaml(text: str) -> RunSpec:
    """The spec that the text describes.

    Raises ConfigError, naming the line, if it is not YAML or has a key twice; SpecError, with one problem per
    field, if a field is unknown, of the wrong type or out of range."""
    return parse(RunSpec, parse_yaml(text, WHAT), WHAT)

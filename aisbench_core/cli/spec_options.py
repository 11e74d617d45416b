"""Builds a spec from the command line: a workload or a file, changed by options."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aisbench_core.cli.options import Decorator, assignments, combined
from aisbench_core.errors import ConfigError, Problem, SpecError
from aisbench_core.messages import Message, verbatim

if TYPE_CHECKING:
    from aisbench_core.model import Flavor, RunSpec
    from aisbench_core.wiring import Core

SpecFields = dict[str, Any]

CHANNELS = ("inputs", "outputs")
WITH_SUBFIELDS = (*CHANNELS, "environments", "parameters", "log_levels", "update")
# Fields whose value on the command line is YAML; the others are plain text.
AS_YAML = (*WITH_SUBFIELDS, "volumes", "auto_stop_hours")

# Suffixes of spec files; anything else is a workload or a run.
SPEC_FILES = (".yaml", ".yml")


_source = click.argument("source", metavar="WORKLOAD|SPEC.yaml")
_cards = click.option(
    "--cards", type=click.IntRange(1), metavar="N", help="Cards per node; default: all cards of the flavor."
)
_fields = combined(
    assignments("--param", "parameters", form="K=V", help="A hyperparameter; can be repeated."),
    assignments(
        "--set",
        "fields",
        form="FIELD=VALUE",
        help="A field of the spec, such as flavor=NAME, inputs.NAME=/bucket/dir/, environments.NAME=TEXT, "
        "secrets=NAME,NAME, log_levels.cann=info, update.cann=FILE; can be repeated.",
    ),
)

spec_options: Decorator = combined(
    _source,
    click.option("--nodes", type=click.IntRange(1), metavar="N", help="Number of nodes."),
    _cards,
    click.option("--framework-version", default="", metavar="V", help="Framework version of the workload."),
    _fields,
)
"""The argument and the options that define a spec."""

base_options: Decorator = combined(_source, _cards, _fields)
"""The same without what a series varies: nodes and version."""


def read_spec(
    core: "Core",
    source: str,
    cards: int | None,
    parameters: Sequence[tuple[str, str]],
    fields: Sequence[tuple[str, str]],
    nodes: int | None = None,
    framework_version: str = "",
) -> "RunSpec":
    """The spec from the argument and the options of a command; fields that were not given stay unset.

    Raises ConfigError and SpecError, naming the field."""
    initial = _initial_fields(source)
    named = {"node_count": nodes, "cards_per_node": cards, "framework_version": framework_version}
    initial |= {field: value for field, value in named.items() if value}  # the file decides what is not typed
    for field, text in (*fields, *((f"parameters.{name}", text) for name, text in parameters)):
        _assign(initial, field, text, core)
    return _parse(initial)


def file_spec(source: str) -> "RunSpec":
    """The spec of a file. Raises ConfigError and SpecError, naming the field."""
    return _parse(_initial_fields(source))


def _parse(fields: SpecFields) -> "RunSpec":
    from aisbench_core.authoring.specfile import SPEC
    from aisbench_core.documents import parse
    from aisbench_core.model import RunSpec

    return parse(RunSpec, fields, SPEC)


def yaml_of(spec: "RunSpec", comments: Mapping[str, str] | None = None) -> str:
    from aisbench_core.authoring.specfile import to_yaml

    return to_yaml(spec, comments or {})


def spec_on_all_cards(
    core: "Core", profile: str, flavors: "Callable[[str], Sequence[Flavor]]", **arguments: Any
) -> "RunSpec":
    """The spec of `read_spec`; cards that are not set are all of the flavor. Raises what `flavors` raises."""
    from aisbench_core.preflight.rule import subject_of
    from aisbench_core.preflight.rules.resources import cards_of_flavor

    spec = read_spec(core, **arguments)
    if "cards_per_node" in spec.model_fields_set:
        return spec
    region = core.regions.profile(profile)
    cards = cards_of_flavor(subject_of(spec, region, core.workloads))
    if not cards:  # the name of the flavor does not say
        cards = cards_of_flavor(subject_of(spec, region, core.workloads, flavors(region.name)))
    return spec.model_copy(update={"cards_per_node": cards}) if cards else spec


def _initial_fields(source: str) -> SpecFields:
    """The fields of a spec file, or just the workload. Paths in a file are relative to the file."""
    if not source.endswith(SPEC_FILES):
        return {"workload": source}
    from aisbench_core.authoring.specfile import from_yaml

    folder = Path(source).parent
    # Defaults would override the manifest.
    fields: SpecFields = from_yaml(_text(source)).model_dump(mode="json", exclude_unset=True)
    if fields.get("code_dir"):
        fields["code_dir"] = absolute(fields["code_dir"], folder)
    for package, path in fields.get("update", {}).items():
        fields["update"][package] = absolute(path, folder) if path else ""
    return fields


def comments_in(source: str) -> dict[str, str]:
    """The comments on the parameters of a spec file; empty for a workload. Raises ConfigError."""
    from aisbench_core.authoring.specfile import comments_of

    return comments_of(_text(source)) if source.endswith(SPEC_FILES) else {}


def _text(source: str) -> str:
    try:
        return Path(source).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", Message("not UTF-8"))
        raise ConfigError(Message("the spec {path} cannot be read: {why}", path=source, why=why)) from None


def _assign(fields: SpecFields, field: str, text: str, core: "Core") -> None:
    parent, _, name = field.partition(".")
    if name:
        fields[parent] = _with_subfield(fields, parent, name, text, core)
    elif field == "secrets":
        fields[field] = [secret.strip() for secret in text.split(",") if secret.strip()]
    elif field == "code_dir" and text:
        fields[field] = absolute(text, Path.cwd())
    else:
        fields[field] = _yaml(field, text) if field in AS_YAML else text


def _with_subfield(fields: SpecFields, parent: str, name: str, text: str, core: "Core") -> Any:
    from aisbench_core.authoring.manifest import ParameterType

    if parent in CHANNELS:
        channels = [channel for channel in fields.get(parent, []) if channel["name"] != name]
        return [*channels, {"name": name, "path": text}]  # replaces the path of a file
    if parent not in WITH_SUBFIELDS:
        problem = Message("only these fields have subfields: {names}", names=", ".join(WITH_SUBFIELDS))
        raise SpecError(verbatim("--set"), [Problem(f"{parent}.{name}", problem)])
    value: Any = text
    if parent == "parameters":
        edition = core.workloads.get(str(fields.get("workload", ""))).edition(str(fields.get("framework_version", "")))
        parameter = edition.parameters.get(name)
        if not (parameter and parameter.type is ParameterType.STR):  # `1.10` stays text for a parameter that is text
            scalar = _yaml(f"{parent}.{name}", text)
            value = scalar if isinstance(scalar, bool | int | float) else text  # no lists or dates
    elif parent == "log_levels":
        value = _yaml(f"{parent}.{name}", text)
    elif parent == "update" and text:
        value = absolute(text, Path.cwd())
    return {**fields.get(parent, {}), name: value}


def _yaml(field: str, text: str) -> Any:
    from aisbench_core.documents import parse_yaml

    return parse_yaml(f"value: {text}", field).get("value")


def absolute(path: str, folder: Path) -> str:
    return str((folder / os.path.expanduser(path)).absolute())  # noqa: PTH111  # pathlib's raises for an unknown ~name

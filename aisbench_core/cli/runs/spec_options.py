"""From what is typed to a RunSpec: a workload or a file first, then the options, which win."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aisbench_core.errors import ConfigError, Problem, SpecError
from aisbench_core.messages import Message, verbatim

if TYPE_CHECKING:
    from aisbench_core.core import Core
    from aisbench_core.model import Flavor, RunSpec, Scalar

Answers = dict[str, Any]

CHANNELS = ("inputs", "outputs")
NAMED = (*CHANNELS, "environments", "parameters", "log_levels", "update")
AS_YAML = (*NAMED, "volumes", "auto_stop_hours")
"""Fields whose value is YAML on the command line; every other field takes the text as it is."""


SPEC_FILES = (".yaml", ".yml")
"""How the name of a spec file ends; anything else is a workload, or a run."""


@dataclass(frozen=True, slots=True)
class Typed:
    """What the argument and the options of `run`, `preflight` and `spec` say."""

    source: str
    nodes: int | None
    cards: int | None
    framework_version: str
    parameters: tuple[str, ...]
    fields: tuple[str, ...]


_SOURCE = click.argument("source", metavar="WORKLOAD|SPEC.yaml")
_NODES = click.option("--nodes", type=click.IntRange(1), metavar="N", help="Number of nodes.")
_VERSION = click.option("--framework-version", default="", metavar="V", help="Framework version of the workload.")
_CARDS = click.option(
    "--cards", type=click.IntRange(1), metavar="N", help="Cards per node; default: all of the flavor's."
)
_OTHERS = (
    click.option("--param", "parameters", multiple=True, metavar="K=V", help="A hyperparameter; can be repeated."),
    click.option(
        "--set",
        "fields",
        multiple=True,
        metavar="FIELD=VALUE",
        help="A field of the spec, such as flavor=NAME, inputs.NAME=/bucket/dir/, environments.NAME=TEXT, "
        "secrets=NAME,NAME, log_levels.cann=info, update.cann=FILE; can be repeated.",
    ),
)


def spec_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The argument and the options that make a spec."""
    return _with(command, _SOURCE, _NODES, _CARDS, _VERSION, *_OTHERS)


def base_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same, but for what a series varies: nodes and version."""
    return _with(command, _SOURCE, _CARDS, *_OTHERS)


def _with(command: Callable[..., Any], *options: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


def read_spec(typed: Typed, core: "Core") -> "RunSpec":
    """The spec that was typed; what nobody named is still open. Raises ConfigError and SpecError, naming the field."""
    from aisbench_core.authoring.specfile import WHAT
    from aisbench_core.documents import parse
    from aisbench_core.model import RunSpec

    answers = _start(typed.source)
    given = {"node_count": typed.nodes, "cards_per_node": typed.cards, "framework_version": typed.framework_version}
    answers |= {field: value for field, value in given.items() if value}
    assignments = [_split(text, "--set") for text in typed.fields]
    assignments += [
        (f"parameters.{name}", text) for name, text in (_split(text, "--param") for text in typed.parameters)
    ]
    for field, text in assignments:
        _assign(answers, field, text, core)
    return parse(RunSpec, answers, WHAT)


def file_spec(source: str) -> "RunSpec":
    """The spec of a file. Raises ConfigError and SpecError, naming the field."""
    from aisbench_core.authoring.specfile import WHAT
    from aisbench_core.documents import parse
    from aisbench_core.model import RunSpec

    return parse(RunSpec, _start(source), WHAT)


def on_all_cards(
    core: "Core", spec: "RunSpec", profile: str, flavors: "Callable[[str], Sequence[Flavor]]"
) -> "RunSpec":
    """The spec on all cards of its flavor, unless it says how many. Raises what `flavors` raises."""
    from aisbench_core.authoring.preflight_rules_resources import cards_of_flavor
    from aisbench_core.authoring.rules import subject_of

    if "cards_per_node" in spec.model_fields_set:
        return spec
    place = core.regions.profile(profile)
    by_name = cards_of_flavor(subject_of(spec, place, core.workloads))
    cards = by_name or cards_of_flavor(subject_of(spec, place, core.workloads, flavors(place.name)))
    return spec.model_copy(update={"cards_per_node": cards}) if cards else spec


def _start(source: str) -> Answers:
    """The answers of a spec file, or those of a workload's name. Relative paths are relative to the file."""
    if not source.endswith(SPEC_FILES):
        return {"workload": source}
    from aisbench_core.authoring.specfile import from_yaml

    file = Path(source)
    answers: Answers = from_yaml(_text(source)).model_dump(mode="json", exclude_unset=True)
    if answers.get("code_dir"):
        answers["code_dir"] = absolute(answers["code_dir"], file.parent)
    for package, path in answers.get("update", {}).items():
        answers["update"][package] = absolute(path, file.parent) if path else ""
    return answers


def comments_in(source: str) -> dict[str, str]:
    """The comments on the parameters of a spec file; none of a workload's name. Raises ConfigError."""
    from aisbench_core.authoring.specfile import comments_of

    return comments_of(_text(source)) if source.endswith(SPEC_FILES) else {}


def _text(source: str) -> str:
    try:
        return Path(source).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            Message(
                "the spec {path} cannot be read: {why}",
                path=source,
                why=getattr(error, "strerror", Message("not UTF-8")),
            )
        ) from None


def _split(assignment: str, option: str) -> tuple[str, str]:
    name, equals, text = assignment.partition("=")
    if not equals or not name:
        raise click.BadParameter(f"{assignment!r} is not NAME=VALUE", param_hint=option)
    return name, text


def _assign(answers: Answers, field: str, text: str, core: "Core") -> None:
    place, _, name = field.partition(".")
    if not name:
        answers[field] = _yaml(field, text) if field in AS_YAML else text
        if field == "secrets":
            answers[field] = [name.strip() for name in text.split(",") if name.strip()]
        if field == "code_dir" and text:
            answers[field] = absolute(text, Path.cwd())
    elif place == "parameters":
        answers[place] = {**answers.get(place, {}), name: _parameter(answers, name, text, core)}
    elif place == "environments":
        answers[place] = {**answers.get(place, {}), name: text}
    elif place == "log_levels":
        answers[place] = {**answers.get(place, {}), name: _yaml(field, text)}
    elif place == "update":
        answers[place] = {**answers.get(place, {}), name: absolute(text, Path.cwd()) if text else ""}
    elif place in CHANNELS:
        others = [channel for channel in answers.get(place, []) if channel["name"] != name]
        answers[place] = [*others, {"name": name, "path": text}]
    else:
        raise SpecError(
            verbatim("--set"),
            [Problem(field, Message("only these have names inside: {names}", names=", ".join(NAMED)))],
        )


def _parameter(answers: Answers, name: str, text: str, core: "Core") -> "Scalar":
    """A value of the type that the workload wants: text stays text where text is wanted."""
    from aisbench_core.authoring.manifest import ParameterType

    edition = core.workloads.get(str(answers.get("workload", ""))).edition(str(answers.get("framework_version", "")))
    known = edition.parameters.get(name)
    value = text if known and known.type is ParameterType.STR else _yaml(f"parameters.{name}", text)
    return value if isinstance(value, bool | int | float) else text


def _yaml(field: str, text: str) -> Any:
    from aisbench_core.documents import parse_yaml

    return parse_yaml(f"value: {text}", field).get("value")


def absolute(path: str, start: Path) -> str:
    return str((start / os.path.expanduser(path)).absolute())  # noqa: PTH111  # pathlib's raises for an unknown ~name

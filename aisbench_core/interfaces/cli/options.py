"""Options and arguments of several commands, and the spec that those of a workload or file define."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aisbench_core.base.documents import parse_document, parse_yaml
from aisbench_core.base.errors import ConfigError, Problem, SpecError
from aisbench_core.base.messages import Message, make_verbatim
from aisbench_core.domain.access.server_files import require_open_files
from aisbench_core.domain.authoring.manifest import ParameterType
from aisbench_core.domain.authoring.specfile import SPEC, comments_of, from_yaml, to_yaml
from aisbench_core.domain.preflight.rule import subject_of
from aisbench_core.domain.preflight.rules.resources import cards_of_flavor
from aisbench_core.interfaces.cli.invocation import get_invocation
from aisbench_core.interfaces.cli.remote.calling import run_on_server, runs_on_server
from aisbench_core.interfaces.cli.remote.paths import SPEC_FILES, FileParameter, OutputPath, SpecSource
from aisbench_core.model import Flavor, Origin, RunSpec

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

IMPLIED = {"run_id": "RUN", "series_id": "SERIES"}
"""Arguments of several commands, by the parameter of the function. An argument stands where its parameter does."""

TYPED = "aisbench.typed"

_SURROGATES = re.compile("[\ud800-\udfff]+")


class Command(click.Command):
    """A command. The parameters of its function that IMPLIED names become arguments, `as_json` the option --json."""

    def __init__(self, name: str | None, callback: Callable[..., Any], **settings: Any) -> None:
        super().__init__(name, callback=callback, **settings)
        declared = {option.name for option in self.params}
        for index, parameter in enumerate(signature(callback).parameters):
            if parameter in IMPLIED and parameter not in declared:
                self.params.insert(index, click.Argument([parameter], metavar=IMPLIED[parameter]))
            elif parameter == "as_json":
                self.params.append(click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words, and keep them: a server gets them as they were typed."""
        ctx.meta[TYPED] = tuple(args)
        rest = super().parse_args(ctx, args)
        for parameter in self.params:
            _refuse_other_bytes(ctx.params.get(parameter.name or ""), ctx, parameter)
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command here, or on the server that the environment names."""
        if runs_on_server(ctx):
            return run_on_server(ctx, ctx.meta[TYPED])
        return super().invoke(ctx)


def _refuse_other_bytes(value: object, ctx: click.Context, parameter: click.Parameter) -> None:
    """Raises BadParameter for text that is not UTF-8, which Python keeps as surrogates: no store takes them."""
    if isinstance(value, str) and not _names_file(value, parameter) and (other := _SURROGATES.search(value)):
        typed = ascii(os.fsencode(other.group()))[2:-1]
        raise click.BadParameter(f"is not UTF-8: it has the bytes {typed}", ctx, parameter)
    if isinstance(value, tuple | list):
        for each in value:
            _refuse_other_bytes(each, ctx, parameter)


def _names_file(value: str, parameter: click.Parameter) -> bool:
    """Whether a value may have any bytes, as names of files may."""
    kind = parameter.type
    return kind.is_file(value) if isinstance(kind, FileParameter) else isinstance(kind, click.Path)


class Group(click.Group):
    """A group of such commands."""

    command_class = Command


def command(name: str | None = None, **settings: Any) -> Callable[[Callable[..., Any]], Command]:
    """Declare a function as a command of `aisbench`, by default under its own name."""
    return click.command(name, Command, **settings)


def choose_value(words: type[StrEnum]) -> click.Choice[str]:
    """One of these words. Click itself would take the names of their members."""
    return click.Choice([word.value for word in words])


def make_assignment_type(form: str, *, at_last: bool = False) -> Callable[[str], tuple[str, str]]:
    """A parameter type for `NAME=VALUE`; `at_last` splits at the last `=`, for names that may hold one."""

    def parse(text: str) -> tuple[str, str]:
        if "=" not in text:
            raise click.BadParameter(f"{text!r} is not {form}")
        name, _, value = text.rpartition("=") if at_last else text.partition("=")
        return name, value

    return parse


def add_assignments(*names: str, form: str, help: str, at_last: bool = False) -> Decorator:  # noqa: A002  # click's word
    """A repeatable option for `NAME=VALUE`; the command gets pairs."""
    return click.option(
        *names, multiple=True, type=make_assignment_type(form, at_last=at_last), metavar=form, help=help
    )


def combine_options(*decorators: Decorator) -> Decorator:
    """Several options as one decorator; `--help` lists them in this order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):  # decorators apply from the last to the first
            command = decorator(command)
        return command

    return decorate


def add_paging(maximum: int) -> Decorator:
    return combine_options(
        click.option("--limit", type=click.IntRange(1, maximum), default=20, show_default=True, help="Rows to list."),
        click.option("--offset", type=click.IntRange(0), default=0, help="Rows to skip."),
    )


profile_option: Decorator = click.option(
    "--profile", default="", metavar="NAME", help="Profile; default: the settings'."
)
output_option: Decorator = click.option(
    "-o", "--output", type=OutputPath(), metavar="FILE", help="Write to FILE, not stdout."
)
sign_option: Decorator = click.option(
    "--sign", type=OutputPath(), metavar="STATEMENT", help="Write a signed statement about it, for `aisbench verify`."
)
# The question goes to stderr, so scripts hang without it.
yes_option: Decorator = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
overwrite_option: Decorator = click.option("--replace", is_flag=True, help="Overwrite FILE if it exists.")
valid_only_option: Decorator = click.option("--valid-only", is_flag=True, help="Leave out runs without a valid result.")
ruleset_option: Decorator = click.option("--ruleset", "ruleset_id", default="", help="Ruleset; default: as stored.")

metric_option: Decorator = click.option(
    "--metric", default="", metavar="NAME", help="A metric of the runs in place of the throughput."
)

benchmark_filters: Decorator = combine_options(
    click.option("--region", default="", help="Region of the runs; default: that of the default profile."),
    click.option("--rehearsals", is_flag=True, help="Rehearsals instead of the region's measurements."),
    click.option("--model", "models", multiple=True, help="Only this model; can be repeated, like the filters below."),
    click.option("--workload", "workloads", multiple=True, help="Only this workload."),
    click.option("--flavor", "flavors", multiple=True, help="Only this flavor."),
    click.option("--nodes", "node_counts", type=int, multiple=True, help="Only this number of nodes."),
)
"""What chooses benchmark configurations; `query_of` takes the values."""

run_filters: Decorator = combine_options(
    benchmark_filters,
    click.option("--framework-version", "framework_versions", multiple=True, help="Only this framework version."),
    click.option("--origin", type=choose_value(Origin), help="Only launched or only imported runs."),
    click.option("--tag", "tags", multiple=True, help="Only runs with this tag; if repeated, with all of them."),
    click.option(
        "--where",
        multiple=True,
        metavar="NAME:LOW..HIGH",
        help="Only runs with such a number; NAME is a column of v_runs, parameter.NAME or metric.NAME.",
    ),
    click.option("--text", default="", help="Search id, job, author, title, model, workload, version and flavor."),
)

import_options: Decorator = combine_options(
    click.option("--job", type=click.Choice(["v1", "v2"]), help="Only session_config (v1) or session_config_v2 (v2)."),
    click.option("-o", "--output", type=OutputPath(), metavar="SPEC.yaml", help="Write the spec here."),
    click.option("--save-profile", is_flag=True, help="Write the profile to data/profiles/."),
    click.option("--save-keys", is_flag=True, help="Write the keys to data/credentials.yaml, mode 0600."),
    click.option("--replace", is_flag=True, help="Overwrite a profile or keys of the same name."),
)
"""What to do with an imported configuration of ais-bench-stubs."""


if TYPE_CHECKING:
    from aisbench_core.wiring import Core

SpecFields = dict[str, Any]

CHANNELS = ("inputs", "outputs")
WITH_SUBFIELDS = (*CHANNELS, "environments", "parameters", "log_levels", "update")

_source = click.argument("source", metavar="WORKLOAD|SPEC.yaml", type=SpecSource())
_cards = click.option(
    "--cards", type=click.IntRange(1), metavar="N", help="Cards per node; default: all cards of the flavor."
)
_fields = combine_options(
    add_assignments("--param", "parameters", form="K=V", help="A hyperparameter; can be repeated."),
    add_assignments(
        "--set",
        "fields",
        form="FIELD=VALUE",
        help="A field of the spec, such as flavor=NAME, inputs.NAME=/bucket/dir/, environments.NAME=TEXT, "
        "secrets=NAME,NAME, log_levels.cann=info, update.cann=FILE; can be repeated.",
    ),
)

spec_options: Decorator = combine_options(
    _source,
    click.option("--nodes", type=click.IntRange(1), metavar="N", help="Number of nodes."),
    _cards,
    click.option("--framework-version", default="", metavar="V", help="Framework version of the workload."),
    _fields,
)
"""The argument and the options that define a spec."""

base_options: Decorator = combine_options(_source, _cards, _fields)
"""The same without what a series varies: nodes and version."""


def read_spec(
    core: Core,
    source: str,
    cards: int | None,
    parameters: Sequence[tuple[str, str]],
    fields: Sequence[tuple[str, str]],
    nodes: int | None = None,
    framework_version: str = "",
) -> RunSpec:
    """The spec from the argument and the options of a command; fields that were not given stay unset.

    Raises ConfigError and SpecError, naming the field."""
    initial = _initial_fields(source)
    named = {"node_count": nodes, "cards_per_node": cards, "framework_version": framework_version}
    initial |= {field: value for field, value in named.items() if value}  # the file decides what is not typed
    for field, text in (*fields, *((f"parameters.{name}", text) for name, text in parameters)):
        _assign_field(initial, field, text, core)
    return _parse_fields(core, initial)


def file_spec(core: Core, source: str) -> RunSpec:
    """The spec of a file. Raises ConfigError and SpecError, naming the field."""
    return _parse_fields(core, _initial_fields(source))


def _parse_fields(core: Core, fields: SpecFields) -> RunSpec:
    spec = parse_document(RunSpec, fields, SPEC)
    if served := get_invocation().served:  # checks of a spec say what they found in its files
        require_open_files(spec, served.actor, core.runs.open_folders)
    return spec


def yaml_of(spec: RunSpec, comments: Mapping[str, str] | None = None) -> str:
    return to_yaml(spec, comments or {})


def spec_on_all_cards(
    core: Core, profile: str, flavors: Callable[[str], Sequence[Flavor]], **arguments: Any
) -> RunSpec:
    """The spec of `read_spec`; cards that are not set are all of the flavor. Raises what `flavors` raises."""
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

    folder = Path(source).parent
    # Defaults would override the manifest.
    fields: SpecFields = from_yaml(_read_spec(source)).model_dump(mode="json", exclude_unset=True)
    if fields.get("code_dir"):
        fields["code_dir"] = to_absolute(fields["code_dir"], folder)
    for package, path in fields.get("update", {}).items():
        fields["update"][package] = to_absolute(path, folder) if path else ""
    return fields


def comments_in(source: str) -> dict[str, str]:
    """The comments on the parameters of a spec file; empty for a workload. Raises ConfigError."""
    return comments_of(_read_spec(source)) if source.endswith(SPEC_FILES) else {}


def _read_spec(source: str) -> str:
    try:
        return Path(source).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", Message("not UTF-8"))
        raise ConfigError(Message("the spec {path} cannot be read: {why}", path=source, why=why)) from None


def _assign_field(fields: SpecFields, field: str, text: str, core: Core) -> None:
    parent, _, name = field.partition(".")
    if name:
        fields[parent] = _with_subfield(fields, parent, name, text, core)
    elif field == "secrets":
        fields[field] = [secret.strip() for secret in text.split(",") if secret.strip()]
    elif field == "code_dir" and text:
        fields[field] = to_absolute(text, Path.cwd())
    else:
        fields[field] = _parse_value(field, text) if _is_yaml(field) else text


def _is_yaml(field: str) -> bool:
    """Whether the value of a field is YAML on the command line: a list, a mapping, or one that can be null."""
    declared = RunSpec.model_fields.get(field)
    return declared is not None and not isinstance(declared.default, str | bool | int) and not declared.is_required()


def _with_subfield(fields: SpecFields, parent: str, name: str, text: str, core: Core) -> Any:
    if parent in CHANNELS:
        return _with_channel(fields.get(parent, []), name, text)
    if parent not in WITH_SUBFIELDS:
        problem = Message("only these fields have subfields: {names}", names=", ".join(WITH_SUBFIELDS))
        raise SpecError(make_verbatim("--set"), [Problem(f"{parent}.{name}", problem)])
    value: Any = text
    if parent == "parameters":
        edition = core.workloads.get(str(fields.get("workload", ""))).edition(str(fields.get("framework_version", "")))
        parameter = edition.parameters.get(name)
        if not (parameter and parameter.type is ParameterType.STR):  # `1.10` stays text for a parameter that is text
            scalar = _parse_value(f"{parent}.{name}", text)
            value = scalar if isinstance(scalar, bool | int | float) else text  # no lists or dates
    elif parent == "log_levels":
        value = _parse_value(f"{parent}.{name}", text)
    elif parent == "update" and text:
        value = to_absolute(text, Path.cwd())
    return {**fields.get(parent, {}), name: value}


def _with_channel(channels: list[dict[str, Any]], field: str, text: str) -> list[dict[str, Any]]:
    """The channels with one of them changed: NAME is its path, NAME.prefetch and the like another field of it."""
    name, _, attribute = field.partition(".")
    value = _parse_value(field, text) if attribute == "prefetch" else text
    present = next((channel for channel in channels if channel["name"] == name), {"name": name})
    others = [channel for channel in channels if channel["name"] != name]
    return [*others, {**(present if attribute else {"name": name}), attribute or "path": value}]


def _parse_value(field: str, text: str) -> Any:
    return parse_yaml(f"value: {text}", field).get("value")


def to_absolute(path: str, folder: Path) -> str:
    """A path in a spec. Raises ConfigError on a server for one that starts on the client's machine."""
    if get_invocation().served and not path.startswith("/"):
        raise ConfigError(
            Message("{path} is a path on your machine, and a server reads only its own files", path=path),
            Message("use the code of a workload, or name a file of the server"),
        )
    return str((folder / os.path.expanduser(path)).absolute())  # noqa: PTH111  # pathlib's raises for an unknown ~name

"""Options and arguments that mean the same in every command."""

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

IMPLIED = {"run_id": "RUN", "series_id": "SERIES"}
"""Arguments of several commands, by the parameter of the function. An argument stands where its parameter does."""


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


class Group(click.Group):
    """A group of such commands."""

    command_class = Command


def command(name: str | None = None, **settings: Any) -> Callable[[Callable[..., Any]], Command]:
    """Declare a function as a command of `aisbench`, by default under its own name."""
    return click.command(name, Command, **settings)


def assignment(form: str, *, at_last: bool = False) -> Callable[[str], tuple[str, str]]:
    """A parameter type for `NAME=VALUE`; `at_last` splits at the last `=`, for names that may hold one."""

    def parse(text: str) -> tuple[str, str]:
        if "=" not in text:
            raise click.BadParameter(f"{text!r} is not {form}")
        name, _, value = text.rpartition("=") if at_last else text.partition("=")
        return name, value

    return parse


def assignments(*names: str, form: str, help: str, at_last: bool = False) -> Decorator:  # noqa: A002  # click's word
    """A repeatable option for `NAME=VALUE`; the command gets pairs."""
    return click.option(*names, multiple=True, type=assignment(form, at_last=at_last), metavar=form, help=help)


def combined(*decorators: Decorator) -> Decorator:
    """Several options as one decorator; `--help` lists them in this order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):  # decorators apply from the last to the first
            command = decorator(command)
        return command

    return decorate


def paging(maximum: int) -> Decorator:
    return combined(
        click.option("--limit", type=click.IntRange(1, maximum), default=20, show_default=True, help="Rows to list."),
        click.option("--offset", type=click.IntRange(0), default=0, help="Rows to skip."),
    )


profile_option: Decorator = click.option(
    "--profile", default="", metavar="NAME", help="Profile; default: the settings'."
)
output_option: Decorator = click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write to FILE, not stdout."
)
# The question goes to stderr, so scripts hang without it.
yes_option: Decorator = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
overwrite_option: Decorator = click.option("--replace", is_flag=True, help="Overwrite FILE if it exists.")
valid_only_option: Decorator = click.option("--valid-only", is_flag=True, help="Leave out runs without a valid result.")
ruleset_option: Decorator = click.option("--ruleset", "ruleset_id", default="", help="Ruleset; default: as stored.")

benchmark_filters: Decorator = combined(
    click.option("--region", default="", help="Region of the runs; default: that of the default profile."),
    click.option("--rehearsals", is_flag=True, help="Rehearsals instead of the region's measurements."),
    click.option("--model", "models", multiple=True, help="Only this model; can be repeated, like the filters below."),
    click.option("--workload", "workloads", multiple=True, help="Only this workload."),
    click.option("--flavor", "flavors", multiple=True, help="Only this flavor."),
    click.option("--nodes", "node_counts", type=int, multiple=True, help="Only this number of nodes."),
)
"""What chooses benchmark configurations; `query_of` takes the values."""

run_filters: Decorator = combined(
    benchmark_filters,
    click.option("--framework-version", "framework_versions", multiple=True, help="Only this framework version."),
    click.option("--origin", type=click.Choice(["launched", "imported"]), help="Only launched or only imported runs."),
    click.option("--tag", "tags", multiple=True, help="Only runs with this tag; if repeated, with all of them."),
    click.option("--text", default="", help="Search id, job, author, title, model, workload, version and flavor."),
)

import_options: Decorator = combined(
    click.option("--job", type=click.Choice(["v1", "v2"]), help="Only session_config (v1) or session_config_v2 (v2)."),
    click.option("-o", "--output", type=click.Path(path_type=Path), metavar="SPEC.yaml", help="Write the spec here."),
    click.option("--save-profile", is_flag=True, help="Write the profile to data/profiles/."),
    click.option("--save-keys", is_flag=True, help="Write the keys to data/credentials.yaml, mode 0600."),
    click.option("--replace", is_flag=True, help="Overwrite a profile or keys of the same name."),
)
"""What to do with an imported configuration of ais-bench-stubs."""

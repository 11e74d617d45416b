"""A group whose commands are imported when one of them is typed: `--help` and completion need their sentences only."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

Listed = Mapping[str, tuple[str, str]]
"""Commands by name: where each is, as `module:name` below this package, and the first sentence of its help."""


class LazyGroup(click.Group):
    """A group of `listed` commands, and of those that are added to it."""

    def __init__(self, *arguments: Any, listed: Listed, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._listed = listed

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """In the order of the work; click would sort by name."""
        return [*self._listed, *(name for name in self.commands if name not in self._listed)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self._listed and cmd_name not in self.commands:
            module, _, name = self._listed[cmd_name][0].partition(":")
            self.add_command(getattr(import_module(f"{__package__}.{module}"), name), cmd_name)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _Sentences(self._listed).format_commands(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        commands = _Sentences(self._listed).commands.items()
        items = [
            CompletionItem(name, help=each.get_short_help_str())
            for name, each in commands
            if name.startswith(incomplete)
        ]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]


class _Sentences(click.Group):
    """Stands for the commands where only their sentences are shown."""

    def __init__(self, listed: Listed) -> None:
        super().__init__(commands=[click.Command(name, help=sentence) for name, (_, sentence) in listed.items()])

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(self.commands)

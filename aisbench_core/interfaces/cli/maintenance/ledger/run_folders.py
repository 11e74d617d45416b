"""`aisbench run-folders`: where they are kept."""

import click

from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.options import Group

run_folders = Group("run-folders", help="Publish run folders on OBS, for several machines.")


@run_folders.command()
def publish() -> None:
    """Send every run folder of this machine to run_folders on OBS; what is there already is not sent again.

    For the first start with the setting run_folders. After an interruption, type it again.
    """
    core = open_core(writing=True)
    count = core.folder_publishing.publish(
        lambda done, total: (
            display.print_message(f"{done:,} of {display.format_count(total, 'run folder')} published")
            if done % 100 == 0 or done == total
            else None
        ),
        get_actor(),
    )
    click.echo(f"{display.format_count(count, 'run folder')} published")

"""`aisbench upgrade`: a data folder of a development version, to be used by this one."""

from datetime import UTC, datetime

import click

from aisbench_core.config.data_folder import prepare_data_folder
from aisbench_core.config.settings import load_settings
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.exit_codes import OUR_ERROR
from aisbench_core.interfaces.cli.options import command
from aisbench_core.maintenance.upgrading.run_folders import RunFolderUpgrade
from aisbench_core.maintenance.upgrading.service import FolderUpgrade

# Errors that are listed.
MAX_LISTED = 20


@command()
@click.pass_context
def upgrade(ctx: click.Context) -> None:
    """Upgrade the data folder of a development version, so that this version can use it.

    Stop the console and the follower first, on all machines. Ledger and warehouse are upgraded, and the runs recorded
    again from their folders; the old files are kept in before-upgrade. After an interruption, type it again.
    A team's ledger and warehouse are upgraded where they are, and no copy is made: dump the databases before. The exit
    code is 1 if folders differ from what was recorded of them; the results that were stored stay.
    """
    settings = load_settings()
    prepare_data_folder(settings)
    with FolderUpgrade(settings, display.print_message).upgraded_stores(datetime.now(UTC)) as is_old:
        if not is_old:
            click.echo("nothing to upgrade")
            return
        core, actor = open_core(writing=True), get_actor()
        RunFolderUpgrade(core.folders, core.ledger, core.storage.seals).upgrade_folders(actor)
        rebuilt = core.storage.record_again(actor)
    click.echo(f"{display.format_count(rebuilt.runs, 'run')} recorded again")
    for error in rebuilt.unread[:MAX_LISTED]:
        display.print_message(f"error: {error}")
    if rebuilt.unread:
        display.print_message(f"{display.format_count(len(rebuilt.unread), 'run')} not recorded again")
        ctx.exit(OUR_ERROR)

"""`aisbench backup` and `restore`: everything of a data folder in one file, and back."""

from pathlib import Path

import click

from aisbench_core.config.settings import load_settings
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.options import command, overwrite_option
from aisbench_core.maintenance.backups.manifest import BackupManifest
from aisbench_core.maintenance.backups.restoring import restore_backup

_file = click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))


@command()
@_file
@overwrite_option
def backup(file: Path, replace: bool) -> None:
    """Write everything that cannot be computed again to FILE, a .tar.gz; runs go on meanwhile.

    It has the ledger, the warehouse with baselines and views, run folders, series, profiles, channels and keys, so only
    its owner can read it. It lacks a team's ledger and warehouse, the sandbox and logs of the console.
    docs/running.md describes backups.
    """
    manifest = open_core(writing=True).backups.create(file.absolute(), get_actor(), replace=replace)
    click.echo(f"{file}: {_format_manifest(manifest)}")
    if manifest.audit:
        display.print_message(f"its audit ends with {manifest.audit}, which `aisbench audit --verify --head` looks for")


@command()
@_file
def restore(file: Path) -> None:
    """Unpack a backup as the data folder, which must be missing or empty.

    Stop the console and follower that the backup is of first: two followers of the same jobs would both change them.
    """
    settings = load_settings()
    manifest = restore_backup(file, settings)
    click.echo(f"{settings.data_dir}: {_format_manifest(manifest)}")
    if not manifest.with_ledger:
        display.print_message("the ledger is the team's, and is not part of the backup: pg_restore brings it back")
    if not manifest.with_warehouse:
        display.print_message("the warehouse is the team's, and is not part of the backup")


def _format_manifest(manifest: BackupManifest) -> str:
    return f"{display.format_count(manifest.runs, 'recorded run')}, {display.local_time(manifest.created_at)}"

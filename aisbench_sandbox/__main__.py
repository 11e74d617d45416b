"""The command `aisbench-sandbox`: an emulated region (OBS and ModelArts) on this machine."""

import sys
from pathlib import Path

import click
from pydantic import ValidationError

from aisbench_core.base.private_files import private_umask
from aisbench_sandbox.capacity import Plan
from aisbench_sandbox.connections import is_loopback
from aisbench_sandbox.engine.engine import GRACE_SECONDS, MANY_CARDS, EngineLimits, default_cards
from aisbench_sandbox.engine.node.container import Containers
from aisbench_sandbox.engine.node.isolation import SWITCH, RealKeys
from aisbench_sandbox.region import EngineKind, Protected
from aisbench_sandbox.server import CannotStart, Options, serve_region

_CANNOT_START = 1
_PORT = click.IntRange(0, 65535)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to keep all in.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--modelarts-port", type=_PORT, default=8610, show_default=True, help="0: any free port.")
@click.option("--obs-port", type=_PORT, default=8611, show_default=True, help="0: any free port.")
@click.option(
    "--engine",
    type=click.Choice([kind.value for kind in EngineKind]),
    default=EngineKind.SUBPROCESS.value,
    show_default=True,
    help="subprocess: jobs really run; scripted: they follow a script.",
)
@click.option(
    "--cards", type=click.IntRange(1, 4096), help="Cards that run at once.  [default: the larger of 16 and 4 per core]"
)
@click.option(
    "--grace",
    type=click.FloatRange(0, 600),
    default=GRACE_SECONDS,
    show_default=True,
    help="Seconds that processes have to end when they are asked to.",
)
@click.option(
    "--container",
    type=click.Choice([wish.value for wish in Containers]),
    default=Containers.AUTO.value,
    show_default=True,
    help="auto: jobs run in private namespaces where Linux allows it; none: never.",
)
@click.option(
    "--capacity",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="JSON file: dedicated pools and their nodes.",
)
@click.option(
    "--hide",
    type=click.Path(path_type=Path),
    multiple=True,
    help="File or folder that jobs must not see; may be given again.",
)
@click.option(
    "--real-keys",
    type=click.Path(path_type=Path),
    multiple=True,
    help="File that may hold real keys: hidden, and no job runs where it could be read.",
)
@click.option("--beside-real-keys", is_flag=True, help="Run no job where it could read what other programs hold.")
@click.option(SWITCH, "expose", is_flag=True, help="Run jobs even where they can read real keys.")
@click.option("--allow-remote", is_flag=True, help="Listen on an address that others can reach.")
def main(
    data: Path,
    host: str,
    modelarts_port: int,
    obs_port: int,
    engine: str,
    cards: int | None,
    grace: float,
    container: str,
    capacity: Path | None,
    hide: tuple[Path, ...],
    real_keys: tuple[Path, ...],
    beside_real_keys: bool,
    expose: bool,
    allow_remote: bool,
) -> None:
    """Pretend to be a ModelArts region on this machine, and really run its training jobs here.

    Writes profile.yaml and credentials.yaml into the data folder; ends with SIGTERM or Ctrl-C."""
    if not (allow_remote or is_loopback(host)):
        raise click.UsageError(
            f"{host} can be reached by others, and whoever has the keys runs programs here: add --allow-remote"
        )
    try:
        kind = EngineKind(engine)
        # Scripted jobs use no cores, so they queue for each other only when --cards says so.
        limits = EngineLimits(cards or (default_cards() if kind is EngineKind.SUBPROCESS else MANY_CARDS), grace)
        plan = _read_plan(capacity) if capacity else None
        wish = Containers(container)
        protected = Protected((*hide, *real_keys), RealKeys(beside_real_keys, real_keys, expose))
        # Keys, objects and logs are for the user who starts it.
        with private_umask():
            serve_region(
                Options(data, host, modelarts_port, obs_port, kind, limits, wish, plan, protected),
                _print_line,
                _print_warning,
            )
    except CannotStart as error:
        click.echo(f"aisbench-sandbox: {error}", err=True)
        sys.exit(_CANNOT_START)


def _read_plan(file: Path) -> Plan:
    try:
        return Plan.model_validate_json(file.read_bytes())
    # A wrong option, so that click exits with 2 and shows the usage.
    except ValidationError as error:
        raise click.UsageError(f"--capacity {file}: {error}") from error


def _print_line(line: str) -> None:
    click.echo(line)
    # Into a pipe Python writes in blocks, and whoever has started the sandbox waits for this line.
    sys.stdout.flush()


def _print_warning(line: str) -> None:
    click.echo(f"aisbench-sandbox: {line}", err=True)


if __name__ == "__main__":
    main()

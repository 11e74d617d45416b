"""`aisbench tensorboard`: TensorBoard over the event files of runs, until interrupted."""

import signal
from contextlib import closing

import click

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import Message
from aisbench_core.domain.summaries.tensorboards import TensorBoards
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import open_core
from aisbench_core.interfaces.cli.options import command


@command()
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on this machine; default: a free one.")
def tensorboard(run_ids: tuple[str, ...], port: int) -> None:
    """Show the event files of runs in TensorBoard, until interrupted.

    Needs the extra `tensorboard`. Its address is printed; only this machine reaches it, and only with the token in it.
    Files of runs that still run are read again as they grow. The console starts TensorBoard on a run's page.
    """
    core = open_core(writing=False)
    folders = {core.ledger.get(run_id).run_id: core.files.summaries(run_id) for run_id in run_ids}
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # end like Ctrl-C: TensorBoard first
    with closing(TensorBoards()) as tensorboards:
        started = tensorboards.start(folders, port)
        click.echo(f"TensorBoard: http://127.0.0.1:{started.port}{started.path}")
        display.print_message("press Ctrl-C to stop")
        try:
            code = started.process.wait()
        except KeyboardInterrupt:
            display.print_message("\nstopping")
        else:
            raise AisbenchError(Message("{program} exited with code {code}", program="TensorBoard", code=code))

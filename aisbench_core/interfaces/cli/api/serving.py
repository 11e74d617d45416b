"""`aisbench api serve`: the API without the console."""

import click

from aisbench_core.config.console_address import is_loopback
from aisbench_core.interfaces.api.serving import serve_api
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.options import Group

api = Group("api", help="Serve the REST API without the console; docs/api.md lists its endpoints.")


@api.command()
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8502, show_default=True, help="Port, 0 for a free one.")
def serve(host: str, port: int) -> None:
    """Serve the API until interrupted. `aisbench serve` does so beside the console's pages.

    Runs are followed by `aisbench follow` or the console, not by this. Every request needs a token, which travels
    unencrypted: put a proxy with TLS before an address that other machines can reach.
    """
    if not is_loopback(host):
        display.print_message(f"listening on {host} without TLS: tokens can be read on the way")
    serve_api(host, port, lambda address: click.echo(f"AISBench API: {address}"))

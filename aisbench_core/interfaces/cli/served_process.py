"""The process of one served command: reads what the server passes on, and runs the command as if it were typed here.

`aisbench_core/interfaces/commands/process.py` starts it, and `child.py` beside it ends it when the server is gone.
"""

import os
import resource
import signal
import sys
from typing import IO

from click import termui

from aisbench_core.base.private_files import PRIVATE_UMASK
from aisbench_core.interfaces.cli.entry import main as command_line
from aisbench_core.interfaces.cli.invocation import Invocation
from aisbench_core.interfaces.cli.remote.lists import REMOTE
from aisbench_core.interfaces.cli.remote.streams import ClientInput, NamedText
from aisbench_core.interfaces.cli.served import RecordChannel, ServedCommand
from aisbench_core.interfaces.commands.request import CommandRequest, ServedBy

NOT_SERVED = 2  # as wrong usage
# The engine limits itself, but not what its answers become in Python: a list takes a hundred times as much there.
MOST_MEMORY = 8 * 1024**3


def main() -> None:
    """Run the command, and exit with its code."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a server in the background ignores it
    _limit_memory()
    served = _receive_command(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"))
    _redirect_streams(served)
    request = served.request
    name = " ".join(request.command)
    if name not in REMOTE:
        print(f"error: a server does not run `aisbench {name}`", file=sys.stderr)
        sys.exit(NOT_SERVED)
    _store_files(served)
    arguments = [*request.command, *request.arguments]
    command_line(arguments, prog_name="aisbench", obj=Invocation(PRIVATE_UMASK, served))


def _limit_memory() -> None:
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    limit = MOST_MEMORY if hard == resource.RLIM_INFINITY else min(MOST_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _receive_command(answers: IO[bytes], records: IO[bytes]) -> ServedCommand:
    by = ServedBy.model_validate_json(answers.readline())
    request = CommandRequest.model_validate_json(answers.readline())
    return ServedCommand(by, request, RecordChannel(records, answers))


def _store_files(served: ServedCommand) -> None:
    try:
        served.store_files()
    except OSError as error:  # a full disk, or a file with the name of a folder
        print(f"error: the server cannot store the files of the command: {error.strerror}", file=sys.stderr)
        sys.exit(NOT_SERVED)


def _redirect_streams(served: ServedCommand) -> None:
    """Records are the only way out. What libraries and programs write to the streams themselves goes to the log."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdout, sys.stderr = NamedText(served, "stdout"), NamedText(served, "stderr")
    sys.stdin = ClientInput(served)
    termui.visible_prompt_func = lambda prompt: _ask_client(served, prompt, "line")
    termui.hidden_prompt_func = lambda prompt: _ask_client(served, prompt, "hidden")


def _ask_client(served: ServedCommand, prompt: str, how: str) -> str:
    to_stderr = sys.stdout is sys.stderr  # click redirects it where the question goes to stderr
    return served.channel.ask(prompt, how, to_stderr=to_stderr)


if __name__ == "__main__":
    main()

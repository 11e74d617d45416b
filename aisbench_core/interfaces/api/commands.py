"""Commands of `aisbench`: run in a process of their own, their output sent while it comes, ended with the client."""

import asyncio
import re
import signal
from contextlib import aclosing, suppress
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from aisbench_core.base.messages import Message
from aisbench_core.interfaces.api.endpoint import ApiCall
from aisbench_core.interfaces.api.idempotency import KEY
from aisbench_core.interfaces.api.problems import ApiError
from aisbench_core.interfaces.commands.process import CommandProcess
from aisbench_core.interfaces.commands.records import MEDIA_TYPE
from aisbench_core.interfaces.commands.request import CommandRequest, InputRequest
from aisbench_core.interfaces.commands.running import RunningCommands

SHUTDOWN_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class CommandId:
    """A command that is running."""

    command_id: str


def run_command(call: ApiCall) -> Response:
    """Run a command in the token's name; the answer is a record a line."""
    request: CommandRequest = call.body
    key = call.headers.get(KEY.name, "")
    if not re.fullmatch(KEY.pattern, key):
        raise ApiError(
            Message("the header {header} is missing or not 1 to 200 visible characters", header=KEY.name),
            Message("send a new random value for each command"),
        )

    def check() -> None:
        call.core.tokens.active(call.token.token_id)

    return CommandStream(call.commands.admit(call.token, key, request, check), call.commands)


def answer_command(call: ApiCall) -> CommandId:
    """Pass a line of input to a command that asks for one."""
    body: InputRequest = call.body
    process = call.commands.get(call.path["command_id"], call.token)
    process.answer(body)
    return CommandId(process.command_id)


def interrupt_command(call: ApiCall) -> CommandId:
    """Interrupt a command, as Ctrl-C does."""
    process = call.commands.get(call.path["command_id"], call.token)
    process.interrupt()
    return CommandId(process.command_id)


class CommandStream(Response):
    """Sends the records of a command while they come. When the client leaves, the command ends."""

    media_type = MEDIA_TYPE

    def __init__(self, process: CommandProcess, commands: RunningCommands) -> None:
        super().__init__()
        self._process = process
        self._commands = commands
        # A proxy that collects answers would hold the output back.
        self.headers["X-Accel-Buffering"] = "no"
        self.headers["Cache-Control"] = "no-store"
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  # of ASGI
        """Answer until the command, the client, the server, the token or the time has ended."""
        waits = [
            self._send_records(send),
            _wait_for_leaving(receive),
            _wait_for_shutdown(),
            self._process.wait_until_ended(),
        ]
        tasks = [asyncio.create_task(each) for each in waits]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            try:
                await self._process.close()
            finally:
                self._commands.release(self._process)

    async def _send_records(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with aclosing(self._process.records()) as records:
            with suppress(OSError):  # the client has left
                async for record in records:
                    await send({"type": "http.response.body", "body": record, "more_body": True})
                await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _wait_for_shutdown() -> None:
    """Until the server is told to end: it waits for all answers before it tells the app, and commands take hours."""
    while True:
        # uvicorn says so nowhere else than in the object whose method handles the signal.
        server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
        if getattr(server, "should_exit", False):
            return
        await asyncio.sleep(SHUTDOWN_POLL_SECONDS)


async def _wait_for_leaving(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

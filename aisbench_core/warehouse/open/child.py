"""The processes of queries: one that has loaded everything, and forks another one for each query (process.py)."""

import json
import os
import resource
import signal
import socket
import struct
import threading
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import pandas as pd  # noqa: F401  # DuckDB imports it for the first value of a query, for half a second

from aisbench_core.base.errors import AisbenchError
from aisbench_core.warehouse.open.memory import memory_limited
from aisbench_core.warehouse.open.process import DONE, PID, data_of
from aisbench_core.warehouse.open.queries import Query, execute_query, read_arrow
from aisbench_core.warehouse.open.reading import CopyReader, FileReader, LakeReader, Reader
from aisbench_core.warehouse.open.tables import BATCH_ROWS, iter_stream
from aisbench_core.warehouse.store.team import Access, Bucket, TeamLocation

# How much longer than its time limit a query may take: then it was interrupted, and does not listen.
GRACE_S = 1.0
# Queries give way to everything else on the server, and those that take longer than most to the others.
NICENESS, QUICK_S, LONG_NICENESS = 10, 1.0, 19


def main() -> None:
    """Fork a process for each three pipes that come through stdin, until the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, and ends this with it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that no process stays as a zombie
    with socket.socket(fileno=0) as channel:
        while True:
            _, pipes, _, _ = socket.recv_fds(channel, 1, 3)
            if not pipes:
                return
            pid = os.fork()
            if pid == 0:
                channel.close()
                _run_task(*pipes)
            for pipe in pipes:
                os.close(pipe)
            channel.sendall(struct.pack(PID, pid))


def _run_task(task: int, answer: int, said: int) -> None:
    """Answer the query of the first pipe into the second, and say in the third how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # the process ends with whoever reads its answer
    with os.fdopen(said, "w") as end:
        try:
            end.write(_end_of(task, answer))
        except BaseException:  # a bug: the server reports it, and nothing of this process may outlive it
            traceback.print_exc(file=end)
        finally:
            end.flush()
            os._exit(0)


def _end_of(task: int, answer: int) -> str:
    try:
        with os.fdopen(answer, "wb") as target, os.fdopen(task, "rb") as source:
            _answer_task(json.loads(source.read()), target)
    except AisbenchError as error:
        return json.dumps(data_of(error))
    return json.dumps(DONE)


def _answer_task(task: Mapping[str, Any], target: IO[bytes]) -> None:
    query = Query(**task["query"])
    _limit_process(query.seconds)
    with memory_limited(), execute_query(_make_reader(task), query) as cur:
        for part in iter_stream(read_arrow(cur, BATCH_ROWS)):
            target.write(part)


def _limit_process(seconds: float) -> None:
    os.nice(NICENESS)
    later = threading.Timer(QUICK_S, _give_way)
    later.daemon = True
    later.start()
    signal.setitimer(signal.ITIMER_REAL, seconds + GRACE_S)  # whose signal ends the process, whatever it is doing
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _give_way() -> None:
    for thread in Path("/proc/self/task").glob("*"):  # Linux keeps a priority for each thread
        with suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, int(thread.name), LONG_NICENESS)


def _make_reader(task: Mapping[str, Any]) -> Reader | CopyReader:
    if "copy" in task:
        return CopyReader(Path(task["copy"]))
    if "file" in task:
        return FileReader(Path(task["file"]))
    lake = task["lake"]
    access = Access(lake["access"]["password"], Bucket(**lake["access"]["bucket"]))
    return LakeReader(TeamLocation(lake["catalog"], lake["data_path"], lambda: access))


if __name__ == "__main__":
    main()

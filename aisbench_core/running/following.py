"""Starts followers: in a process of their own, or in a thread beside a console or a waiting command."""

import getpass
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from aisbench_core.authoring.workloads import Workloads
from aisbench_core.cloud.ports import Connect
from aisbench_core.errors import DamagedLedger
from aisbench_core.job_secrets import JobSecrets
from aisbench_core.messages import Message
from aisbench_core.model import Clock, RunRecord
from aisbench_core.running.collecting import Collecting
from aisbench_core.running.follower import Follower
from aisbench_core.running.launches import Launches
from aisbench_core.running.ledger import Ledger
from aisbench_core.running.steps import Steps
from aisbench_core.settings import Settings


class Following:
    """What every follower of this data folder is made of."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        workloads: Workloads,
        launches: Launches,
        secrets: JobSecrets,
        connect: Connect,
        record: Callable[[RunRecord], None],
        admission: Callable[[], Callable[[], None]],
        clock: Clock,
    ) -> None:
        """`record` stores an ended run; `admission` gives a function that launches the next cells of series."""
        self._settings = settings
        self._ledger = ledger
        self._workloads = workloads
        self._launches = launches
        self._secrets = secrets
        self._connect = connect
        self._record = record
        self._admission = admission
        self._clock = clock

    def follower(self, leaving: threading.Event | None = None) -> Follower:
        """A follower of all runs. `leaving`: set it to let a long upload end early."""
        leaving = leaving or threading.Event()
        # A damaged ledger admits no launch, so no folder is left over; the next follower clears them.
        with suppress(DamagedLedger):
            self._launches.clear()
        steps = Steps(self._settings, self._ledger, self._workloads, self._connect, self._clock, leaving)
        collecting = Collecting(self._ledger, self._connect, self._record, self._clock, self._secrets)
        return Follower(
            self._settings, self._ledger, steps, collecting, self._connect, self._clock, _name(), self._admission()
        )

    @contextmanager
    def in_background(self) -> Iterator[None]:
        """Follow in a thread for as long as this lasts, whenever no other process does."""
        stop = threading.Event()
        thread = threading.Thread(target=self.follower(stop).run_forever, args=(stop,), name="follower", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def _name() -> Message:
    return Message(
        "{user}@{host} (process {process})", user=getpass.getuser(), host=socket.gethostname(), process=os.getpid()
    )

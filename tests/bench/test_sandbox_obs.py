"""How the sandbox's OBS holds out: 200 clients at once for a minute, every answer checked, memory watched.

`LOAD_SECONDS=5 make bench` is a shorter look."""

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.contract.obs_load import Place, percentile, run_load
from tests.sandbox_process import SandboxProcess

CLIENTS = 200
SECONDS = float(os.environ.get("LOAD_SECONDS", "60"))
MOST_GROWTH_MB = 32  # from the first quarter to the end


class Memory:
    """Looks at a process' memory until told to stop: (seconds since the start, MB)."""

    def __init__(self, pid: int) -> None:
        self._status = Path(f"/proc/{pid}/status")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.looks: list[tuple[float, float]] = []
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def most(self, first: float, last: float) -> float:
        """The most MB between these two times."""
        return max(size for at, size in self.looks if first <= at <= last)

    def _look(self) -> None:
        begun = time.monotonic()
        while not self._over.wait(SECONDS / 100):
            lines = self._status.read_text().splitlines()
            size = next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))
            self.looks.append((time.monotonic() - begun, size))


def test_200_clients_for_a_minute_get_only_right_answers_and_memory_stays_flat(
    sandbox: SandboxProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(int(sandbox.obs_url.rpartition(":")[2]), *sandbox.keys, sandbox.bucket)
    memory = Memory(sandbox.pid)

    load = run_load(place, CLIENTS, SECONDS)
    memory.stop()

    early, late = memory.most(0, SECONDS / 4), memory.most(SECONDS * 3 / 4, SECONDS)
    done = sum(load.counts.values())
    kinds = ", ".join(f"{count} {name}" for name, count in sorted(load.counts.items()))
    median, slow = percentile(load.seconds, 0.5), percentile(load.seconds, 0.99)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{CLIENTS} clients for {SECONDS:.0f} s: {done / SECONDS:.0f} requests a second ({kinds}),"
            f" {len(load.wrong)} wrong; median {median * 1000:.0f} ms, 99 % within {slow:.2f} s;"
            f" memory {early:.0f} MB in the first quarter, {late:.0f} MB in the last"
        )
    assert load.wrong == []
    assert late - early < MOST_GROWTH_MB

"""Measures a job's processes: CPU and memory per minute and task, and whether they are active at all."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from aisbench_sandbox.engine.node.hang_detector import Activity
from aisbench_sandbox.engine.node.processes import PROC, Process, process_ids

Metrics = Mapping[str, Mapping[str, tuple[float, ...]]]
"""One value per minute, by task and metric."""


@dataclass(frozen=True, slots=True)
class _ProcessReading:
    """One process of this machine: its parent, its session, CPU seconds, and memory in percent."""

    parent: int
    session: int
    cpu_s: float
    memory: float


class Meter:
    """CPU and memory of a job's tasks, in percent of this machine: one value per minute, -1 for missing metrics.

    A restarted job keeps its `earlier` values; this attempt began `minutes` minutes after the first one."""

    MISSING = ("gpuUtil", "gpuMemUsage", "npuUtil", "npuMemUsage")

    def __init__(self, now: float, earlier: Metrics | None = None, minutes: int = 0) -> None:
        self._began = now
        self._first = minutes
        self._minute = 0
        self._tasks: dict[int, str] = {}
        self._used_before: dict[str, float] = {}
        self._cpu: dict[str, dict[int, float]] = {}
        self._transferred: dict[int, int] = {}
        self._values: dict[str, dict[str, list[float]]] = {
            task: {name: list(values) for name, values in metrics.items()} for task, metrics in (earlier or {}).items()
        }

    def watch(self, processes: Sequence[Process]) -> None:
        """Measure these processes as well, with their descendants and everything in their sessions."""
        for process in processes:
            self._tasks[process.popen.pid] = process.task
            self._cpu.setdefault(process.task, {})
            self._values.setdefault(process.task, {})

    def sample(self, now: float) -> dict[str, dict[str, tuple[float, ...]]]:
        """All measurements so far, by task and metric; the current minute's value is its average up to now."""
        self._start_minute(now)
        memory = self._read_usage()
        elapsed = max(now - self._began - 60 * self._minute, 0.05) * (os.cpu_count() or 1)
        for task, used in self._sum_cpu().items():
            cpu = 100 * (used - self._used_before.get(task, 0.0)) / elapsed
            # All six metrics of table 4-11 in the training guide; -1 is the API's value for a missing one.
            now_values = {"cpuUsage": cpu, "memUsage": memory.get(task, 0.0), **dict.fromkeys(self.MISSING, -1.0)}
            for name, value in now_values.items():
                values = self._values[task].setdefault(name, [])
                at = self._first + self._minute
                missed = [-1.0] * (at - len(values))
                values[at:] = [*missed, round(value, 2)]
        return {
            task: {name: tuple(values) for name, values in metrics.items()} for task, metrics in self._values.items()
        }

    def activity(self) -> Activity | None:
        """Total activity up to the last sample; None where the system does not report it."""
        if not self._transferred:
            return None
        return Activity(sum(self._transferred.values()), sum(self._sum_cpu().values()))

    def _start_minute(self, now: float) -> None:
        minute = int((now - self._began) // 60)
        if minute > self._minute:
            self._minute = minute
            self._used_before = self._sum_cpu()

    def _sum_cpu(self) -> dict[str, float]:
        return {task: sum(by_process.values()) for task, by_process in self._cpu.items()}

    def _read_usage(self) -> dict[str, float]:
        """Memory by task in percent; CPU seconds are stored per process, because ended ones count too."""
        memory: dict[str, float] = {}
        readings = _read_processes()
        for pid, reading in readings.items():
            task = self._task_of(pid, readings)
            if task is not None:
                # The last value stays when a process ends, else usage would go down.
                self._cpu[task][pid] = reading.cpu_s
                self._transferred[pid] = _count_transferred(pid, self._transferred.get(pid, 0))
                memory[task] = memory.get(task, 0.0) + reading.memory
        return memory

    def _task_of(self, pid: int, readings: Mapping[int, _ProcessReading]) -> str | None:
        """The task that a process belongs to: by its session, or by that of an ancestor.

        A program in a container has a session of its own; its ancestors are outside."""
        for _ in range(len(readings)):
            reading = readings.get(pid)
            if pid in self._tasks or reading is None:
                return self._tasks.get(pid)
            if reading.session in self._tasks:
                return self._tasks[reading.session]
            pid = reading.parent
        return None


def _read_processes() -> dict[int, _ProcessReading]:
    """Every process of this machine."""
    readings = {}
    for pid in process_ids():
        with suppress(OSError):  # ended meanwhile
            # A program's name stands in parentheses and may hold blanks and parentheses itself, so fields count from
            # the last one: proc(5) numbers them from 3 there.
            fields = (PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            cpu_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            memory = 100 * int(fields[21]) / os.sysconf("SC_PHYS_PAGES")
            readings[pid] = _ProcessReading(int(fields[1]), int(fields[3]), cpu_s, memory)
    return readings


def _count_transferred(pid: int, before: int) -> int:
    """Bytes that a process has read and written; the previous value if the system does not report it."""
    try:
        lines = (PROC / str(pid) / "io").read_text().splitlines()
    except OSError:
        return before
    values = dict(line.split(": ") for line in lines)
    # Not read_bytes and write_bytes: those count disks only, and a job may wait for data from the network.
    return int(values["rchar"]) + int(values["wchar"])

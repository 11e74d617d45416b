"""Measures what a job's processes use, once per minute and task."""

import os
from collections.abc import Sequence
from contextlib import suppress

from aisbench_core.sandbox.processes import PROC, Process, process_ids


class Meter:
    """CPU and memory of a job's tasks, in percent of this machine: one value per minute, -1 for what it lacks."""

    MISSING = ("gpuUtil", "gpuMemUsage", "npuUtil", "npuMemUsage")

    def __init__(self, now: float) -> None:
        self._began = now
        self._minute = 0
        self._tasks: dict[int, str] = {}
        self._used_before: dict[str, float] = {}
        self._cpu: dict[str, dict[int, float]] = {}
        self._values: dict[str, dict[str, list[float]]] = {}

    def watch(self, processes: Sequence[Process]) -> None:
        """Measure these, too; each leads a session, whose other processes count with it."""
        for process in processes:
            self._tasks[process.popen.pid] = process.task
            self._cpu.setdefault(process.task, {})
            self._values.setdefault(process.task, {})

    def sample(self, now: float) -> dict[str, dict[str, tuple[float, ...]]]:
        """Everything measured so far, by task and metric; the running minute's value is its average up to now."""
        self._turn_minute(now)
        memory = self._read()
        elapsed = max(now - self._began - 60 * self._minute, 0.05) * (os.cpu_count() or 1)
        for task, used in self._used().items():
            cpu = 100 * (used - self._used_before.get(task, 0.0)) / elapsed
            now_values = {"cpuUsage": cpu, "memUsage": memory.get(task, 0.0), **dict.fromkeys(self.MISSING, -1.0)}
            for name, value in now_values.items():
                values = self._values[task].setdefault(name, [])
                missed = [-1.0] * (self._minute - len(values))
                values[self._minute :] = [*missed, round(value, 2)]
        return {
            task: {name: tuple(values) for name, values in metrics.items()} for task, metrics in self._values.items()
        }

    def _turn_minute(self, now: float) -> None:
        minute = int((now - self._began) // 60)
        if minute > self._minute:
            self._minute = minute
            self._used_before = self._used()

    def _used(self) -> dict[str, float]:
        return {task: sum(by_process.values()) for task, by_process in self._cpu.items()}

    def _read(self) -> dict[str, float]:
        """Memory by task in percent; the CPU seconds are kept by process, since those that ended count too."""
        memory: dict[str, float] = {}
        for pid in process_ids():
            with suppress(OSError):
                fields = (PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
                task = self._tasks.get(int(fields[3]))  # the session is named after the process that we started
                if task is not None:
                    self._cpu[task][pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
                    memory[task] = memory.get(task, 0.0) + 100 * int(fields[21]) / os.sysconf("SC_PHYS_PAGES")
        return memory

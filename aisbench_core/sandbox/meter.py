"""Measures what a job's processes use, once per minute and task."""

import os
from collections.abc import Sequence
from contextlib import suppress

from aisbench_core.sandbox.processes import PROC, Process, process_ids


class Meter:
    """CPU and memory of a job's tasks, in percent of this machine: one value per minute, -1 for what it lacks."""

    MISSING = ("gpuUtil", "gpuMemUsage", "npuUtil", "npuMemUsage")

    def __init__(self, processes: Sequence[Process], now: float) -> None:
        self._tasks = {process.popen.pid: process.task for process in processes}
        self._began = now
        self._minute = 0
        self._minute_began = now
        self._used_before: dict[str, float] = {}
        self._cpu: dict[str, dict[int, float]] = {task: {} for task in set(self._tasks.values())}
        self._values: dict[str, dict[str, list[float]]] = {task: {} for task in self._cpu}

    def sample(self, now: float) -> dict[str, dict[str, tuple[float, ...]]]:
        """Everything measured so far, by task and metric; the running minute's value is its average up to now."""
        self._turn_minute(now)
        memory = self._read()
        elapsed = max(now - self._minute_began, 0.05) * (os.cpu_count() or 1)
        for task, used in self._used().items():
            cpu = 100 * (used - self._used_before.get(task, 0.0)) / elapsed
            now_values = {"cpuUsage": cpu, "memUsage": memory.get(task, 0.0), **dict.fromkeys(self.MISSING, -1.0)}
            for name, value in now_values.items():
                values = self._values[task].setdefault(name, [])
                values[self._minute :] = [round(value, 2)]
        return {
            task: {name: tuple(values) for name, values in metrics.items()} for task, metrics in self._values.items()
        }

    def _turn_minute(self, now: float) -> None:
        if now - self._minute_began >= 60:
            self._minute += 1
            self._minute_began = now
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

"""Sample use, memory, power and temperature of a node's cards, for aisbench_report.py: on Python 3.7 and later."""

from __future__ import annotations

import json
import re
import shutil
import threading
import time
from pathlib import Path

import aisbench_passport
import aisbench_report

# A tool that hangs (npu-smi does, when the driver is busy resetting a card) is ended after this time.
_TOOL_SECONDS = 10.0
_SHORTEST_SECONDS = 10.0  # between two readings
# A reading may take at most this share of the time, so that slow tools are asked less often.
_MOST_SHARE = 0.01
_MOST_FAILURES = 3  # in a row; then the tool is not asked again
_MOST_OUTPUT = 256 * 1024  # bytes of one reading
_MOST_STORED = 16 * 1024 * 1024  # bytes of the file
_REMOTE_READINGS = 10  # an object cannot be appended to, so it is only written after so many

_ASCEND = ["npu-smi", "info"]
_QUERY = "index,utilization.gpu,memory.used,memory.total,power.draw,temperature.gpu"
_NVIDIA = ["nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits"]
_samplers = []  # type: list[_Sampler]


def start(every: float) -> None:
    """Read the cards at intervals of so many seconds, if this node has a tool for them."""
    command = next((one for one in (_ASCEND, _NVIDIA) if shutil.which(one[0])), None)
    if not _samplers and command is not None:
        _samplers.append(_Sampler(command, max(every, _SHORTEST_SECONDS)))
        _samplers[0].start()


def finish() -> None:
    """Stop reading, and write what is not written yet."""
    for sampler in _samplers:
        sampler.finish()


class _Sampler(threading.Thread):
    """Reads the cards at intervals. A daemon: it never keeps a script from ending."""

    def __init__(self, command: list[str], seconds: float) -> None:
        super().__init__(name="aisbench-cards", daemon=True)
        self._command, self._seconds = command, seconds
        self._ended = threading.Event()
        self._name = f"cards_{aisbench_report._server()}_{int(time.time())}.jsonl"
        self._lines = []  # type: list[str]
        self._stored, self._readings, self._spent = 0, 0, 0.0

    def run(self) -> None:
        """Read and wait, until the script is done, the tool is no use, or the file is full."""
        failures = 0
        while failures < _MOST_FAILURES and self._stored < _MOST_STORED:
            began = time.monotonic()
            try:
                failures = 0 if self._read() else failures + 1
            except Exception:  # whatever goes wrong here must not reach the training
                failures += 1
            took = time.monotonic() - began
            self._spent += took
            if self._ended.wait(max(self._seconds, took / _MOST_SHARE)):
                return

    def finish(self) -> None:
        """Stop reading, write what is not written yet, and print what the readings cost."""
        self._ended.set()
        self.join(1.0)  # a tool that hangs now is left behind
        try:
            self._flush()
        except Exception as error:
            print(f"aisbench: samples of the cards are not stored: {error}", flush=True)
        if self._readings:
            mean = self._spent / self._readings
            print(f"aisbench: {self._command[0]} was read {self._readings} times, {mean:.3f} s each", flush=True)

    def _read(self) -> bool:
        at = time.time()
        text = aisbench_passport.read_tool(self._command, _TOOL_SECONDS, _MOST_OUTPUT)
        values = _ascend_cards(text) if self._command is _ASCEND else _nvidia_cards(text)
        if not values:
            return False
        line = json.dumps({"at": round(at, 3), "cards": values}, separators=(",", ":")) + "\n"
        self._lines.append(line)
        self._stored, self._readings = self._stored + len(line), self._readings + 1
        remote = aisbench_report._train_url().startswith(aisbench_report._REMOTE)
        if not remote or self._readings % _REMOTE_READINGS == 0:
            self._flush()
        return True

    def _flush(self) -> None:
        directory = aisbench_report._train_url()
        if self._lines and directory.startswith(aisbench_report._REMOTE):
            aisbench_report._write_remote(f"{directory.rstrip('/')}/{self._name}", "".join(self._lines))
        elif self._lines:
            Path(directory).mkdir(parents=True, exist_ok=True)
            with (Path(directory) / self._name).open("a", encoding="utf-8") as file:
                file.write("".join(self._lines))
            self._lines = []


def _ascend_cards(text: str) -> dict[str, dict[str, float]]:
    """Measured values by card, from the table of `npu-smi info`: two lines for each chip, three columns each.

    Cards are numbered in the order of the table: that is how a job counts them, whatever their number in the host."""
    found = {}  # type: dict[str, dict[str, float]]
    power, temperature = "", ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 3 or not re.match(r"\d+\b", cells[0]):
            continue
        values = cells[2].split()
        pairs = re.findall(r"(\d+)\s*/\s*(\d+)", cells[2])
        if re.match(r"(\w{4}:)?\w{2}:\w{2}\.\w$|NA$", cells[1]) and values and pairs:
            used, total = pairs[-1]  # HBM is the last column; chips without it have only memory
            found[str(len(found))] = _measured(values[0], used, total, power, temperature)
            power, temperature = "", ""
        elif len(values) >= 2:
            power, temperature = values[:2]
    return found


def _nvidia_cards(text: str) -> dict[str, dict[str, float]]:
    """Measured values by card, from the CSV of nvidia-smi."""
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines()]
    return {row[0]: _measured(*row[1:]) for row in rows if len(row) == 6 and row[0].isdigit()}


def _measured(use: str, used: str, total: str, power: str, temperature: str) -> dict[str, float]:
    """Only what is a number: tools print NA or [N/A] for what a card does not measure."""
    texts = {"coreUtil": use, "memoryUsed": used, "memoryTotal": total, "power": power, "temperature": temperature}
    return {name: float(text) for name, text in texts.items() if re.match(r"\d+(\.\d+)?$", text)}

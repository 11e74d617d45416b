"""Files of one rank that grow line by line, for aisbench_report.py: on Python 3.7 and later.

A line is with the system before its call returns, so that nothing is lost when the rank dies. Objects (obs://, s3://)
cannot be appended to: they are written anew from time to time, and when the script ends, under a name that ends with
the second in which the process began.

    metrics_{server}_{card}.jsonl     a line for each metric()
    phases_{server}_{card}.jsonl      a line where a phase begins
    step_times_{server}_{card}.csv    a line for each step(): n,at,seconds,samples,tokens
    cards_{server}_{card}.jsonl       a line for each power()
"""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import os
import re
import time
from pathlib import Path

import aisbench_report

_MOST_BYTES = 4 * 1024 * 1024  # of a file: 90,000 steps
_MOST_METRICS_BYTES = 256 * 1024  # then only the last line of each metric stays
_MOST_METRICS = 501  # names; the console stores 500, and says that there were more
_REMOTE_SECONDS = 10.0
_REMOTE_STEP_SECONDS = 60.0

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,79}")
_BETTER = ("higher", "lower", "")
_COMBINED = ("sum", "mean", "max", "min", "first")
_PHASES = ("init", "compile", "data", "train", "eval", "checkpoint_save", "checkpoint_load")

_files = {}  # type: dict[str, _Lines]
_tails = {}  # type: dict[tuple[str, str, str, str], str]  # what the lines of a metric end with
_began = time.time()  # tells the attempts of a job apart, which add to the same files
_phase = ""


class _Lines:
    """Appends lines to a file; an error ends the file, not the training."""

    def __init__(self, kind: str, suffix: str, every: float = _REMOTE_SECONDS, most: int = _MOST_BYTES) -> None:
        self._name = f"{kind}_{aisbench_report._server()}_{aisbench_report._card()}.{suffix}"
        self._every, self._left = every, most
        self._file, self._remote, self._written = -1, "", -math.inf
        self._pending = []  # type: list[str]
        self.path, self._is_ended = "", False
        try:
            directory = aisbench_report._train_url().rstrip("/")
            is_remote = directory.startswith(aisbench_report._REMOTE)
            if is_remote:
                self._name = f"{self._name.rpartition('.')[0]}_{int(_began)}.{suffix}"
            self.path = f"{directory}/{self._name}"
            if is_remote:
                self._remote = self.path
                atexit.register(self.flush)
                return
            Path(directory).mkdir(parents=True, exist_ok=True)
            self.open()
            self._left -= os.fstat(self._file).st_size
        except Exception as error:
            self._end(error)

    def open(self) -> None:
        """Open the file, maybe in place of another one of this name."""
        if self._file >= 0:
            os.close(self._file)
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def add(self, line: str) -> bool:
        """Append a line; False if the file is full."""
        if self._is_ended:
            return True
        self._left -= len(line)
        if self._left < 0:
            return False
        if self._file >= 0:
            try:
                os.write(self._file, line.encode())
            except OSError as error:
                self._end(error)
        elif self._remote:
            self._pending.append(line)
            if time.monotonic() - self._written >= self._every:
                self.flush()
        return True

    def flush(self) -> None:
        """Write an object anew."""
        if not self._remote or not self._pending:
            return
        self._written = time.monotonic()
        try:
            aisbench_report._write_remote(self._remote, "".join(self._pending))
        except Exception as error:
            self._end(error)

    def keep_last(self, most: int) -> None:
        """Keep only the last line of each name, so that there is room again."""
        try:
            lines = self._pending if self._remote else Path(self.path).read_text("utf-8", "replace").splitlines(True)
            last = {}  # type: dict[str, str]
            for line in lines:
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    last[json.loads(line)["name"]] = line
            self._pending, text = list(last.values()) if self._remote else [], "".join(last.values())
            self._left = most - len(text)
            if not self._remote:
                unfinished = Path(f"{self.path}.{os.getpid()}")
                unfinished.write_text(text, "utf-8")
                unfinished.replace(self.path)
                self.open()
        except OSError as error:
            self._end(error)

    def _end(self, error: Exception) -> None:
        self._is_ended, self._remote = True, ""
        print(f"aisbench: {self._name} is no longer written: {error}", flush=True)


def add_metric(name: str, value: float, unit: str, better: str, combined: str) -> None:
    """Add a line about a metric."""
    key = (name, unit, better, combined)
    tail = _tails.get(key) or _make_tail(*key)
    if not tail:
        return
    file = _files.get("metrics") or _open("metrics", "jsonl", _REMOTE_SECONDS, _MOST_METRICS_BYTES)
    # The value is null where it is no finite number: the console says so, and the training goes on.
    text = repr(float(value)) if math.isfinite(value) else "null"
    line = f'{{"at":{time.time():.3f},"value":{text},{tail}'
    if not file.add(line):
        file.keep_last(_MOST_METRICS_BYTES)
        file.add(line)


def _make_tail(name: str, unit: str, better: str, combined: str) -> str:
    for what, text, allowed in (("better", better, _BETTER), ("combined", combined, _COMBINED)):
        if text not in allowed:
            raise ValueError(f"{what} of the metric {name!r} must be one of {allowed}, and it is {text!r}")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"a metric's name has up to 80 letters, digits and _ . / -, and this one is {name!r}")
    if len(unit) > 40 or not unit.isprintable():
        raise ValueError(f"the unit of the metric {name!r} must be a text of up to 40 letters, and it is {unit!r}")
    if len(_tails) >= _MOST_METRICS:
        return ""
    values = {"rank": aisbench_report._rank(), "ranks": aisbench_report._rank_count(), "name": name, "unit": unit}
    tail = json.dumps({**values, "better": better, "combined": combined}, separators=(",", ":"))[1:] + "\n"
    _tails[name, unit, better, combined] = tail
    return tail


def add_step(n: int, seconds: float, samples: float, tokens: float | None, is_counted: bool) -> None:
    """Add a line about a step; lines with other first letters than digits are about the process."""
    file = _files.get("step_times")
    if file is None:
        file = _open("step_times", "csv", _REMOTE_STEP_SECONDS)
        counted = ",counted" if is_counted else ""  # from 1, as the script gives no numbers
        file.add(f"process,{_began:.3f},{aisbench_report._rank()}{counted}\n")
    file.add(f"{n},{time.time():.4f},{seconds:.7g},{samples:.9g},{'' if tokens is None else f'{tokens:.12g}'}\n")


def begin_phase(name: str) -> _Phase:
    """Add a line that a phase begins; the empty name only ends the one before."""
    global _phase
    if name not in (*_PHASES, ""):
        raise ValueError(f"a phase is one of {', '.join(_PHASES)}, and not {name!r}")
    before, _phase = _phase, name
    file = _files.get("phases") or _open("phases", "jsonl")
    process = {"process": round(_began, 3), "rank": aisbench_report._rank()}
    file.add(json.dumps({"at": round(time.time(), 3), "phase": name, **process}, separators=(",", ":")) + "\n")
    return _Phase(before)


class _Phase:
    """In a `with` statement: the phase before goes on when the block ends."""

    def __init__(self, before: str) -> None:
        self._before = before

    def __enter__(self) -> None:
        """The phase has begun already."""

    def __exit__(self, *_: object) -> None:
        """Go back to the phase before."""
        begin_phase(self._before)


def add_power(watts: float) -> None:
    """Add a reading of this rank's card."""
    if math.isfinite(watts) and watts >= 0:
        file = _files.get("cards") or _open("cards", "jsonl")
        power = f'{{"{aisbench_report._card()}":{{"power":{float(watts)!r}}}}}'
        file.add(f'{{"at":{time.time():.3f},"cards":{power}}}\n')


def flush() -> None:
    """End the last phase, and write what is pending."""
    if _phase:
        begin_phase("")
    for file in _files.values():
        file.flush()


def _open(kind: str, suffix: str, every: float = _REMOTE_SECONDS, most: int = _MOST_BYTES) -> _Lines:
    file = _files[kind] = _Lines(kind, suffix, every, most)
    return file

"""Write the results of a training script in the format that AISBench collects: three calls, no dependencies.

    import aisbench_report

    aisbench_report.throughput(samples_per_second)   # every rank: throughput of this card
    aisbench_report.accuracy(0.7606)                 # any rank may call it; the first one writes
    aisbench_report.done()                           # every rank, last

    aisbench_report.dataset("CIFAR-10", sha256=digest, synthetic=False)   # optional: the training data
    aisbench_report.progress(epoch, throughput=samples_per_second, accuracy=0.7)  # optional: while it trains
    aisbench_report.cards()                          # optional, first: samples the node's cards until the script ends
    aisbench_report.scalar("train/loss", loss, step) # optional: a point of a curve, in summaries/ of the output
    aisbench_report.step(samples, seconds, tokens, n)  # optional, each step: its time, and slow cards while it runs
    aisbench_report.metric("tokens_per_joule", 3.2, unit="tokens/J", better="higher")  # optional: any other number
    aisbench_report.phase("train")                   # optional: what this rank does from now on
    aisbench_report.eval(epoch, accuracy)            # optional: a test while it trains
    aisbench_report.power(watts)                     # optional: a reading of this rank's card

In a job of the console, the first card of each node also captures what the node is, when this file is imported.

The output directory is `--train_url DIR`, `--train_url=DIR` or the environment variable train_url; the rank comes from
RANK_ID, RANK_SIZE, VC_TASK_INDEX and DEVICE_ID (or torchrun's RANK, WORLD_SIZE, GROUP_RANK and LOCAL_RANK).

One cluster:              throughput_{rank}.json, accuracy.json, accuracy_{server}.json, ranksize.json
SINGLESERVER_MODE=True:   {server}/throughput_{card}.json, accuracy_{server}.json, ranksize.json (cards of one server)
Both, with cards():       cards_{server}_{start}.jsonl, a line for each reading of npu-smi or nvidia-smi
Both, with step():        steps_{server}.jsonl, a line for each card every 10 seconds; step_times_{server}_{card}.csv
Both, with metric(), phase(), power(): {metrics,phases,cards}_{server}_{card}.jsonl, a line for each call
Both, in a job of the console: passport_{server}.json, what the node is

Each other file contains one number. Those are renamed into place, so that no synchronisation reads an incomplete one.
Local directories need nothing else; for obs:// and s3:// addresses, moxing must be installed, as it is on ModelArts.
This file runs on Python 3.7 and later. `python aisbench_report.py` prints this text.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

_REMOTE = ("obs://", "s3://")
_started = time.monotonic()
_reported = []  # type: list[float]  # what this process has passed to throughput()

_STEP_SECONDS = 10.0  # between two lines of a rank
_REMOTE_STEP_SECONDS = 60.0
_MOST_STEP_BYTES = 8 * 1024 * 1024  # of a rank: more than a week
_steps = []  # type: list[_Steps]


def throughput(samples_per_second: float) -> None:
    """Report this rank's throughput in the workload's unit. Raises ValueError unless it is finite and above 0."""
    value = _number("throughput", samples_per_second)
    if value <= 0:
        raise ValueError(f"throughput must be above 0, and it is {value!r}")
    name = f"{_server()}/throughput_{_card()}.json" if _single_server() else f"throughput_{_rank()}.json"
    _write(name, repr(value))
    _reported.append(value)
    print(f"aisbench: rank {_rank()} of {_rank_count()} reports throughput {value:.6g}", flush=True)


def accuracy(value: float) -> None:
    """Report the accuracy, 0 to 1. The first rank (of each server, in single-server mode) writes it.

    Raises ValueError on anything that is not such a share."""
    share = _number("accuracy", value)
    if not 0 <= share <= 1:
        raise ValueError(f"accuracy must be a share between 0 and 1, and it is {share!r}")
    if not _is_first():
        return
    if not _single_server():
        _write("accuracy.json", repr(share))
    _write(f"accuracy_{_server()}.json", repr(share))
    print(f"aisbench: accuracy {share:.6g}", flush=True)


def progress(
    step: int,
    throughput: float | None = None,
    accuracy: float | None = None,
    *,
    of: int | None = None,
    epoch: int | None = None,
    epochs: int | None = None,
    loss: float | None = None,
    stage: str = "",
) -> None:
    """Print for the console how far the training is: epoch or step from 1, this card's throughput since the last call,
    accuracy of a test now. The first rank does so (of each server, in single-server mode); it is no result.

    `of`: how many steps there are; `epoch` of `epochs`: if the step is no epoch; `stage`: such as "evaluate"."""
    line = {"step": int(step), "seconds": round(time.monotonic() - _started, 3)}  # type: dict[str, float | str]
    given = (("throughput", throughput), ("accuracy", accuracy))
    line.update({name: _number(name, value) for name, value in given if value is not None})
    counts = (("of", of), ("epoch", epoch), ("epochs", epochs))
    line.update({name: int(value) for name, value in counts if value is not None})
    if loss is not None and math.isfinite(float(loss)):  # one that is none stops no training
        line["loss"] = float(loss)
    if stage:
        line["stage"] = str(stage)[:40]
    if _is_first():
        print(f"aisbench: progress {json.dumps(line)}", flush=True)


def dataset(name: str, sha256: str = "", synthetic: bool = False) -> None:
    """Say what was trained on; `synthetic` marks made-up data, whose accuracy means nothing."""
    if _rank() == 0:
        _write("dataset.json", json.dumps({"name": name, "synthetic": bool(synthetic), "sha256": sha256}))


def cards(every: float = 60.0) -> None:
    """Sample use, memory, power and temperature of this node's cards with npu-smi or nvidia-smi, until done().

    A thread of the node's first card does so, at most every 10 seconds. Without such a tool, or when it hangs or prints
    something else, nothing is stored, and the script is not disturbed."""
    if _card() == 0:
        importlib.import_module("aisbench_cards").start(float(every))


def step(
    samples: float | None = None, seconds: float | None = None, tokens: float | None = None, n: int | None = None
) -> None:
    """Report a step of this rank: its number, the samples and tokens that it trained, and its seconds for them.

    Ranks that wait for each other take equally long: measure without the exchange of gradients to see which one the
    others wait for. Without `seconds` the time since the last call counts, so the first call only starts the clock;
    without `n` steps are counted, also across restarts. Whatever goes wrong does not disturb the script."""
    if not _steps:
        _steps.append(_Steps())
        print(f"aisbench: rank {_rank()} reports its steps", flush=True)  # the console looks for this line
    _steps[0].add(samples, seconds, tokens, n)


def metric(name: str, value: float, unit: str = "", better: str = "", combined: str = "mean") -> None:
    """Report a number under a name of your own; the last one counts, and nothing reported is lost if the rank dies.

    `better`: "higher", "lower" or "" for a number that is neither; `combined`: how those of several ranks become that
    of the run: "sum", "mean", "max", "min" or "first" (of the first rank that has one). Raises ValueError about these
    and about a name with other than up to 80 letters, digits and _ . / -."""
    _lines().add_metric(name, value, unit, better, combined)


def phase(name: str) -> Any:
    """Say what this rank does from now on: init, compile, data, train, eval, checkpoint_save or checkpoint_load.

    It ends the phase before. In `with phase("checkpoint_save"):` the phase before goes on afterwards."""
    return _lines().begin_phase(name)


def eval(epoch: int, accuracy: float | None = None, *, step: int | None = None, loss: float | None = None) -> None:  # noqa: A001  # the word that a script says
    """Report a test while training: progress() with the epoch, and the stage "evaluate"."""
    if step is None:
        return progress(epoch, accuracy=accuracy, loss=loss, stage="evaluate")
    return progress(step, accuracy=accuracy, loss=loss, epoch=epoch, stage="evaluate")


def power(watts: float) -> None:
    """Report a reading of the power of this rank's card, where cards() finds no tool for it."""
    _lines().add_power(float(watts))


def scalar(name: str, value: float, step: int) -> None:
    """Add a point to a curve, for the console and TensorBoard; a slash in the name (80 bytes) groups curves."""
    if _is_first():  # of each server, in single-server mode
        importlib.import_module("aisbench_events").add(name, float(value), int(step))


def done() -> None:
    """Say that this rank has reported everything. Raises RuntimeError if it never called throughput()."""
    if not _reported:
        raise RuntimeError(f"rank {_rank()} calls done(), but has not called throughput()")
    if "aisbench_cards" in sys.modules:
        sys.modules["aisbench_cards"].finish()
    for steps in _steps:
        steps.flush()
    if "aisbench_lines" in sys.modules:
        sys.modules["aisbench_lines"].flush()
    if "aisbench_events" in sys.modules:
        sys.modules["aisbench_events"].flush()
    if _rank() == 0:
        _write("ranksize.json", str(_ranks_together()))


class _Steps:
    """Adds up a rank's steps, and writes a line every now and then."""

    def __init__(self) -> None:
        self._every = _REMOTE_STEP_SECONDS if _train_url().startswith(_REMOTE) else _STEP_SECONDS
        self._last = None  # type: float | None
        self._written = time.monotonic()
        self._began = int(time.time() * 1000)  # a restarted job must not replace what the first one wrote
        self._samples, self._seconds, self._stored = 0.0, 0.0, 0.0
        self._n = 0
        self._lines = []  # type: list[str]

    def add(self, samples: float | None, seconds: float | None, tokens: float | None, n: int | None) -> None:
        """Add a step; a line when it is time."""
        now = time.monotonic()
        elapsed, self._last = None if self._last is None else now - self._last, now
        self._n = self._n + 1 if n is None else int(n)
        spent = elapsed if seconds is None else float(seconds)
        count = float(samples if samples is not None else tokens or 0)
        if spent is None or not (count > 0 and spent > 0 and math.isfinite(count) and math.isfinite(spent)):
            return
        _lines().add_step(self._n, spent, count if samples is not None else 0.0, tokens, n is None)
        self._samples, self._seconds = self._samples + count, self._seconds + spent
        if now - self._written >= self._every:
            self._written = now
            self.flush()

    def flush(self) -> None:
        """Write a line of what is not written yet."""
        if self._seconds <= 0 or self._stored > _MOST_STEP_BYTES:
            return
        values = {"at": round(time.time(), 3), "rank": _rank(), "card": _card()}
        values.update(samples=self._samples, seconds=round(self._seconds, 6))
        self._samples, self._seconds = 0.0, 0.0
        line = json.dumps(values, separators=(",", ":")) + "\n"
        self._stored += len(line)
        try:
            self._write(line)
        except Exception as error:
            self._stored = math.inf
            print(f"aisbench: steps are no longer stored: {error}", flush=True)

    def _write(self, line: str) -> None:
        directory = _train_url()
        if directory.startswith(_REMOTE):  # objects cannot be appended to: each process writes its own anew
            self._lines.append(line)
            name = f"steps_{_server()}_{_card()}_{self._began}.jsonl"
            return _write_remote(f"{directory.rstrip('/')}/{name}", "".join(self._lines))
        Path(directory).mkdir(parents=True, exist_ok=True)
        # One write to the end of a file that all ranks of the node share: lines do not mix.
        with (Path(directory) / f"steps_{_server()}.jsonl").open("ab", buffering=0) as file:
            file.write(line.encode())
        return None


def _lines() -> Any:
    return sys.modules.get("aisbench_lines") or importlib.import_module("aisbench_lines")


def _number(what: str, value: float) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{what} must be a finite number, and it is {number!r}")
    return number


def _write(name: str, text: str) -> None:
    directory = _train_url()
    if directory.startswith(_REMOTE):
        return _write_remote(f"{directory.rstrip('/')}/{name}", text)
    file = Path(directory) / name
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    unfinished.write_text(text, "utf-8")
    unfinished.replace(file)
    return None


def _write_remote(address: str, text: str) -> None:
    try:
        moxing = importlib.import_module("moxing")
    except ImportError:
        why = "moxing is not installed here; give a local directory as train_url"
        raise RuntimeError(f"cannot write {address}: {why}") from None
    moxing.file.make_dirs(address.rsplit("/", 1)[0])
    moxing.file.write(address, text)


def _train_url() -> str:
    arguments = sys.argv[1:]
    for position, argument in enumerate(arguments):
        if argument.startswith("--train_url="):
            return argument.split("=", 1)[1]
        if argument == "--train_url" and position + 1 < len(arguments):
            return arguments[position + 1]
    directory = os.environ.get("train_url", "")  # noqa: SIM112  # the platform names the variable after the output
    if not directory:
        raise RuntimeError("where to write results is not known: pass --train_url DIR or set train_url")
    return directory


def _single_server() -> bool:
    return os.environ.get("SINGLESERVER_MODE", "").lower() in ("true", "1")


def _is_first() -> bool:
    return _card() == 0 if _single_server() else _rank() == 0


def _rank() -> int:
    return _count("RANK_ID", "RANK", default=0)


def _rank_count() -> int:
    return _count("RANK_SIZE", "WORLD_SIZE", default=1)


def _ranks_together() -> int:
    """How many ranks train one model: all of the job, or those of one server."""
    servers = _count("VC_WORKER_NUM", "MA_NUM_HOSTS", default=1) if _single_server() else 1
    return _rank_count() // servers


def _server() -> int:
    return _count("VC_TASK_INDEX", "GROUP_RANK", default=0)


def _card() -> int:
    return _count("DEVICE_ID", "ASCEND_DEVICE_ID", "LOCAL_RANK", default=0)


def _count(*names: str, default: int) -> int:
    for name in names:
        if os.environ.get(name):
            return int(os.environ[name])
    return default


def _capture_node() -> None:
    """Once for the first card of each node and what it starts."""
    if not os.environ.get("AISBENCH_RUN_ID") or os.environ.get("AISBENCH_CAPTURED"):
        return
    try:
        if _card() == 0:
            os.environ["AISBENCH_CAPTURED"] = "1"
            importlib.import_module("aisbench_passport").start(_server(), _write)
    except Exception as error:  # whatever goes wrong here must not reach the training
        print(f"aisbench: this node is not captured: {error}", flush=True)


if __name__ == "__main__":
    print(__doc__)
else:
    _capture_node()

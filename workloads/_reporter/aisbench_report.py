"""Write the results of a training script in the format that AISBench collects: three calls, no dependencies.

    import aisbench_report

    aisbench_report.throughput(samples_per_second)   # every rank: throughput of this card
    aisbench_report.accuracy(0.7606)                 # any rank may call it; the first one writes
    aisbench_report.done()                           # every rank, last

    aisbench_report.dataset("CIFAR-10", sha256=digest, synthetic=False)   # optional: the training data

The output directory is `--train_url DIR`, `--train_url=DIR` or the environment variable train_url; the rank comes from
RANK_ID, RANK_SIZE, VC_TASK_INDEX and DEVICE_ID (or torchrun's RANK, WORLD_SIZE, GROUP_RANK and LOCAL_RANK).

One cluster:              throughput_{rank}.json, accuracy.json, accuracy_{server}.json, ranksize.json
SINGLESERVER_MODE=True:   {server}/throughput_{card}.json, accuracy_{server}.json, ranksize.json (cards of one server)

Each file contains one number. Files are renamed into place, so that a synchronisation never reads an incomplete one.
Local directories need nothing else; for obs:// and s3:// addresses, moxing must be installed, as it is on ModelArts.
This file runs on Python 3.7 and later. `python aisbench_report.py` prints this text.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
from pathlib import Path

_REMOTE = ("obs://", "s3://")
_reported = []  # type: list[float]  # what this process has passed to throughput()


def throughput(samples_per_second: float) -> None:
    """Report this rank's throughput in the workload's unit. Raises ValueError unless it is finite and above 0."""
    value = _number("throughput", samples_per_second)
    if value <= 0:
        raise ValueError(f"throughput must be above 0, and it is {value!r}")
    if _single_server():
        _write(f"{_server()}/throughput_{_card()}.json", repr(value))
    else:
        _write(f"throughput_{_rank()}.json", repr(value))
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


def dataset(name: str, sha256: str = "", synthetic: bool = False) -> None:
    """Say what was trained on; `synthetic` marks made-up data, whose accuracy means nothing."""
    if _rank() == 0:
        _write("dataset.json", json.dumps({"name": name, "synthetic": bool(synthetic), "sha256": sha256}))


def done() -> None:
    """Say that this rank has reported everything. Raises RuntimeError if it never called throughput()."""
    if not _reported:
        raise RuntimeError(f"rank {_rank()} calls done(), but has not called throughput()")
    if _rank() == 0:
        _write("ranksize.json", str(_ranks_together()))


def _number(what: str, value: float) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{what} must be a finite number, and it is {number!r}")
    return number


def _write(name: str, text: str) -> None:
    directory = _train_url()
    if directory.startswith(_REMOTE):
        _write_remote(f"{directory.rstrip('/')}/{name}", text)
    else:
        _write_local(Path(directory) / name, text)


def _write_local(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    unfinished.write_text(text, "utf-8")
    unfinished.replace(file)


def _write_remote(address: str, text: str) -> None:
    try:
        moxing = importlib.import_module("moxing")
    except ImportError:
        raise RuntimeError(
            f"cannot write {address}: moxing is not installed here; give a local directory as train_url"
        ) from None
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


if __name__ == "__main__":
    print(__doc__)

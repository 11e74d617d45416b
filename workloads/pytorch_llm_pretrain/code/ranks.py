"""This process among those that train together: its rank, its device, and how they meet."""

from __future__ import annotations

import datetime
import importlib
import os
import resource

import torch
import torch.distributed as dist

WAIT = datetime.timedelta(minutes=10)


class Place:
    """Where this process stands: its rank among those that train together, and where they meet.

    `server`: which of the servers that train each for itself; 0 if all train together."""

    def __init__(self) -> None:
        self.rank = _number("RANK_ID", "RANK", default=0)
        self.size = _number("RANK_SIZE", "WORLD_SIZE", default=1)
        self.card = _number("DEVICE_ID", "LOCAL_RANK", default=0)
        self.server = 0
        hosts = os.environ.get("VC_WORKER_HOSTS", "127.0.0.1").split(",")
        self.host = os.environ.get("MASTER_ADDR", hosts[0])
        self.port = _number("MASTER_PORT", "MA_TORCHRUN_MASTER_PORT", default=18888)
        if os.environ.get("SINGLESERVER_MODE", "").lower() in ("true", "1"):
            self.server = _number("VC_TASK_INDEX", "GROUP_RANK", default=0)
            self.size //= len(hosts)
            self.rank %= self.size
            # Servers may share one machine (in a sandbox), so each has a port of its own.
            self.host, self.port = hosts[self.server], self.port + self.server


def choose_device(card: int) -> tuple[torch.device, str]:
    """The device of this process and the backend of its exchange: Ascend, NVIDIA, else CPU."""
    try:
        importlib.import_module("torch_npu")  # makes the device npu known
    except ImportError:
        if torch.cuda.is_available():
            torch.cuda.set_device(card)
            return torch.device("cuda", card), "nccl"
        if not os.environ.get("OMP_NUM_THREADS"):
            torch.set_num_threads(1)  # one card is one core here
        return torch.device("cpu"), "gloo"
    torch.npu.set_device(card)
    return torch.device("npu", card), "hccl"


def meet(place: Place, backend: str) -> None:
    """Wait for the other ranks. Raises ConnectionError if they do not come."""
    where = f"tcp://{place.host}:{place.port}"
    try:
        dist.init_process_group(backend, init_method=where, rank=place.rank, world_size=place.size, timeout=WAIT)
    except RuntimeError as error:
        raise ConnectionError(
            f"rank {place.rank} of {place.size} did not meet the others at {where}: {error}"
        ) from error


def peak_memory(device: torch.device) -> float:
    """The most bytes that tensors of this process had on its card; on a CPU, that the process had."""
    if device.type == "cpu":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
    return float(getattr(torch, device.type).max_memory_allocated())


def _number(*names: str, default: int) -> int:
    return next((int(os.environ[name]) for name in names if os.environ.get(name)), default)

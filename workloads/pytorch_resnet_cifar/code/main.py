"""Train ResNet-18 on CIFAR-10 with DistributedDataParallel, one process per card, and report throughput and accuracy.

The place among the ranks comes from RANK_ID and RANK_SIZE (a boot file that runs once per card) or from torchrun's RANK
and WORLD_SIZE. CPU uses gloo, NVIDIA cards nccl, Ascend cards hccl.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import math
import os
import sys
import time

import aisbench_report
import numpy as np
import torch
import torch.distributed as dist
from cifar import Images, Part, load
from resnet import resnet18
from torch import nn

WAIT = datetime.timedelta(minutes=2)


class Place:
    """Where this process stands: its rank among those that train together, and where they meet."""

    def __init__(self) -> None:
        self.rank = _number("RANK_ID", "RANK", default=0)
        self.size = _number("RANK_SIZE", "WORLD_SIZE", default=1)
        self.card = _number("DEVICE_ID", "LOCAL_RANK", default=0)
        hosts = os.environ.get("VC_WORKER_HOSTS", "127.0.0.1").split(",")
        self.host = os.environ.get("MASTER_ADDR", hosts[0])
        self.port = _number("MASTER_PORT", "MA_TORCHRUN_MASTER_PORT", default=18888)
        if os.environ.get("SINGLESERVER_MODE", "").lower() in ("true", "1"):
            server = _number("VC_TASK_INDEX", "GROUP_RANK", default=0)
            self.size //= len(hosts)
            self.rank %= self.size
            # Servers may share one machine (in a sandbox), so each has a port of its own.
            self.host, self.port = hosts[server], self.port + server


def main() -> None:
    """Read the arguments, meet the other ranks, train, report."""
    arguments = _arguments()
    aisbench_report.cards()
    place = Place()
    try:
        device, backend = _device(place.card)
        images = load(arguments.data_url, arguments.train_samples, arguments.seed)
        _meet(place, backend)
        throughput, accuracy = train(images, place, device, arguments)
    except (FileNotFoundError, ValueError, ConnectionError) as error:
        sys.exit(f"main.py: {error}")
    dist.destroy_process_group()
    name = "made-up images of CIFAR-10's shape" if images.synthetic else "CIFAR-10"
    aisbench_report.dataset(name, sha256=images.sha256, synthetic=images.synthetic)
    aisbench_report.throughput(throughput)
    aisbench_report.accuracy(accuracy)
    aisbench_report.done()
    if backend == "gloo":
        _leave()


def train(images: Images, place: Place, device: torch.device, arguments: argparse.Namespace) -> tuple[float, float]:
    """This rank's samples/s without the first epoch, and the accuracy after the last one."""
    torch.manual_seed(arguments.seed)
    model = nn.parallel.DistributedDataParallel(resnet18(arguments.model_width).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=arguments.learning_rate, momentum=0.9, weight_decay=5e-4)
    order = np.random.RandomState(arguments.seed)
    samples, seconds, accuracy = 0, 0.0, 0.0
    for epoch in range(1, arguments.epochs + 1):
        _set_learning_rate(optimizer, arguments.learning_rate, (epoch - 1) / arguments.epochs)
        share = _share(order.permutation(len(images.training.labels)), place, arguments.batch_size)
        started = time.perf_counter()
        loss = _epoch(model, optimizer, images.training, share, device)
        spent = time.perf_counter() - started
        accuracy = _accuracy(model, images.test, place, device)
        if epoch == 2:  # the first epoch warms caches up; it only counts when there is no other
            samples, seconds = 0, 0.0
        samples, seconds = samples + share.size, seconds + spent
        rate = share.size / spent
        aisbench_report.progress(epoch, rate, accuracy, of=arguments.epochs, loss=loss)
        for name, value in (("train/loss", loss), ("train/samples_per_second", rate), ("test/accuracy", accuracy)):
            aisbench_report.scalar(name, value, epoch)
        _say(place, f"epoch {epoch}/{arguments.epochs} loss {loss:.4f} accuracy {accuracy:.4f} {rate:.1f} samples/s")
    return samples / seconds, accuracy


def _share(order: np.ndarray, place: Place, batch_size: int) -> np.ndarray:
    steps = len(order) // (batch_size * place.size)
    if steps == 0:
        raise ValueError(f"batch_size {batch_size} x {place.size} ranks is more than the {len(order)} training samples")
    return order[: steps * batch_size * place.size].reshape(steps, place.size, batch_size)[:, place.rank]


def _epoch(
    model: nn.Module, optimizer: torch.optim.Optimizer, part: Part, share: np.ndarray, device: torch.device
) -> float:
    model.train()
    losses = []
    for batch in share:
        images, labels = _tensors(part, batch, device)
        loss = nn.functional.cross_entropy(model(_varied(images)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        aisbench_report.step(len(batch))
    return float(torch.stack(losses).mean())  # waits for the card, so the clock sees the whole work


def _accuracy(model: nn.Module, part: Part, place: Place, device: torch.device) -> float:
    model.eval()
    right = torch.zeros(1, device=device)
    mine = np.arange(place.rank, len(part.labels), place.size)
    with torch.no_grad():
        for start in range(0, len(mine), 256):
            images, labels = _tensors(part, mine[start : start + 256], device)
            right += (model.module(images).argmax(dim=1) == labels).sum()
    dist.all_reduce(right)
    return float(right) / len(part.labels)


def _tensors(part: Part, batch: np.ndarray, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    images = torch.from_numpy(part.images[batch]).to(device)
    return images.float() / 128 - 1, torch.from_numpy(part.labels[batch]).to(device)


def _varied(images: torch.Tensor) -> torch.Tensor:
    """The images moved by up to four pixels, and half of the times mirrored: one choice per batch."""
    down, right, mirror = (int(torch.randint(high, ())) for high in (9, 9, 2))
    moved = nn.functional.pad(images, (4, 4, 4, 4))[:, :, down : down + 32, right : right + 32]
    return moved.flip(3) if mirror else moved


def _set_learning_rate(optimizer: torch.optim.Optimizer, first: float, progress: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = first * 0.5 * (1 + math.cos(math.pi * progress))


def _device(card: int) -> tuple[torch.device, str]:
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


def _meet(place: Place, backend: str) -> None:
    where = f"tcp://{place.host}:{place.port}"
    try:
        dist.init_process_group(backend, init_method=where, rank=place.rank, world_size=place.size, timeout=WAIT)
    except RuntimeError as error:
        raise ConnectionError(
            f"rank {place.rank} of {place.size} did not meet the others at {where}: {error}"
        ) from error


def _leave() -> None:
    """End here and now: DistributedDataParallel keeps gloo's threads, which abort a few interpreters that tidy up."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _say(place: Place, line: str) -> None:
    if place.card == 0:
        print(f"rank {place.rank}: {line}", flush=True)


def _number(*names: str, default: int) -> int:
    return next((int(os.environ[name]) for name in names if os.environ.get(name)), default)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--data_url", default="", help="directory with cifar-10-batches-py; without it, made-up images")
    parser.add_argument("--train_url", required=True, help="directory for the results")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=32, help="samples per card and step")
    parser.add_argument("--learning_rate", type=float, default=0.05)
    parser.add_argument("--train_samples", type=int, default=2048, help="training images; a fifth as many for testing")
    parser.add_argument("--model_width", type=int, default=16, help="channels of the first stage; 64 is ResNet-18")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for name in ("epochs", "batch_size", "train_samples", "model_width"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name} must be at least 1, and it is {getattr(arguments, name)}")
    return arguments


if __name__ == "__main__":
    main()

"""Steps of a training: the decoder on this rank's device, its optimizer, and the batches of each step."""

from __future__ import annotations

import contextlib
import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.distributed as dist
from decoder import Decoder
from packed_tokens import HELD_OUT, make_batch
from sizes import STEPS, Size
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    import argparse

    from ranks import Place

_RISE = 5  # steps in which the learning rate rises
_MOST_NORM = 1.0


class Training:
    """A decoder, ready for its next step. Raises ValueError if the parameters do not fit each other."""

    def __init__(self, size: Size, place: Place, device: torch.device, arguments: argparse.Namespace) -> None:
        self.size, self.device = size, device
        self._is_ddp = arguments.parallel == "ddp"
        self._share = (place.rank, place.size)
        self._seed, self._micro_batch = arguments.seed, arguments.micro_batch
        together = place.size * self._micro_batch
        if size.global_batch % together:
            raise ValueError(
                f"micro_batch {self._micro_batch} x {place.size} ranks = {together} does not divide the global batch"
                f" of {size.global_batch} sequences"
            )
        torch.manual_seed(arguments.seed)
        build = _build_ddp if self._is_ddp else _build_fsdp2
        self.model, self._wrapped = build(size, device, arguments.recomputation == "full")
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=size.learning_rate, betas=(0.9, 0.95), weight_decay=0.1
        )
        self._batches = {}  # type: dict[int, np.ndarray]

    @property
    def tokens(self) -> int:
        """Tokens of a step on this rank, all of them real: sequences are packed."""
        return self.size.global_batch // self._share[1] * self.size.sequence

    def make_batches(self, after: int) -> None:
        """Make what the steps after one need, so that none of them waits for data."""
        for step in (HELD_OUT, *range(after + 1, STEPS + 1)):
            self._batches[step] = make_batch(self.size, self._seed, step, *self._share)

    def train(self, step: int) -> float:
        """Train on a step's global batch. Its loss, the mean over all ranks."""
        self._wrapped.train()
        for group in self.optimizer.param_groups:
            group["lr"] = self.size.learning_rate * min(1.0, step / _RISE)
        parts = np.split(self._batches.pop(step), self.size.global_batch // self._share[1] // self._micro_batch)
        total = torch.zeros((), device=self.device)
        for number, part in enumerate(parts, start=1):
            # Sharded gradients are added up sharded: whole ones would not fit beside a large model.
            waits = self._is_ddp and number < len(parts)
            with self._wrapped.no_sync() if waits else contextlib.nullcontext():
                logits, targets = self._predict(part)
                loss = functional.cross_entropy(logits, targets) / len(parts)
                loss.backward()
            total += loss.detach()
        nn.utils.clip_grad_norm_(self.model.parameters(), _MOST_NORM)
        self.optimizer.step()
        self.optimizer.zero_grad()
        dist.all_reduce(total)
        return float(total) / self._share[1]  # waits for the card, so a clock sees the whole step

    def evaluate(self) -> tuple[float, float]:
        """Loss, and share of tokens predicted right, of a batch that is not trained on."""
        self._wrapped.eval()
        sums = torch.zeros(3, device=self.device)
        for part in np.split(self._batches[HELD_OUT], self.size.global_batch // self._share[1] // self._micro_batch):
            with torch.no_grad():
                logits, targets = self._predict(part)
                sums[0] += functional.cross_entropy(logits, targets, reduction="sum")
                sums[1] += (logits.argmax(dim=-1) == targets).sum()
                sums[2] += len(targets)
        dist.all_reduce(sums)
        return float(sums[0] / sums[2]), float(sums[1] / sums[2])

    def _predict(self, part: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits in float32 for each token, and the token that follows it."""
        tokens = torch.from_numpy(part).to(self.device).long()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self._is_ddp):  # FSDP2 casts by its policy
            logits = self._wrapped(tokens[:, :-1])
        return logits.flatten(0, 1).float(), tokens[:, 1:].flatten()


def _build_ddp(size: Size, device: torch.device, recompute: bool) -> tuple[nn.Module, Any]:
    with device:
        model = Decoder(size, recompute=recompute)
    return model, nn.parallel.DistributedDataParallel(model)


def _build_fsdp2(size: Size, device: torch.device, recompute: bool) -> tuple[nn.Module, Any]:
    fsdp = importlib.import_module("torch.distributed.fsdp")
    if not hasattr(fsdp, "fully_shard"):
        raise ValueError(f"parallel=fsdp2 needs PyTorch 2.6 or newer, and this is {torch.__version__}; use ddp")
    mesh = importlib.import_module("torch.distributed.device_mesh").init_device_mesh(
        device.type, (dist.get_world_size(),)
    )
    policy = fsdp.MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)

    def shard(module: nn.Module) -> None:
        fsdp.fully_shard(module, mesh=mesh, mp_policy=policy)

    with device:
        model = Decoder(size, shard, recompute)
    shard(model)
    return model, model

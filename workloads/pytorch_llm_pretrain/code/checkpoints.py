"""A checkpoint of a training, saved and loaded by all ranks with torch.distributed.checkpoint."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Callable

import aisbench_report
import torch
import torch.distributed as dist
from torch.distributed import checkpoint

if TYPE_CHECKING:
    import argparse

    from ranks import Place
    from training import Training

_COMPLETE = ".metadata"  # is written last
_MOMENTS = ("exp_avg", "exp_avg_sq")


class Checkpoint:
    """Weights and Adam's moments in a directory. Saving and loading are phases and metrics of the run."""

    def __init__(self, training: Training, place: Place, arguments: argparse.Namespace) -> None:
        self._training, self._place = training, place
        temporary = Path(tempfile.gettempdir()) / f"aisbench_{place.port}"
        default = Path(arguments.train_url) if arguments.resume else temporary  # the output outlives this process
        self.folder = Path(arguments.checkpoint_dir or default) / f"checkpoint_{place.server}"

    def save(self) -> None:
        """Write it. Returns when every rank has written its part."""
        write = getattr(checkpoint, "save", None) or checkpoint.save_state_dict  # before PyTorch 2.2
        with aisbench_report.phase("checkpoint_save"):
            self._measure(
                "save", lambda: write(self._tensors(), storage_writer=checkpoint.FileSystemWriter(str(self.folder)))
            )

    def load(self, step: int) -> None:
        """Read what `save` wrote after a step, into the model and its optimizer."""
        read = getattr(checkpoint, "load", None) or checkpoint.load_state_dict
        with aisbench_report.phase("checkpoint_load"):
            self._measure(
                "load", lambda: read(self._tensors(), storage_reader=checkpoint.FileSystemReader(str(self.folder)))
            )
        for state in self._training.optimizer.state.values():
            state["step"].fill_(step)

    def is_seen_by_all(self) -> bool:
        """Whether every rank finds a complete one."""
        seen = torch.tensor([(self.folder / _COMPLETE).is_file()], dtype=torch.int32, device=self._training.device)
        dist.all_reduce(seen, dist.ReduceOp.MIN)
        return bool(seen)

    def remove(self) -> None:
        """Remove it, so that it does not become a result."""
        dist.barrier()
        if self._place.card == 0:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _measure(self, what: str, act: Callable[[], object]) -> None:
        dist.barrier()
        started = time.perf_counter()
        act()
        aisbench_report.metric(f"checkpoint_{what}_seconds", time.perf_counter() - started, "s", "lower", "max")

    def _tensors(self) -> dict[str, torch.Tensor]:
        """The tensors themselves, not copies, so that what is loaded is in place."""
        tensors = {}
        for name, parameter in self._training.model.named_parameters():
            state = self._training.optimizer.state[parameter]
            state.setdefault("step", torch.tensor(0.0))
            tensors[f"model.{name}"] = parameter.detach()
            for moment in _MOMENTS:
                tensors[f"optimizer.{name}.{moment}"] = state.setdefault(moment, torch.zeros_like(parameter))
        return tensors

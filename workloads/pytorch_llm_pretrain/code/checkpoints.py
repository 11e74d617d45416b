"""A checkpoint of a training, saved and loaded by all ranks with torch.distributed.checkpoint."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

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
    """Weights and Adam's moments in a directory. Saving and loading are phases of the run."""

    def __init__(self, training: Training, place: Place, arguments: argparse.Namespace) -> None:
        self._training, self._place = training, place
        # An output outlives this process; a temporary directory is shared with others, and the port is ours alone.
        kept = arguments.checkpoint_dir or (arguments.train_url if arguments.resume else "")
        name = f"checkpoint_{place.server if kept else place.port}"
        self.folder = Path(kept or tempfile.gettempdir()) / name

    def save(self) -> None:
        """Write it. Returns when every rank has written its part."""
        write = getattr(checkpoint, "save", None) or checkpoint.save_state_dict  # before PyTorch 2.2
        dist.barrier()  # nobody waits for others in the phase
        with aisbench_report.phase("checkpoint_save"):
            write(self._get_tensors(), storage_writer=checkpoint.FileSystemWriter(str(self.folder)))

    def load(self, step: int) -> None:
        """Read what `save` wrote after a step, into the model and its optimizer."""
        read = getattr(checkpoint, "load", None) or checkpoint.load_state_dict
        dist.barrier()
        with aisbench_report.phase("checkpoint_load"):
            read(self._get_tensors(), storage_reader=checkpoint.FileSystemReader(str(self.folder)))
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

    def _get_tensors(self) -> dict[str, torch.Tensor]:
        """The tensors themselves, not copies, so that what is loaded is in place."""
        tensors = {}
        for name, parameter in self._training.model.named_parameters():
            state = self._training.optimizer.state[parameter]
            if not state:
                state.update(
                    {"step": torch.tensor(0.0), **{moment: torch.zeros_like(parameter) for moment in _MOMENTS}}
                )
            tensors[f"model.{name}"] = parameter.detach()
            for moment in _MOMENTS:
                tensors[f"optimizer.{name}.{moment}"] = state[moment]
        return tensors

"""The variant `resume`: a rank kills itself after a step that the seed chooses, and its successor goes on."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING

import aisbench_report
import numpy as np
import torch.distributed as dist
from sizes import STEPS

if TYPE_CHECKING:
    import argparse

    from checkpoints import Checkpoint
    from ranks import Place

CHECKPOINT_STEP = 20
MOST_DIFFERENCE = 0.01  # share by which the loss of a step may differ when it is trained again
_SETTINGS = ("size", "parallel", "seed")


def choose_end(seed: int, ranks: int) -> tuple[int, int]:
    """The step after which a rank kills itself, and that rank."""
    random = np.random.RandomState([seed, STEPS])
    return int(random.randint(CHECKPOINT_STEP + 3, STEPS - 4)), int(random.randint(ranks))


class Interruption:
    """Ends the first attempt, resumes in the second one, and compares the losses of steps that both trained."""

    def __init__(self, checkpoint: Checkpoint, place: Place, arguments: argparse.Namespace) -> None:
        self._checkpoint, self._place = checkpoint, place
        self._last_step, self._killed_rank = choose_end(arguments.seed, place.size)
        self._settings = {name: str(getattr(arguments, name)) for name in _SETTINGS}
        self._file = checkpoint.folder.with_name(f"losses_{place.server}.json")
        self._losses = {}  # type: dict[str, float]
        self._is_resumed, self._difference = False, 0.0

    def resume(self) -> int:
        """Load the checkpoint of an earlier attempt. The last step that is in it; 0 if there is none.

        Raises ValueError if it is of another training."""
        if not self._checkpoint.is_seen_by_all():
            return 0
        record = json.loads(self._file.read_text("utf-8"))
        if record["settings"] != self._settings:
            raise ValueError(f"the checkpoint is of a training with {record['settings']}, this is {self._settings}")
        self._is_resumed, self._losses = True, record["losses"]
        self._checkpoint.load(CHECKPOINT_STEP)
        print(f"rank {self._place.rank} resumes after step {CHECKPOINT_STEP}", flush=True)
        return CHECKPOINT_STEP

    def follow(self, step: int, loss: float) -> None:
        """After each step: compare its loss, save the checkpoint, or end. Raises ValueError if the loss differs."""
        if self._is_resumed:
            return self._compare(step, loss)
        self._losses[str(step)] = loss
        if step in (CHECKPOINT_STEP, self._last_step) and self._place.rank == 0:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(json.dumps({"settings": self._settings, "losses": self._losses}), "utf-8")
        if step == CHECKPOINT_STEP:
            self._checkpoint.save()
        if step == self._last_step:
            self._end()
        return None

    def _compare(self, step: int, loss: float) -> None:
        if str(step) not in self._losses:
            return
        difference = abs(loss / self._losses[str(step)] - 1)
        self._difference = max(self._difference, difference)
        aisbench_report.metric("resumed_loss_difference", self._difference, "", "lower", "max")
        if difference > MOST_DIFFERENCE:
            raise ValueError(
                f"after the resumption, step {step} has loss {loss:.6g} instead of {self._losses[str(step)]:.6g}"
                f" (allowed: {MOST_DIFFERENCE:.0%} apart): the checkpoint does not hold the whole training"
            )

    def _end(self) -> None:
        """Die as a process of a broken machine does."""
        dist.barrier()  # the losses are written
        if self._place.rank == self._killed_rank:
            print(f"rank {self._place.rank} kills itself after step {self._last_step}: resume is true", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

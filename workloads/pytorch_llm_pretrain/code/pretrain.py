"""Pre-train a decoder on packed synthetic tokens, one process per card, and report tokens per second.

50 steps, of which 11 to 50 are measured. The place among the ranks comes from RANK_ID and RANK_SIZE (a boot file that
runs once per card) or from torchrun's RANK and WORLD_SIZE. CPU uses gloo, NVIDIA cards nccl, Ascend cards hccl.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

import aisbench_report
import torch.distributed as dist
from checkpoints import Checkpoint
from interruption import Interruption
from packed_tokens import hash_tokens
from ranks import Place, choose_device, meet, peak_memory
from sizes import FIRST_MEASURED, SIZES, STEPS
from training import Training


def main() -> None:
    """Read the arguments, meet the other ranks, train, report."""
    arguments = _arguments()
    aisbench_report.cards()
    aisbench_report.phase("init")
    place = Place()
    try:
        device, backend = choose_device(place.card)
        meet(place, backend)
        training = Training(SIZES[arguments.size], place, device, arguments)
        throughput, accuracy = pretrain(training, place, arguments)
    except (ValueError, ConnectionError) as error:
        sys.exit(f"pretrain.py: {error}")
    aisbench_report.metric("memory_allocated_mb", peak_memory(device) / 2**20, "MB", "lower", "max")
    dist.destroy_process_group()
    digest = hash_tokens(training.size, arguments.seed, STEPS) if place.rank == 0 else ""
    aisbench_report.dataset("packed synthetic tokens", sha256=digest, synthetic=True)
    aisbench_report.throughput(throughput)
    aisbench_report.accuracy(accuracy)
    aisbench_report.done()
    if backend == "gloo":
        _leave()


def pretrain(training: Training, place: Place, arguments: argparse.Namespace) -> tuple[float, float]:
    """This rank's tokens per second over the measured steps, and the accuracy on held-out tokens."""
    checkpoint = Checkpoint(training, place, arguments)
    interruption = Interruption(checkpoint, place, arguments) if arguments.resume else None
    done = interruption.resume() if interruption else 0
    with aisbench_report.phase("data"):
        training.make_batches(done)
    tokens, seconds = 0, 0.0
    aisbench_report.phase("train")
    for step in range(done + 1, STEPS + 1):
        loss, spent = _train(training, step)
        if step >= FIRST_MEASURED:
            tokens, seconds = tokens + training.tokens, seconds + spent
        if interruption:
            interruption.follow(step, loss)
    if not interruption:
        checkpoint.save()
        if checkpoint.is_seen_by_all():  # not if each node has only its own part of it
            checkpoint.load(STEPS)
    with aisbench_report.phase("eval"):
        loss, accuracy = training.evaluate()
    aisbench_report.metric("loss", loss, "nats", "lower", "first")
    aisbench_report.progress(STEPS, accuracy=accuracy, of=STEPS, loss=loss, stage="evaluate")
    checkpoint.remove()
    _check_loss(loss, training.size.loss_band)
    return tokens / seconds, accuracy


def _train(training: Training, step: int) -> tuple[float, float]:
    """The loss of a step, and its seconds."""
    started = time.perf_counter()
    loss = training.train(step)
    spent = time.perf_counter() - started
    rate = training.tokens / spent
    aisbench_report.step(training.tokens / training.size.sequence, spent, training.tokens, step)
    aisbench_report.progress(step, rate, of=STEPS, loss=loss, stage="train")
    aisbench_report.scalar("train/loss", loss, step)
    aisbench_report.scalar("train/tokens_per_second", rate, step)
    return loss, spent


def _check_loss(loss: float, band: tuple[float, float] | None) -> None:
    """Raises ValueError if the loss is outside of the band: then this is no training like the others."""
    if band and not band[0] <= loss <= band[1]:
        raise ValueError(
            f"the loss on held-out tokens is {loss:.4g}; trainings of this size end at {band[0]} to {band[1]}"
        )


def _leave() -> None:
    """End here and now: DistributedDataParallel keeps gloo's threads, which abort a few interpreters that tidy up."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--data_url", default="", help="there is none: tokens are made from the seed")
    parser.add_argument("--train_url", required=True, help="directory for the results")
    parser.add_argument("--size", choices=list(SIZES), default="nano")
    parser.add_argument("--parallel", choices=["ddp", "fsdp2"], default="ddp")
    parser.add_argument("--micro_batch", type=int, default=1, help="sequences that a card trains on at once")
    parser.add_argument("--recomputation", choices=["none", "full"], default="none", help="of blocks: saves memory")
    parser.add_argument("--resume", type=_flag, default=False, help="end suddenly, and go on from a checkpoint")
    parser.add_argument("--checkpoint_dir", default="", help="directory for checkpoints; default: a temporary one")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.data_url:
        parser.error("--data_url is not read, because tokens are made from the seed; leave the input out")
    if arguments.micro_batch < 1:
        parser.error(f"--micro_batch must be at least 1, and it is {arguments.micro_batch}")
    return arguments


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"must be True or False, and it is {text!r}")
    return text.lower() == "true"


if __name__ == "__main__":
    main()

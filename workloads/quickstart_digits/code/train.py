"""Train a small network on handwritten digits, one process per card, and report throughput and accuracy.

Every rank computes the gradient of its own share of each batch; the ranks add these up and take the same step, so the
result is that of one machine with the global batch (batch_size x ranks).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import TYPE_CHECKING

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one card is one core here; must be set before NumPy is loaded
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import aisbench_report
import numpy as np
from digits import Digits, find
from network import Network
from team import Team, TeamError, team_of_this_process

if TYPE_CHECKING:
    from numpy.typing import NDArray


def main() -> None:
    """Read the arguments, train, report."""
    arguments = _arguments()
    aisbench_report.cards()
    try:
        digits = Digits(find(arguments.data_url))
        team = team_of_this_process()
        throughput, accuracy = train(digits, team, arguments)
        team.close()
    except (FileNotFoundError, TeamError, ValueError) as error:
        sys.exit(f"train.py: {error}")
    aisbench_report.dataset("UCI handwritten digits (1,797)", sha256=digits.sha256)
    aisbench_report.throughput(throughput)
    aisbench_report.accuracy(accuracy)
    aisbench_report.done()


def train(digits: Digits, team: Team, arguments: argparse.Namespace) -> tuple[float, float]:
    """This rank's samples/s without the first epoch, and the accuracy after the last one."""
    network = Network(digits.pixels.shape[1], arguments.hidden, arguments.seed)
    order = np.random.RandomState(arguments.seed)
    samples, seconds, accuracy = 0, 0.0, 0.0
    for epoch in range(1, arguments.epochs + 1):
        batches = _share(order.permutation(len(digits.labels)), team, arguments.batch_size)
        started = time.perf_counter()
        loss = _epoch(network, digits, batches, team, arguments.learning_rate)
        spent = time.perf_counter() - started
        accuracy = _accuracy(network, digits, team)
        if epoch == 2:  # the first epoch warms caches up; it only counts when there is no other
            samples, seconds = 0, 0.0
        samples, seconds = samples + batches.size, seconds + spent
        rate = batches.size / spent
        aisbench_report.progress(epoch, rate, accuracy, of=arguments.epochs, loss=loss)
        for name, value in (("train/loss", loss), ("train/samples_per_second", rate), ("test/accuracy", accuracy)):
            aisbench_report.scalar(name, value, epoch)
        _say(f"epoch {epoch}/{arguments.epochs} loss {loss:.4f} accuracy {accuracy:.4f} {rate:.1f} samples/s")
    return samples / seconds, accuracy


def _share(order: NDArray[np.int64], team: Team, batch_size: int) -> NDArray[np.int64]:
    steps = len(order) // (batch_size * team.size)
    if steps == 0:
        raise ValueError(f"batch_size {batch_size} x {team.size} ranks is more than the {len(order)} training samples")
    return order[: steps * batch_size * team.size].reshape(steps, team.size, batch_size)[:, team.rank]


def _epoch(network: Network, digits: Digits, batches: NDArray[np.int64], team: Team, learning_rate: float) -> float:
    losses = []
    for batch in batches:
        started = time.perf_counter()
        gradient, loss = network.gradient(digits.pixels[batch], digits.labels[batch])
        aisbench_report.step(len(batch), time.perf_counter() - started)
        network.step(team.sum(gradient) / np.float32(team.size), learning_rate)
        losses.append(loss)
    return float(np.mean(losses))


def _accuracy(network: Network, digits: Digits, team: Team) -> float:
    mine = slice(team.rank, None, team.size)
    right = network.scores(digits.test_pixels[mine]).argmax(axis=1) == digits.test_labels[mine]
    return float(team.sum(np.array([right.sum()]))[0]) / len(digits.test_labels)


def _say(line: str) -> None:
    if os.environ.get("DEVICE_ID", "0") == "0":
        print(f"rank {os.environ.get('RANK_ID', '0')}: {line}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--data_url", default="", help="directory with digits.csv.gz; default: the shipped one")
    parser.add_argument("--train_url", required=True, help="directory for the results")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--batch_size", type=int, default=32, help="samples per card and step")
    parser.add_argument("--learning_rate", type=float, default=0.1)
    parser.add_argument("--hidden", type=int, default=256, help="width of the hidden layer")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for name in ("epochs", "batch_size", "hidden"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name} must be at least 1, and it is {getattr(arguments, name)}")
    return arguments


if __name__ == "__main__":
    main()

"""From readings of a log to points of a training: one position, the throughput of all cards, and times."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from aisbench_core.domain.progress.patterns import Reading
from aisbench_core.model import Mode, RunSpec, TrainingPoint

MAX_POINTS = 8
"""Of one addition to a log: enough for a curve, however fast a training prints."""

# Names that parameters with the number of epochs have in well-known scripts.
_EPOCHS = ("epochs", "epoch_size", "num_epochs", "max_epochs", "train_epochs", "epoch")


@dataclass(slots=True)
class Tracker:
    """What is known of one run's training so far. `batch`: samples of one card per step, None if not known.

    `styles_from_0`: of lines that call the first epoch 0; others beside them may count from 1."""

    spec: RunSpec
    batch: float | None = None
    last: TrainingPoint | None = None
    steps_of_epoch: int | None = None
    by_reporter: bool = False
    styles_from_0: frozenset[str] = frozenset()

    def add(self, readings: Sequence[Reading], since: datetime, until: datetime) -> list[TrainingPoint]:
        """The points of readings that were written between two times, in their order."""
        points: list[TrainingPoint] = []
        self.by_reporter = self.by_reporter or any(reading.whole for reading in readings)
        if self.by_reporter:  # what the script prints besides is less exact
            readings = [reading for reading in readings if reading.whole]
        if not readings:
            return points
        self.styles_from_0 |= {reading.style for reading in readings if reading.epoch == 0 and not reading.whole}
        readings = [_from_1(reading) if reading.style in self.styles_from_0 else reading for reading in readings]
        size = max(1, -(-len(readings) // MAX_POINTS))
        for start in range(0, len(readings), size):
            part = readings[start : start + size]
            written = since + (until - since) * (start + len(part)) / len(readings)
            point = self._merge_readings(part, written)
            if self.last is None or replace(point, at=self.last.at) != self.last:
                points.append(point)
                self.last = point
        return points

    def _merge_readings(self, part: Sequence[Reading], at: datetime) -> TrainingPoint:
        before = self.last or TrainingPoint(at)
        furthest = max(part, key=_to_position)
        throughput, cards = self._compute_throughput(part)
        point = replace(
            self._locate_reading(furthest, before, at),
            loss=_find_last(part, "loss") if _find_last(part, "loss") is not None else before.loss,
            step_s=_find_last(part, "step_s") or before.step_s,
            stage=next((reading.stage for reading in reversed(part) if reading.stage), before.stage),
        )
        if throughput is None:
            throughput = self._from_steps(part, point.step_s)
        return replace(point, throughput=throughput or before.throughput, cards=cards or before.cards).plausible

    def _locate_reading(self, reading: Reading, before: TrainingPoint, at: datetime) -> TrainingPoint:
        """Where the training is; what a line does not say is as it was before."""
        epochs = reading.epochs or before.epochs or self._find_epochs()
        step, steps, epoch, share = before.step, before.steps, before.epoch, before.share
        if reading.epochs_done is not None:
            epoch = int(reading.epochs_done) + 1
            share = reading.epochs_done / epochs if epochs else None
        elif reading.epoch is not None:
            epoch = reading.epoch
            step, steps, share = self._in_epoch(reading, epoch, epochs)
        elif reading.step is not None:
            step, steps = reading.step, reading.steps or before.steps
            share = step / steps if steps else None
        epoch = min(epoch, epochs) if epoch is not None and epochs else epoch
        return TrainingPoint(at, step, steps, epoch, epochs, None if share is None else min(1.0, share))

    def _in_epoch(
        self, reading: Reading, epoch: int, epochs: int | None
    ) -> tuple[int | None, int | None, float | None]:
        """Step, steps and share of the whole training."""
        if reading.whole:
            share = reading.step / reading.steps if reading.step is not None and reading.steps else None
            return reading.step, reading.steps, share
        if reading.step is not None:
            highest = max(reading.step, self.steps_of_epoch or 0) if epoch > 1 or reading.steps else None
            self.steps_of_epoch = reading.steps or highest or self.steps_of_epoch
        each = reading.steps
        if reading.step is None or not each:
            # The epoch that a line names is the one that it ends, unless steps of it are counted.
            done = epoch - (1 if reading.step is not None else 0)
            return None, None, done / epochs if epochs else None
        step = (epoch - 1) * each + reading.step
        return step, each * epochs if epochs else None, step / (each * epochs) if epochs else None

    def _find_epochs(self) -> int | None:
        values = (self.spec.parameters.get(name) for name in _EPOCHS)
        return next(
            (value for value in values if isinstance(value, int) and not isinstance(value, bool) and value > 0), None
        )

    def _compute_throughput(self, part: Sequence[Reading]) -> tuple[float | None, int | None]:
        """Of the whole job, and how many cards said it: the others are taken to be as fast."""
        whole = _find_last(part, "throughput")
        if whole is not None:
            return whole, self.spec.card_count
        card = _find_last(part, "card_throughput")
        return (None, None) if card is None else (card * self._count_cards(), 1)

    def _from_steps(self, part: Sequence[Reading], step_s: float | None) -> float | None:
        batch = _find_last(part, "batch") or (self.batch * self._count_cards() if self.batch else None)
        return batch / step_s if batch and step_s else None

    def _count_cards(self) -> int:
        """Cards that train one model: a throughput is theirs."""
        spec = self.spec
        return spec.cards_per_node if spec.mode is Mode.SINGLE_SERVER else spec.card_count


def batch_of(spec: RunSpec, parameter: str) -> float | None:
    """The samples of one card per step, from the parameter that a manifest names."""
    value = spec.parameters.get(parameter)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None


def _from_1(reading: Reading) -> Reading:
    """A line of a training that calls its first epoch 0, as progress bars of PyTorch Lightning do."""
    return reading if reading.epoch is None else replace(reading, epoch=reading.epoch + 1)


def _to_position(reading: Reading) -> tuple[float, int, int]:
    return (reading.epochs_done or reading.epoch or 0, reading.step or 0, reading.offset)


def _find_last(part: Sequence[Reading], name: str) -> float | None:
    return next((value for reading in reversed(part) if (value := getattr(reading, name)) is not None), None)

"""Where a training is after a line, and which progress bar of its log counts it."""

from dataclasses import dataclass
from datetime import datetime

from aisbench_core.domain.progress.points import BarSoFar, ReadSoFar
from aisbench_core.domain.progress.reading import Reading
from aisbench_core.model import TrainingPoint

# A bar that was so far, and begins anew, was at its end: its last update may be missing.
_ENDED = 0.9

# A bar of so many updates in an epoch does not leap from its beginning to its end; another process printed that.
_MANY_LINES = 4


@dataclass(slots=True)
class Now:
    """What is known of a training after a reading: a point that changes."""

    step: int | None = None
    steps: int | None = None
    epoch: int | None = None
    epochs: int | None = None
    share: float | None = None
    loss: float | None = None
    step_s: float | None = None
    throughput: float | None = None
    cards: int | None = None
    left_s: float | None = None
    tokens_per_s: float | None = None
    stage: str = ""

    @classmethod
    def of(cls, last: TrainingPoint | None) -> "Now":
        """As the last point says."""
        if last is None:
            return cls()
        return cls(
            last.step, last.steps, last.epoch, last.epochs, last.share, last.loss, last.step_s, last.throughput,
            last.cards, last.left_s, last.tokens_per_s, last.stage,
        )  # fmt: skip

    def to_point(self, at: datetime) -> TrainingPoint:
        """What of it is plausible, as a point."""
        epoch = min(self.epoch, self.epochs) if self.epoch is not None and self.epochs else self.epoch
        share = None if self.share is None else min(1.0, self.share)
        return TrainingPoint(
            at, self.step, self.steps, epoch, self.epochs, share, self.loss, self.throughput, self.cards,
            self.step_s, self.stage, self.left_s, self.tokens_per_s,
        ).plausible  # fmt: skip

    def locate(self, step: int | None, steps: int | None) -> None:
        """At a step of the whole training."""
        self.step, self.steps = step, steps
        self.share = step / steps if step is not None and steps else None

    def locate_in_epoch(self, step: int, each: int | None, epoch: int, most: int | None) -> None:
        """At a step of an epoch that has `each`; where that is unknown, only those of the first epoch are known.

        `most`: steps of the whole training, whatever its epochs, if they are limited."""
        if each:
            done, steps = (epoch - 1) * each + step, each * self.epochs if self.epochs else None
            if most and done <= most <= (steps or most):
                steps = most
            self.locate(done, steps)
            return
        self.step, self.steps = step if epoch <= 1 else None, None
        self.share = (epoch - 1) / self.epochs if self.epochs else None


def is_of_training(reading: Reading, so_far: ReadSoFar, steps: int | None, epochs: int | None) -> bool:
    """Whether a bar counts the training: its total stays. Notes another total, if the training goes on with it.

    `epochs`: as many bars may be one after another; 0 if one counts all."""
    bar, total = so_far.bar, reading.steps or 0
    if reading.epochs_done is not None or reading.epoch is not None:
        return True
    if reading.is_named or not bar.is_named:
        if bar.total is None or total in (bar.total, steps):
            bar.total, bar.is_named, bar.other_total = total, reading.is_named, 0
            return True
        if _is_next(reading, so_far, epochs) or _is_anew(reading, bar):
            so_far.bar = BarSoFar(total, is_named=reading.is_named)
            return True
    return False


def follow_bar(now: Now, reading: Reading, so_far: ReadSoFar, most: int | None, *, is_one: bool, is_sure: bool) -> None:
    """By a bar that names no epoch: `is_one` for the whole training, or one that begins anew in each epoch.

    `is_sure`: that it is one for all, so that it begins anew only after a restart."""
    bar, each, step = so_far.bar, reading.steps or 1, reading.step or 0
    is_late = step >= _ENDED * each and bar.step <= each / 10 and bar.lines_before >= _MANY_LINES
    if is_late:
        return
    if not is_sure and bar.step >= _ENDED * each and step <= each / 2 and step < bar.step:
        bar.epoch, bar.lines, bar.lines_before = max(1, bar.epoch) + 1, 0, bar.lines
        is_one = False
    bar.step, bar.lines = step, bar.lines + 1
    if is_one:
        now.locate(step, each)
    else:
        now.epoch = max(1, bar.epoch)
        now.locate_in_epoch(step, each, now.epoch, most)


def _is_next(reading: Reading, so_far: ReadSoFar, epochs: int | None) -> bool:
    """Whether the bar so far was not that of the training, or that of a part that has ended."""
    bar = so_far.bar
    if reading.is_named and not bar.is_named:
        return True
    if bar.step < _ENDED * (bar.total or 0):
        return False
    if reading.is_named:
        return True
    is_larger = (reading.steps or 0) > (bar.total or 0)
    if so_far.has_loss or so_far.has_epochs_done or bar.epoch > 1 or epochs == 0:
        return False
    return is_larger or not (epochs or 1) > 1


def follow_loss(so_far: ReadSoFar) -> None:
    """At the first loss: another bar that had begun is that of the training, and the one before was not."""
    bar = so_far.bar
    if not so_far.has_loss and 0 < bar.other_step < bar.other_total:
        so_far.bar = BarSoFar(bar.other_total, bar.other_step)
    so_far.has_loss = True


def _is_anew(reading: Reading, bar: BarSoFar) -> bool:
    """Whether another bar begins a second time, while that of the training does not go on. Notes it."""
    total, step = reading.steps or 0, reading.step or 0
    is_anew = total == bar.other_total and bar.other_step >= _ENDED * total and step <= total / 2
    bar.other_total, bar.other_step = total, step
    return is_anew

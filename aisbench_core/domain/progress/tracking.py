"""From readings of a log to points of a training: one position, the throughput of all cards, and times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from aisbench_core.domain.progress.bars import Stage
from aisbench_core.domain.progress.following import Now, follow_bar, follow_loss, is_of_training
from aisbench_core.domain.progress.points import ReadSoFar
from aisbench_core.domain.progress.reading import Reading
from aisbench_core.model import Mode, RunSpec, TrainingPoint

MAX_POINTS = 8
"""Of one addition to a log: enough for a curve, however fast a training prints."""

# Names that parameters have in well-known scripts, without what stands before a dot in them.
_EPOCHS = (
    *("epochs", "epoch_size", "num_epochs", "max_epochs", "train_epochs", "num_train_epochs", "total_epochs"),
    *("max_epoch", "epoch_num", "n_epochs", "epoch"),
)
_STEPS = (
    *("max_steps", "train_steps", "total_steps", "num_steps", "train_iters", "max_iters", "max_iter", "max_updates"),
    *("max_train_steps", "total_training_steps", "num_train_steps", "max_update", "steps", "total_step"),
)

_STAGES = frozenset(Stage)


@dataclass(frozen=True, slots=True)
class _Extent:
    """How long the parameters of a run let it train; None is not known. `has_one_bar`: for all epochs."""

    epochs: int | None
    steps: int | None
    has_one_bar: bool


@dataclass(slots=True)
class Tracker:
    """What is known of one run's training so far.

    `batch`: samples of one card per step, None if not known. `unit`: of the workload's throughput. `so_far`: what was
    said before that later lines depend on; it is changed."""

    spec: RunSpec
    batch: float | None = None
    last: TrainingPoint | None = None
    so_far: ReadSoFar = field(default_factory=ReadSoFar)
    unit: str = "samples/s"
    _extent: _Extent = field(init=False)

    def __post_init__(self) -> None:
        self._extent = _read_extent(self.spec.parameters)

    def add(self, readings: Sequence[Reading], since: datetime, until: datetime) -> list[TrainingPoint]:
        """The points of readings that were written between two times, in their order."""
        points: list[TrainingPoint] = []
        readings = self.choose(readings)
        size = max(1, -(-len(readings) // MAX_POINTS))
        now = Now.of(self.last)
        for start in range(0, len(readings), size):
            part = readings[start : start + size]
            for reading in part:
                self.follow(now, reading)
            point = now.to_point(since + (until - since) * (start + len(part)) / len(readings))
            if self.last is None or replace(point, at=self.last.at) != self.last:
                points.append(point)
                self.last = point
        return points

    def choose(self, readings: Sequence[Reading]) -> Sequence[Reading]:
        """Those that count, to be followed in their order."""
        so_far = self.so_far
        so_far.by_reporter = so_far.by_reporter or any(reading.whole for reading in readings)
        if so_far.by_reporter:  # what the script prints besides is less exact
            readings = [reading for reading in readings if reading.whole]
        so_far.styles_from_0 |= {reading.style for reading in readings if reading.epoch == 0 and not reading.whole}
        return readings

    def follow(self, now: Now, reading: Reading) -> Reading:
        """What a reading changes; what it does not say is as it was before. Returns it, or the stage that it is of."""
        epochs = 0 if self._extent.has_one_bar else self._extent.epochs
        if reading.is_bar and not is_of_training(reading, self.so_far, self._extent.steps, epochs):
            reading = Reading(reading.offset, stage=Stage.OTHER if reading.is_named else Stage.EVALUATING)
        if reading.stage and not reading.has_position:
            if reading.stage != Stage.OTHER:
                now.stage = reading.stage
            elif now.step is None and now.epoch is None:
                now.stage = Stage.PREPARING
            return reading
        if reading.loss is not None:
            follow_loss(self.so_far)
        if reading.has_position:
            self._locate(now, reading)
            now.stage = reading.stage or ("" if now.stage in _STAGES and not reading.whole else now.stage)
        if reading.loss is not None:
            now.loss = reading.loss
        is_of_all = not reading.is_bar or (reading.epoch is None and reading.steps == now.steps)
        now.left_s = reading.left_s if reading.left_s is not None and is_of_all else now.left_s
        self._measure(now, reading)
        return reading

    def _locate(self, now: Now, reading: Reading) -> None:
        """Where the training is."""
        epoch, before = reading.epoch, now.step
        epochs = self._extent.epochs
        is_index = bool(epochs and reading.epochs) and epochs == (reading.epochs or 0) + 1  # of the last epoch, from 0
        if epoch is not None and not reading.whole and (is_index or reading.style in self.so_far.styles_from_0):
            epoch += 1
        now.epochs = epochs if is_index else reading.epochs or now.epochs or epochs
        if reading.epochs_done is not None:
            self._locate_by_epochs(now, reading, reading.epochs_done)
        elif reading.whole or (not reading.is_bar and (reading.is_global or epoch is None)):
            now.epoch = now.epoch if epoch is None else epoch
            self._locate_in_training(now, reading)
        elif epoch is not None:
            now.epoch = epoch
            self._locate_in_epoch(now, reading, epoch)
        else:
            is_sure = self._extent.has_one_bar or self.so_far.has_epochs_done or reading.is_global
            is_one = self._is_one_bar(reading)
            follow_bar(now, reading, self.so_far, self._extent.steps, is_one=is_one, is_sure=is_sure)
        if reading.interval_s and before is not None and now.step is not None and now.step > before:
            now.step_s = reading.interval_s / (now.step - before)

    def _locate_by_epochs(self, now: Now, reading: Reading, done: float) -> None:
        """Of a line that says how many epochs are done, with a fraction or by a bar that counts them."""
        bar = self.so_far.bar
        if 0 <= done < 1e9:
            now.epoch = int(done) + 1
        if reading.is_bar:
            bar.epoch, bar.step = int(done) + 1, 0
        elif not self.so_far.has_epochs_done:
            self.so_far.has_epochs_done = True
            if bar.total and bar.epoch <= 1:  # the bar is one for all epochs
                now.locate(bar.step, bar.total)
        if reading.step is not None:
            self._locate_in_training(now, reading)
        elif now.step is None or not now.steps:
            now.share = done / now.epochs if now.epochs else None

    def _locate_in_training(self, now: Now, reading: Reading) -> None:
        if reading.step is not None or reading.whole:
            now.locate(reading.step, reading.steps or now.steps or self._extent.steps)

    def _locate_in_epoch(self, now: Now, reading: Reading, epoch: int) -> None:
        """Of a line that names its epoch, perhaps with a step of it."""
        bar = self.so_far.bar
        if reading.step is None:
            self._locate_between_epochs(now, epoch if not reading.begins else epoch - 1, epoch, reading)
            return
        if reading.steps:
            bar.total, bar.step, bar.epoch = reading.steps, reading.step, epoch
            bar.is_named = bar.is_named or reading.is_bar
        each = reading.steps or _learn_steps(self.so_far, epoch, reading.step)
        now.locate_in_epoch(reading.step, each, epoch, self._extent.steps)

    def _locate_between_epochs(self, now: Now, done: int, epoch: int, reading: Reading) -> None:
        """At the end of the epoch that a line names, or at its beginning if it says nothing else."""
        bar = self.so_far.bar
        if bar.total and bar.epoch <= 1 and (self.so_far.has_epochs_done or self._extent.has_one_bar):
            return  # a bar for all epochs says it better
        bar.epoch, bar.step = epoch, 0 if reading.begins else bar.step
        if bar.total:
            now.locate(done * bar.total, bar.total * now.epochs if now.epochs else None)
        else:
            now.locate(None, None)
        now.share = done / now.epochs if now.epochs else None

    def _is_one_bar(self, reading: Reading) -> bool:
        """Whether a bar counts the whole training, and not an epoch of it."""
        bar, extent = self.so_far.bar, self._extent
        if self.so_far.has_epochs_done or extent.has_one_bar or reading.is_global or reading.steps == extent.steps:
            return True
        return bar.epoch == 0 and not (extent.epochs and extent.epochs > 1)

    def _measure(self, now: Now, reading: Reading) -> None:
        """How fast it is: of the whole job. The cards that say nothing are taken to be as fast as those that do."""
        now.step_s = reading.step_s or now.step_s
        if reading.card_tokens_per_s is not None:
            now.tokens_per_s = reading.card_tokens_per_s * self.count_cards()
        now.tokens_per_s = reading.tokens_per_s or reading.mean_tokens_per_s or now.tokens_per_s
        counts_tokens = self.unit.lower().startswith("token")
        whole = reading.throughput or (reading.tokens_per_s if counts_tokens else reading.samples_per_s)
        card = reading.card_throughput or (reading.card_tokens_per_s if counts_tokens else reading.card_samples_per_s)
        if whole is not None:
            now.throughput, now.cards = whole, self.spec.card_count
        elif card is not None:
            now.throughput, now.cards = card * self.count_cards(), 1
        elif now.step_s and not counts_tokens and (reading.step_s or reading.interval_s or reading.batch):
            batch = reading.batch or (self.batch * self.count_cards() if self.batch else None)
            now.throughput = batch / now.step_s if batch else now.throughput

    def count_cards(self) -> int:
        """Cards that train one model: a throughput is theirs."""
        spec = self.spec
        return spec.cards_per_node if spec.mode is Mode.SINGLE_SERVER else spec.card_count


def batch_of(spec: RunSpec, parameter: str) -> float | None:
    """The samples of one card per step, from the parameter that a manifest names."""
    value = spec.parameters.get(parameter)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None


def _read_extent(parameters: Mapping[str, object]) -> _Extent:
    counts = {
        name.rsplit(".", 1)[-1].strip("-").replace("-", "_").lower(): int(value)
        for name, value in parameters.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value < 1e12
    }
    epochs = next((counts[name] for name in _EPOCHS if name in counts), None)
    steps = next((counts[name] for name in _STEPS if name in counts), None)
    return _Extent(epochs, steps, "num_train_epochs" in counts)


def _learn_steps(so_far: ReadSoFar, epoch: int, step: int) -> int | None:
    """How many steps an epoch has, of lines that name each step of it, or only its last one."""
    if step < so_far.epoch_step or (step == so_far.epoch_step and epoch > 1):
        so_far.steps_of_epoch = so_far.epoch_step if so_far.step_gap <= 1 else None
        so_far.step_gap = 0
    elif so_far.epoch_step:
        so_far.step_gap = step - so_far.epoch_step
    so_far.epoch_step = step
    if so_far.steps_of_epoch and step > so_far.steps_of_epoch:
        so_far.steps_of_epoch = None
    return so_far.steps_of_epoch
